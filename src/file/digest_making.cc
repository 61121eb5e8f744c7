// SPDX-License-Identifier: Apache-2.0
#include "file/digest_making.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/disk_names.h"
#include "file/data_copy.h"
#include "file/image_changes.h"
#include "file/image_file.h"
#include "file/image_read.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTableMode = 0600;
constexpr std::chrono::milliseconds kMakingTime{500};

absl::Status Write(int table_fd, const char* bytes, std::size_t size, Bytes at) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t written =
        ::pwrite(table_fd, bytes + done, size - done, at + static_cast<Bytes>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return AllocationError(errno, "cannot write the table of digests");
    done += static_cast<std::size_t>(written);
  }
  return absl::OkStatus();
}

// Nothing of an earlier attempt is used.
absl::StatusOr<os::UniqueFd> Begin(int directory_fd, const std::string& header) {
  RETURN_IF_ERROR(os::RemoveFileAt(directory_fd, kTemporaryDigestsName));
  os::UniqueFd table(::openat(directory_fd, kTemporaryDigestsName,
                              O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kTableMode));
  if (!table.valid()) return AllocationError(errno, "cannot make the table of digests");
  RETURN_IF_ERROR(Write(table.get(), header.data(), header.size(), 0));
  return table;
}

// One step: from `reached` on, as far as the time allows.
class Step final {
 public:
  Step(int table_fd, int image_fd, Bytes capacity, TableDonor* donor)
      : table_fd_(table_fd), image_fd_(image_fd), capacity_(capacity), donor_(donor) {}

  absl::Status Take(Bytes& reached) {
    const auto until = Clock::now() + kMakingTime;
    while (reached < capacity_ && Clock::now() < until) {
      ASSIGN_OR_RETURN(const auto data, NextData(image_fd_, reached, capacity_));
      if (!data) {  // blocks without data have no entry: there the file has a hole
        reached = capacity_;
        break;
      }
      const Bytes at = AlignDown(data->begin, kDigestBlock);
      ASSIGN_OR_RETURN(const Digest digest, DigestAt(at));
      if (digest != Digest{}) {
        RETURN_IF_ERROR(Write(table_fd_, digest.data(), digest.size(),
                              PlaceOfDigest(static_cast<std::size_t>(at / kDigestBlock))));
      }
      reached = at + kDigestBlock;
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Digest> DigestAt(Bytes at) {
    if (donor_ != nullptr) {
      const auto known = KnownDigestAt(at);
      if (known.ok() && *known) return **known;
      if (!known.ok()) donor_ = nullptr;  // everything is read then
    }
    block_.resize(static_cast<std::size_t>(std::min(kDigestBlock, capacity_ - at)));
    RETURN_IF_ERROR(ReadImage(image_fd_, block_, at));
    return DigestOf(block_);
  }

  // The donor's, if it has the whole block in the same place.
  absl::StatusOr<std::optional<Digest>> KnownDigestAt(Bytes at) {
    const Bytes donated = donor_->digests->header().capacity;
    const Bytes end = at + kDigestBlock;
    if (end > std::min(capacity_, donated)) return std::nullopt;  // perhaps of another length
    if (end > moved_.next || at < mapped_from_) {
      ASSIGN_OR_RETURN(moved_,
                       FindMoved(donor_->image_fd, image_fd_, std::min(capacity_, donated), at));
      mapped_from_ = at;
    }
    if (end > moved_.next) return std::nullopt;
    const auto moved = std::ranges::upper_bound(moved_.ranges, at, {},
                                                [](const auto& range) { return range.end; });
    if (moved != moved_.ranges.end() && moved->begin < end) return std::nullopt;
    ASSIGN_OR_RETURN(const Digest digest, donor_->digests->At(at));
    return digest;
  }

  const int table_fd_;
  const int image_fd_;
  const Bytes capacity_;
  TableDonor* donor_;
  pool::RangePage moved_;  // what the donor has elsewhere, from `mapped_from_` on
  Bytes mapped_from_ = 0;
  std::string block_;
};

absl::Status WriteSums(int table_fd, const std::string& header, Bytes capacity) {
  for (std::size_t group = 0; group < DigestGroupsFor(capacity); ++group) {
    ASSIGN_OR_RETURN(const std::string digests, ReadDigestGroup(table_fd, capacity, group));
    ASSIGN_OR_RETURN(const Digest sum, SumOfGroup(header, group, digests));
    RETURN_IF_ERROR(Write(table_fd, sum.data(), sum.size(), PlaceOfGroupSum(capacity, group)));
  }
  return absl::OkStatus();
}

absl::Status Finish(int directory_fd, int table_fd, const std::string& header, Bytes capacity) {
  if (::ftruncate(table_fd, DigestFileSize(capacity)) != 0) {
    return AllocationError(errno, "cannot set the size of the table of digests");
  }
  RETURN_IF_ERROR(WriteSums(table_fd, header, capacity));
  if (::fsync(table_fd) != 0) return AllocationError(errno, "cannot sync the table of digests");
  if (::renameat(directory_fd, kTemporaryDigestsName, directory_fd, kDigestsName) != 0) {
    return AllocationError(errno, "cannot rename the table of digests");
  }
  return os::Sync(directory_fd, "directory of the snapshot");
}

absl::StatusOr<bool> Make(int directory_fd, int image_fd, const TableOwner& owner,
                          TableDonor* donor, Bytes& reached) {
  ASSIGN_OR_RETURN(const DigestHeader wanted, HeaderFor(owner, image_fd));
  const std::string header = EncodeDigestHeader(wanted);
  os::UniqueFd table;
  if (reached == 0) {
    ASSIGN_OR_RETURN(table, Begin(directory_fd, header));
  } else {
    ASSIGN_OR_RETURN(table, os::OpenFileAt(directory_fd, kTemporaryDigestsName, O_RDWR));
  }
  RETURN_IF_ERROR(Step(table.get(), image_fd, owner.capacity, donor).Take(reached));
  if (reached < owner.capacity) return false;
  ASSIGN_OR_RETURN(const std::string begun, ReadTable(table.get(), kDigestHeaderSize, 0));
  ASSIGN_OR_RETURN(const DigestHeader now, HeaderFor(owner, image_fd));
  if (begun != EncodeDigestHeader(now)) {
    return Internal("the image was changed while its digests were computed");
  }
  RETURN_IF_ERROR(Finish(directory_fd, table.get(), header, owner.capacity));
  return true;
}

}  // namespace

absl::StatusOr<bool> MakeDigestTable(int directory_fd, int image_fd, const TableOwner& owner,
                                     TableDonor* donor, Bytes& reached) {
  auto made = Make(directory_fd, image_fd, owner, donor, reached);
  if (!made.ok()) (void)os::RemoveFileAt(directory_fd, kTemporaryDigestsName);
  return made;
}

void RemoveUnfinishedTable(int volumes_fd, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (!directory.ok() || !os::ExistsAt(directory->get(), kTemporaryDigestsName)) return;
  (void)os::RemoveFileAt(directory->get(), kTemporaryDigestsName);
}

}  // namespace holdfast::file
