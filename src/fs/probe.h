// SPDX-License-Identifier: Apache-2.0
// Recognises the content of a device (libblkid's low-level probe, never its cache).
#pragma once

#include <string>

#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::fs {

// A signature that libblkid recognises on a device.
struct Signature {
  std::string type;   // "ext4", "crypto_LUKS", "LVM2_member", or a partition table type ("gpt")
  std::string usage;  // "filesystem", "crypto", "raid", "other", "partition table"
  std::string uuid;   // empty where the type has none
};

enum class Content {
  kNothingRecognised,  // libblkid recognises nothing; that alone does not mean blank
  kSignature,
};

struct ProbeResult {
  Content content = Content::kNothingRecognised;
  Signature signature;  // when content is kSignature
};

// Looks for filesystem, RAID, crypto signatures (also those with a bad checksum) and partition
// tables. INTERNAL when the device cannot be read; FAILED_PRECONDITION when libblkid finds
// contradicting signatures. Never writes.
[[nodiscard]] absl::StatusOr<ProbeResult> Probe(const os::BlockDevice& device);

// OK only if nothing is recognised and head and tail read as zeros: the only condition under which
// a device that was never formatted according to its record may be formatted. FAILED_PRECONDITION
// says what was found, or that the device is mounted or claimed by another program, that the bytes
// were not changed, and what to do if the record is an old one; INTERNAL when the device cannot be
// read. mke2fs does not check this without a terminal, so this is the only guard before it.
[[nodiscard]] absl::Status RequireBlank(const os::BlockDevice& device);

// OK if the device holds the filesystem `type` with `uuid`, whatever other signatures are beside
// it: the caller's record already says that the device is ours. FAILED_PRECONDITION says what is
// there instead. "ext3" and "ext4" are distinguished as libblkid does.
[[nodiscard]] absl::Status RequireFilesystem(const os::BlockDevice& device, const std::string& type,
                                             const std::string& uuid);

}  // namespace holdfast::fs
