// SPDX-License-Identifier: Apache-2.0
#include "fs/probe.h"

#include <blkid/blkid.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "fs/superblock.h"
#include "os/device_use.h"
#include "os/unique_fd.h"

namespace holdfast::fs {
namespace {

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using ProbeHandle = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

// The return values of blkid_do_safeprobe(3).
constexpr int kFound = 0;
constexpr int kNothing = 1;
constexpr int kAmbivalent = -2;

// The error for a device that should be blank.
constexpr char kLeftAlone[] =
    "it was left alone and not formatted; if the volume was in use before, its record is older "
    "than its bytes: see 'A record that is older than its image' in docs/operations.md";

// The signatures that a probe searches for.
enum class Scope {
  kEverything,
  // All but ZFS, whose four labels of 256 KiB lie in the first and last MiB: half of the cost of a
  // probe, and redundant where these are zero.
  kAllButEnds,
  kOneFilesystem,
};

// libblkid reads about fifty places, nearly all of them in the first and last MiB, which are read
// completely afterwards anyway: fetched at once, they cost two reads.
void ReadAheadEnds(int fd, Bytes size) {
  ::posix_fadvise(fd, 0, kMiB, POSIX_FADV_WILLNEED);
  ::posix_fadvise(fd, std::max<Bytes>(0, size - kMiB), kMiB, POSIX_FADV_WILLNEED);
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
      blkid_probe_enable_partitions(probe.get(), scope == Scope::kOneFilesystem ? 0 : 1) != 0 ||
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

absl::Status Filter(blkid_probe probe, int flag, std::string type) {
  std::array<char*, 2> names = {type.data(), nullptr};
  if (blkid_probe_filter_superblocks_type(probe, flag, names.data()) == 0) return absl::OkStatus();
  return Internal("libblkid does not know {}", type);
}

absl::StatusOr<ProbeResult> ProbeOpen(const os::UniqueFd& fd, const std::string& path,
                                      Scope scope) {
  ASSIGN_OR_RETURN(const ProbeHandle probe, NewProbe(fd, path, scope));
  if (scope == Scope::kAllButEnds) {
    RETURN_IF_ERROR(Filter(probe.get(), BLKID_FLTR_NOTIN, "zfs_member"));
  }
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

// Probes for this one filesystem only: a full probe reads about fifty places of the device.
absl::StatusOr<bool> HoldsFilesystem(const os::BlockDevice& device, const std::string& type,
                                     const std::string& uuid) {
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  if (HasSuperblock(fd.get(), type, uuid)) return true;
  ASSIGN_OR_RETURN(const ProbeHandle probe, NewProbe(fd, device.path, Scope::kOneFilesystem));
  RETURN_IF_ERROR(Filter(probe.get(), BLKID_FLTR_ONLYIN, type));
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
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  return ProbeOpen(fd, device.path, Scope::kEverything);
}

absl::Status RequireBlank(const os::BlockDevice& device) {
  RETURN_IF_ERROR(os::RequireUnclaimed(device));
  ASSIGN_OR_RETURN(const os::UniqueFd fd, os::OpenBlockDevice(device, O_RDONLY));
  ReadAheadEnds(fd.get(), device.size);
  ASSIGN_OR_RETURN(const bool zero, os::HeadAndTailAreZero(device));
  ASSIGN_OR_RETURN(const ProbeResult found,
                   ProbeOpen(fd, device.path, zero ? Scope::kAllButEnds : Scope::kEverything));
  if (found.content == Content::kSignature) {
    return FailedPrecondition("{} is not blank: it holds {}; {}", device.path,
                              Describe(found.signature), kLeftAlone);
  }
  if (zero) return absl::OkStatus();
  return FailedPrecondition(
      "{} is not blank: nothing on it is recognised, but its first or last MiB holds data; {}",
      device.path, kLeftAlone);
}

absl::Status RequireFilesystem(const os::BlockDevice& device, const std::string& type,
                               const std::string& uuid) {
  ASSIGN_OR_RETURN(const bool holds, HoldsFilesystem(device, type, uuid));
  if (holds) return absl::OkStatus();
  // Only now a full probe, to report what is there instead.
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
