// SPDX-License-Identifier: Apache-2.0
// What a process that has to end holds, and others wait for.
#pragma once

#include <string>
#include <vector>

namespace holdfast::os {

// Closes every socket, file and directory of this process but the three standard ones and those at
// or below these directories: others can have its addresses and locks then, even if a thread that
// hangs in the kernel keeps the process from ending. Devices stay open: closing one may hang. For
// right before the end; whatever uses a descriptor after this finds it closed.
void ReleaseFilesAndSockets(const std::vector<std::string>& except_below);

}  // namespace holdfast::os
