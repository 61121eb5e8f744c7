// SPDX-License-Identifier: Apache-2.0
// Making, mounting and growing filesystems, in the fewest calls.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// The first and the last MiB, as a look whether a device is blank reads them.
void ReadEnds(const std::string& device, std::int64_t size);

// Runs mkfs.<filesystem> with the options that a volume's filesystem gets, and waits for it.
void Format(const std::string& filesystem, const std::string& device, bool keep_allocation,
            bool with_uuid);

// `options` are those of mount(2) for the filesystem.
void Mount(const std::string& device, const std::string& filesystem, const std::string& target,
           const char* options = nullptr);

// Gives an unmounted filesystem whose log is empty another UUID.
void ChangeUuid(const std::string& filesystem, const std::string& device);

void BindMount(const std::string& source, const std::string& target);

void Unmount(const std::string& target);

void Measure(const std::string& path);  // statvfs(3)

// Grows a mounted xfs over the whole device.
void GrowXfs(const std::string& mount_path, long long device_size);

}  // namespace bench
