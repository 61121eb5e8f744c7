// SPDX-License-Identifier: Apache-2.0
// Mount flags from a request: which ones are allowed at all, and which ones a filesystem accepts.
// All functions are thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

// INVALID_ARGUMENT naming `field` and the flag for anything that is not one plain mount option
// (name or name=value, printable ASCII without comma, quote, backslash): an option that turns the
// mount into something else (bind, remount, move, propagation, loop, helpers, fstab's words, x-*
// and X-*), names another device or file (device=, journal_path=, logdev=, ...), or can take the
// host down (errors=panic); or a value for a flag that takes none (ro=vfs). "ro" makes the use
// read-only (IsReadOnly); "rw" changes nothing. The SELinux contexts (context=, fscontext=, ...)
// may be in double quotes and then hold commas. Joined by commas the flags are shorter than 4 KiB
// (CSI's limit, and mount(2)'s). A message holds names of options, never values, which may be
// sensitive.
[[nodiscard]] absl::Status ValidateMountFlags(const std::vector<std::string>& flags,
                                              const std::string& field);

// The flags as mount(2) expects them: joined by commas.
[[nodiscard]] std::string JoinMountFlags(const std::vector<std::string>& flags);

// Asks the kernel whether `filesystem` knows the flags that concern it, without any device (fsopen
// and fsconfig, kernel 5.2). INVALID_ARGUMENT with the kernel's words for the first one refused.
// OK also where the kernel cannot say: filesystems that have not been moved to this interface
// (btrfs before 6.8) take everything here, and some flags are refused only together with a device.
[[nodiscard]] absl::Status AskFilesystemAboutFlags(const std::string& filesystem,
                                                   const std::vector<std::string>& flags);

}  // namespace holdfast::os
