// SPDX-License-Identifier: Apache-2.0
// Releases what other processes wait for, when this process has to end.
#pragma once

#include <string>
#include <vector>

namespace holdfast::os {

// Closes every socket, file and directory of this process except the three standard ones and those
// at or below these directories. Another process can then take the addresses and locks, even if a
// thread that hangs in the kernel keeps this one from ending. Devices stay open: closing one may
// hang. Call it right before the end: all later uses of these descriptors fail.
void ReleaseFilesAndSockets(const std::vector<std::string>& except_below);

}  // namespace holdfast::os
