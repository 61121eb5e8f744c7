// SPDX-License-Identifier: Apache-2.0
#include "fs/probe.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "os/spawn_gate.h"
#include "os/unique_fd.h"

namespace holdfast::fs {
namespace {

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using ProbeHandle = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

// What blkid_do_safeprobe(3) returns.
constexpr int kFound = 0;
constexpr int kNothing = 1;
constexpr int kAmbivalent = -2;

// `claim` is 0 or O_EXCL, with which the kernel lets only one holder have a block device.
absl::StatusOr<os::UniqueFd> OpenDevice(const os::BlockDevice& device, int claim) {
  os::UniqueFd fd(::open(device.path.c_str(), O_RDONLY | O_CLOEXEC | claim));
  if (!fd.valid() && errno == EBUSY) {
    return FailedPrecondition("{} is in use by a mount or another program; it was left alone",
                              device.path);
  }
  if (!fd.valid()) return OsError(errno, fmt::format("cannot open {}", device.path));
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot inspect {}", device.path));
  }
  if (!S_ISBLK(facts.st_mode) || facts.st_rdev != device.number) {
    return Internal("{} has become another device; it was left alone", device.path);
  }
  return fd;
}

// What a probe looks for.
enum class Scope { kEverything, kOneFilesystem };

// libblkid reads some fifty places, most of them in the first and last MiB: fetched at once, they
// cost two reads.
void ReadAheadEnds(int fd, Bytes size) {
  constexpr Bytes kEnd = 2 * kMiB;
  ::posix_fadvise(fd, 0, kEnd, POSIX_FADV_WILLNEED);
  ::posix_fadvise(fd, std::max<Bytes>(0, size - kEnd), kEnd, POSIX_FADV_WILLNEED);
}

absl::StatusOr<ProbeHandle> NewProbe(const os::UniqueFd& fd, const std::string& path, Scope scope) {
  ProbeHandle probe(blkid_new_probe());
  if (probe == nullptr) return Internal("cannot probe {}: out of memory", path);
  constexpr int kSuperblockFlags = BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_UUID |
                                   BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM;
  errno = 0;
  if (blkid_probe_set_device(probe.get(), fd.get(), 0, 0) != 0 ||
      blkid_probe_enable_superblocks(probe.get(), 1) != 0 ||
      blkid_probe_set_superblocks_flags(probe.get(), kSuperblockFlags) != 0 ||
      blkid_probe_enable_partitions(probe.get(), scope == Scope::kEverything ? 1 : 0) != 0 ||
      blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_MAGIC) != 0) {
    return OsError(errno, fmt::format("cannot prepare the probe of {}", path));
  }
  return probe;
}

std::string Value(blkid_probe probe, const char* name) {
  const char* data = nullptr;
  return blkid_probe_lookup_value(probe, name, &data, nullptr) == 0 ? data : "";
}

Signature FoundSignature(blkid_probe probe) {
  Signature found{
      .type = Value(probe, "TYPE"), .usage = Value(probe, "USAGE"), .uuid = Value(probe, "UUID")};
  if (found.type.empty()) {
    found = {.type = Value(probe, "PTTYPE"), .usage = "partition table", .uuid = ""};
  }
  return found;
}

absl::StatusOr<ProbeResult> ProbeOpen(const os::UniqueFd& fd, const std::string& path) {
  ASSIGN_OR_RETURN(const ProbeHandle probe, NewProbe(fd, path, Scope::kEverything));
  errno = 0;
  switch (blkid_do_safeprobe(probe.get())) {
    case kFound:
      return ProbeResult{.content = Content::kSignature, .signature = FoundSignature(probe.get())};
    case kNothing:
      return ProbeResult{};
    case kAmbivalent:
      return FailedPrecondition(
          "{} holds contradicting signatures of more than one format; it was left alone, look at "
          "it with: wipefs --no-act {}",
          path, path);
    default:
      return OsError(errno, fmt::format("cannot read {} to see what it holds", path));
  }
}

// Asks for the one filesystem alone: a full probe reads some fifty places of the device, which is
// too much for every stage of a volume whose record already says what it is.
absl::StatusOr<bool> HoldsFilesystem(const os::BlockDevice& device, const std::string& type,
                                     const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, OpenDevice(device, 0));
  ASSIGN_OR_RETURN(const ProbeHandle probe, NewProbe(fd, device.path, Scope::kOneFilesystem));
  std::string name = type;
  std::array<char*, 2> names = {name.data(), nullptr};
  if (blkid_probe_filter_superblocks_type(probe.get(), BLKID_FLTR_ONLYIN, names.data()) != 0) {
    return Internal("libblkid does not know filesystem {}", type);
  }
  errno = 0;
  switch (blkid_do_safeprobe(probe.get())) {
    case kFound:
      return Value(probe.get(), "TYPE") == type && Value(probe.get(), "UUID") == uuid;
    case kNothing:
    case kAmbivalent:
      return false;
    default:
      return OsError(errno, fmt::format("cannot read {} to see what it holds", device.path));
  }
}

std::string Describe(const Signature& signature) {
  const std::string uuid = signature.uuid.empty() ? "" : fmt::format(", UUID {}", signature.uuid);
  return fmt::format("{} ({}{})", signature.type, signature.usage, uuid);
}

}  // namespace

absl::StatusOr<ProbeResult> Probe(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, OpenDevice(device, 0));
  return ProbeOpen(fd, device.path);
}

absl::Status RequireBlank(const os::BlockDevice& device) {
  const auto gate = os::HoldBackSpawns();
  ASSIGN_OR_RETURN(const os::UniqueFd fd, OpenDevice(device, O_EXCL));
  ReadAheadEnds(fd.get(), device.size);
  ASSIGN_OR_RETURN(const ProbeResult found, ProbeOpen(fd, device.path));
  if (found.content == Content::kSignature) {
    return FailedPrecondition("{} is not blank: it holds {}; it was left alone and not formatted",
                              device.path, Describe(found.signature));
  }
  ASSIGN_OR_RETURN(const bool zero, os::HeadAndTailAreZero(device));
  if (zero) return absl::OkStatus();
  return FailedPrecondition(
      "{} is not blank: nothing on it is recognised, but its first or last MiB holds data; it was "
      "left alone and not formatted",
      device.path);
}

absl::Status RequireFilesystem(const os::BlockDevice& device, const std::string& type,
                               const std::string& uuid) {
  ASSIGN_OR_RETURN(const bool holds, HoldsFilesystem(device, type, uuid));
  if (holds) return absl::OkStatus();
  // Only now everything is looked for, to say what is there instead.
  ASSIGN_OR_RETURN(const ProbeResult found, Probe(device));
  if (found.content == Content::kNothingRecognised) {
    return FailedPrecondition(
        "{} should hold {} with UUID {}, but no filesystem is recognised on it; it is not "
        "formatted again, restore or repair it by hand",
        device.path, type, uuid);
  }
  return FailedPrecondition("{} should hold {} with UUID {}, but it holds {}; it was left alone",
                            device.path, type, uuid, Describe(found.signature));
}

}  // namespace holdfast::fs
