// SPDX-License-Identifier: Apache-2.0
#include "os/mount_flags.h"

#include <libmount.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

constexpr std::size_t kMaxJoinedSize = 4096;

struct Refusal {
  std::string_view option;  // a name, or name=value for one value only
  std::string_view reason;
};

constexpr std::string_view kOtherMount = "it asks for something else than a mount of the volume";
constexpr std::string_view kFstab = "it belongs into fstab";
constexpr std::string_view kOtherDevice = "it names another device or file";
constexpr std::string_view kPanic = "it lets the volume take the host down";

constexpr std::array kRefusals = {
    Refusal{"bind", kOtherMount},
    Refusal{"rbind", kOtherMount},
    Refusal{"move", kOtherMount},
    Refusal{"remount", kOtherMount},
    Refusal{"shared", kOtherMount},
    Refusal{"rshared", kOtherMount},
    Refusal{"slave", kOtherMount},
    Refusal{"rslave", kOtherMount},
    Refusal{"private", kOtherMount},
    Refusal{"rprivate", kOtherMount},
    Refusal{"unbindable", kOtherMount},
    Refusal{"runbindable", kOtherMount},
    Refusal{"loop", kOtherMount},
    Refusal{"offset", kOtherMount},
    Refusal{"sizelimit", kOtherMount},
    Refusal{"encryption", kOtherMount},
    Refusal{"helper", kOtherMount},
    Refusal{"uhelper", kOtherMount},
    Refusal{"auto", kFstab},
    Refusal{"noauto", kFstab},
    Refusal{"nofail", kFstab},
    Refusal{"user", kFstab},
    Refusal{"nouser", kFstab},
    Refusal{"users", kFstab},
    Refusal{"nousers", kFstab},
    Refusal{"owner", kFstab},
    Refusal{"noowner", kFstab},
    Refusal{"group", kFstab},
    Refusal{"nogroup", kFstab},
    Refusal{"comment", kFstab},
    Refusal{"source", kOtherDevice},
    Refusal{"device", kOtherDevice},
    Refusal{"journal_dev", kOtherDevice},
    Refusal{"journal_path", kOtherDevice},
    Refusal{"logdev", kOtherDevice},
    Refusal{"rtdev", kOtherDevice},
    Refusal{"errors=panic", kPanic},
    Refusal{"fatal_errors=panic", kPanic},
};

constexpr std::array<std::string_view, 3> kRefusedPrefixes = {"x-", "X-", "verity."};

constexpr std::array<std::string_view, 4> kContexts = {"context", "fscontext", "defcontext",
                                                       "rootcontext"};

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool ConsistsOf(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return IsAlphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}

bool IsPlainValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c <= '~' && c != ',' && c != '"' && c != '\\';
  });
}

// Only the kernel's SELinux code knows quotes; a filesystem's parser would end the option at the
// comma and take what follows for another one. Hence the narrow alphabet, which has no "=".
bool IsQuotedContext(std::string_view name, std::string_view value) {
  if (std::find(kContexts.begin(), kContexts.end(), name) == kContexts.end()) return false;
  if (value.size() < 2 || !value.starts_with('"') || !value.ends_with('"')) return false;
  return ConsistsOf(value.substr(1, value.size() - 2), ":._-,");
}

// A flag of the mount itself (mount(2)), not of a filesystem: "ro", "noexec", ...
bool IsFlagOfMount(std::string_view name) {
  const std::string wanted(name);
  for (const libmnt_optmap* option = mnt_get_builtin_optmap(MNT_LINUX_MAP); option->name != nullptr;
       ++option) {
    if (wanted == option->name) return true;
  }
  return false;
}

// Why the flag is refused; empty if it is not.
std::string_view ReasonToRefuse(std::string_view flag, std::string_view name) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.option == name || refusal.option == flag) return refusal.reason;
  }
  for (const std::string_view prefix : kRefusedPrefixes) {
    if (name.starts_with(prefix)) return kOtherMount;
  }
  return {};
}

