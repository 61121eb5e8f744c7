// SPDX-License-Identifier: Apache-2.0
#include "file/digest_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/disk_names.h"
#include "file/data_copy.h"
#include "file/image_content.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

absl::Status Damaged(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    fmt::format("a table of digests is damaged: {}", what));
}

}  // namespace

absl::StatusOr<DigestHeader> HeaderFor(const TableOwner& owner, int image_fd) {
  DigestHeader header{.snapshot = owner.snapshot,
                      .volume = owner.volume,
                      .image = {},
                      .image_version = {},
                      .capacity = owner.capacity};
  ASSIGN_OR_RETURN(header.image, IdentityOf(image_fd));
  ASSIGN_OR_RETURN(header.image_version, VersionOf(image_fd));
  return header;
}

absl::StatusOr<DigestTable> DigestTable::OpenFile(int directory_fd, const std::string& name) {
  ASSIGN_OR_RETURN(os::UniqueFd file, os::OpenFileAt(directory_fd, name, O_RDONLY));
  ASSIGN_OR_RETURN(const std::string text, ReadTable(file.get(), kDigestHeaderSize, 0));
  auto header = DecodeDigestHeader(text);
  if (!header.ok()) return Damaged(MessageOf(header.status()));
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return OsError(errno, "cannot stat a table of digests");
  if (facts.st_size != DigestFileSize(header->capacity)) return Damaged("it has another size");
  return DigestTable(std::move(file), *std::move(header));
}

absl::StatusOr<std::optional<DigestTable>> DigestTable::Open(int directory_fd, int image_fd,
                                                             const TableOwner& owner) {
  auto table = OpenFile(directory_fd, kDigestsName);
  if (absl::IsNotFound(table.status()) || absl::IsDataLoss(table.status())) return std::nullopt;
  RETURN_IF_ERROR(table.status());
  ASSIGN_OR_RETURN(const DigestHeader wanted, HeaderFor(owner, image_fd));
  if (table->header() != wanted) return std::nullopt;
  return *std::move(table);
}

absl::Status DigestTable::Load(std::size_t group) {
  group_.reset();
  ASSIGN_OR_RETURN(read_, ReadDigestGroup(file_.get(), header_.capacity, group));
  ASSIGN_OR_RETURN(const Digest sum, SumOfGroup(EncodeDigestHeader(header_), group, read_));
  ASSIGN_OR_RETURN(const std::string kept, ReadTable(file_.get(), sizeof(Digest),
                                                     PlaceOfGroupSum(header_.capacity, group)));
  if (!std::ranges::equal(kept, sum)) return Damaged("a checksum does not match");
  group_ = group;
  return absl::OkStatus();
}

absl::StatusOr<Digest> DigestTable::At(Bytes offset) {
  const auto number = static_cast<std::size_t>(offset / kDigestBlock);
  const std::size_t group = number / kDigestsInGroup;
  if (group_ != group) {
    const absl::Status loaded = Load(group);
    is_damaged_ = is_damaged_ || absl::IsDataLoss(loaded);
    RETURN_IF_ERROR(loaded);
  }
  Digest digest{};
  const std::size_t in_group = number % kDigestsInGroup;
  std::copy_n(read_.begin() + static_cast<std::ptrdiff_t>(in_group * sizeof(Digest)),
              sizeof(Digest), digest.begin());
  return digest;
}

}  // namespace holdfast::file
