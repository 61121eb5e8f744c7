// SPDX-License-Identifier: Apache-2.0
// Making, mounting and growing filesystems, in the fewest calls.
#pragma once

#include <string>

namespace bench {

// Runs mkfs.<filesystem> with the options that a volume's filesystem gets, and waits for it.
void Format(const std::string& filesystem, const std::string& device, bool keep_allocation);

void Mount(const std::string& device, const std::string& filesystem, const std::string& target);

void BindMount(const std::string& source, const std::string& target);

void Unmount(const std::string& target);

void Measure(const std::string& path);  // statvfs(3)

// Grows a mounted xfs over the whole device.
void GrowXfs(const std::string& mount_path, long long device_size);

}  // namespace bench
