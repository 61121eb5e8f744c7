// SPDX-License-Identifier: Apache-2.0
// How a table of digests is laid out in its file (docs/on-disk.md): a header that says whose it is,
// the digest of each block, and a checksum of each group of digests, so that no damaged digest is
// ever believed.
#pragma once

#include <array>
#include <string>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::file {

// What one digest is of; the last block of an image may be shorter.
inline constexpr Bytes kDigestBlock = 64 * kKiB;

// SHA-256; all zeros for a block of zeros.
using Digest = std::array<char, 32>;

[[nodiscard]] absl::StatusOr<Digest> DigestOf(const std::string& block);

struct DigestHeader {
  std::string snapshot;       // its UUID
  std::string volume;         // the UUID of the volume that it is a snapshot of
  std::string image;          // IdentityOf of its image
  std::string image_version;  // VersionOf
  Bytes capacity = 0;

  friend bool operator==(const DigestHeader&, const DigestHeader&) = default;
};

// The entries begin behind the header, which is padded with line feeds.
inline constexpr std::size_t kDigestHeaderSize = 4096;
inline constexpr std::size_t kDigestsInGroup = 4096;

[[nodiscard]] std::string EncodeDigestHeader(const DigestHeader& header);
// INTERNAL if it is damaged or of another version.
[[nodiscard]] absl::StatusOr<DigestHeader> DecodeDigestHeader(const std::string& text);

[[nodiscard]] std::size_t DigestsFor(Bytes capacity);
[[nodiscard]] std::size_t DigestGroupsFor(Bytes capacity);
// Where in the file they are, and how long it is.
[[nodiscard]] Bytes PlaceOfDigest(std::size_t number);
[[nodiscard]] Bytes PlaceOfGroupSum(Bytes capacity, std::size_t group);
[[nodiscard]] Bytes DigestFileSize(Bytes capacity);

// The checksum of a group: of what its digests are, in which place, and under which header.
[[nodiscard]] absl::StatusOr<Digest> SumOfGroup(const std::string& header, std::size_t group,
                                                const std::string& digests);

// The digests of a group as the file has them. INTERNAL if they cannot be read; DATA_LOSS if the
// file is too short.
[[nodiscard]] absl::StatusOr<std::string> ReadDigestGroup(int table_fd, Bytes capacity,
                                                          std::size_t group);
// Up to `size` bytes, fewer only at the end of the file.
[[nodiscard]] absl::StatusOr<std::string> ReadTable(int table_fd, std::size_t size, Bytes at);

}  // namespace holdfast::file