absl::Status ValidateMountFlag(std::string_view flag, const std::string& place) {
  const std::size_t equals = flag.find('=');
  const std::string_view name = flag.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : flag.substr(equals + 1);
  if (name.empty() || name.starts_with('-') || !ConsistsOf(name, "._-")) {
    return InvalidArgument("{} is not one mount option (name or name=value)", place);
  }
  if (!IsPlainValue(value) && !IsQuotedContext(name, value)) {
    return InvalidArgument(
        "{}: the value of '{}' has a character that a mount option must not have (a comma, quote, "
        "backslash, blank or control character); give every option as an element of its own",
        place, name);
  }
  // Newer libmounts read "ro=vfs" as "ro", and IsReadOnly would not know.
  if (equals != std::string_view::npos && IsFlagOfMount(name)) {
    return InvalidArgument("{}: the mount option '{}' takes no value", place, name);
  }
  const std::string_view reason = ReasonToRefuse(flag, name);
  if (reason.empty()) return absl::OkStatus();
  return InvalidArgument("{}: the mount option '{}' is refused: {}", place, name, reason);
}

// The kernel's messages about the last fsconfig call: lines such as "e EXT4-fs: Unknown ...".
std::string KernelWords(int filesystem_fd) {
  std::string words;
  char line[512];
  for (ssize_t size; (size = ::read(filesystem_fd, line, sizeof(line))) > 0;) {
    std::string_view text(line, static_cast<std::size_t>(size));
    if (text.starts_with("e ")) text.remove_prefix(2);
    if (!words.empty()) words += "; ";
    words += text.substr(0, text.find_last_not_of(" \n") + 1);
  }
  return words;
}

// The part of the flags that the filesystem itself reads, as libmount splits them.
std::string FilesystemOptions(const std::vector<std::string>& flags) {
  char* options = nullptr;
  mnt_split_optstr(JoinMountFlags(flags).c_str(), nullptr, nullptr, &options, 0, 0);
  const std::unique_ptr<char, decltype(&std::free)> owner(options, &std::free);
  return options == nullptr ? "" : options;
}

}  // namespace

absl::Status ValidateMountFlags(const std::vector<std::string>& flags, const std::string& field) {
  std::size_t joined_size = 0;
  for (const std::string& flag : flags) joined_size += flag.size() + 1;  // its comma, or the NUL
  if (joined_size > kMaxJoinedSize) {
    return InvalidArgument("{}: {} bytes of mount options are more than the {} that are possible",
                           field, joined_size, kMaxJoinedSize);
  }
  for (std::size_t i = 0; i < flags.size(); ++i) {
    RETURN_IF_ERROR(ValidateMountFlag(flags[i], fmt::format("{}[{}]", field, i)));
  }
  return absl::OkStatus();
}

std::string JoinMountFlags(const std::vector<std::string>& flags) {
  return fmt::format("{}", fmt::join(flags, ","));
}

absl::Status AskFilesystemAboutFlags(const std::string& filesystem,
                                     const std::vector<std::string>& flags) {
  const UniqueFd context(::fsopen(filesystem.c_str(), FSOPEN_CLOEXEC));
  if (!context.valid()) return absl::OkStatus();
  std::string options = FilesystemOptions(flags);
  char* rest = options.data();
  char* name = nullptr;
  char* value = nullptr;
  std::size_t name_size = 0;
  std::size_t value_size = 0;
  while (mnt_optstr_next_option(&rest, &name, &name_size, &value, &value_size) == 0) {
    const std::string key(name, name_size);
    const bool has_value = value != nullptr;
    std::string text = has_value ? std::string(value, value_size) : std::string();
    std::erase(text, '"');
    const int rc = ::fsconfig(context.get(), has_value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
                              key.c_str(), has_value ? text.c_str() : nullptr, 0);
    if (rc != 0 && errno == EINVAL) {
      return InvalidArgument("{} refuses the mount option '{}': {}", filesystem, key,
                             KernelWords(context.get()));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::os
