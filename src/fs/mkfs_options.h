// SPDX-License-Identifier: Apache-2.0
// The StorageClass parameter mkfsOptions, checked word by word against what a filesystem allows.
//
// An allow-list, because mkfs programs run as root and have options that read and write other files
// and devices, and any new version may add more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace holdfast::fs {

// One allowed option.
struct MkfsOption {
  enum class Form {
    kFlag,   // no argument: "-M"
    kValue,  // any plain value: "-i 16384"
    kNames,  // a comma-separated list of `names`: "-T largefile", "-O quota,^64bit"
    kKeys,   // a comma-separated list of key=value or key with the keys in `names`: "-E stride=4"
  };
  std::string_view name;  // "-b", "--nodesize"
  Form form = Form::kFlag;
  std::vector<std::string_view> names = {};
};

// The words of `text` (separated by spaces, at most 4 KiB) as arguments for `program`. The argument
// of an option is the next word, or attached ("-b4096", "--nodesize=16k"); it is returned as a
// separate word. INVALID_ARGUMENT naming the word for an option or name that is not in `allowed`,
// an option given twice (some mkfs programs drop one of them silently), a missing argument, and a
// word that belongs to no option.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ParseMkfsWords(
    std::string_view program, const std::string& text, const std::vector<MkfsOption>& allowed);

// INVALID_ARGUMENT if `arguments` (from ParseMkfsWords) give `option` the size "PREFIXnumber",
// optionally followed by 'k', and that is less than `least` bytes.
[[nodiscard]] absl::Status RequireSizeOf(const std::vector<std::string>& arguments,
                                         std::string_view option, std::string_view prefix,
                                         std::uint32_t least);

}  // namespace holdfast::fs
