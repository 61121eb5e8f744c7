// SPDX-License-Identifier: Apache-2.0
// The digests of the blocks of a snapshot's image, kept in a file beside it, so that snapshots that
// share no blocks can be compared without reading them (docs/on-disk.md describes the file). A
// table says whose it is: one of another image, or of an image that was written to since, is none.
// The table of a deleted snapshot is in file/kept_digests.h.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/bytes.h"
#include "core/status.h"
#include "file/digest_layout.h"
#include "os/unique_fd.h"

namespace holdfast::file {

// The snapshot that a table is wanted of.
struct TableOwner {
  std::string snapshot;  // its UUID
  std::string volume;    // the UUID of the volume that it is a snapshot of
  Bytes capacity = 0;
};

// The header of the owner's table, with what distinguishes its image, unchanged, from every other
// one. INTERNAL when that cannot be found out.
[[nodiscard]] absl::StatusOr<DigestHeader> HeaderFor(const TableOwner& owner, int image_fd);

// One thread at a time.
class DigestTable final {
 public:
  // Nothing if the directory has none of this image. INTERNAL if it cannot be read.
  [[nodiscard]] static absl::StatusOr<std::optional<DigestTable>> Open(int directory_fd,
                                                                       int image_fd,
                                                                       const TableOwner& owner);
  // The table in the file of that name, whatever image it is of. NOT_FOUND if there is none;
  // DATA_LOSS if it is damaged; INTERNAL if it cannot be read.
  [[nodiscard]] static absl::StatusOr<DigestTable> OpenFile(int directory_fd,
                                                            const std::string& name);

  [[nodiscard]] const DigestHeader& header() const { return header_; }

  // Of the block that begins at `offset`, which is within the image. DATA_LOSS if the file is
  // damaged there; INTERNAL as above.
  [[nodiscard]] absl::StatusOr<Digest> At(Bytes offset);
  // Whether At has found damage.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

 private:
  DigestTable(os::UniqueFd file, DigestHeader header)
      : file_(std::move(file)), header_(std::move(header)) {}

  absl::Status Load(std::size_t group);

  os::UniqueFd file_;
  DigestHeader header_;
  std::string read_;  // a group of its digests
  std::optional<std::size_t> group_{};
  bool is_damaged_ = false;
};

}  // namespace holdfast::file
