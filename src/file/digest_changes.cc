// SPDX-License-Identifier: Apache-2.0
#include "file/digest_changes.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "file/data_copy.h"
#include "file/image_read.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostRanges = 8192;  // the answer of a node fits into one message of the link
constexpr std::chrono::milliseconds kLongestDigestComparison{500};
constexpr int kDigestsBetweenLooks = 16;  // at the clock

// The digests of an image, block after block, by its table or by its bytes.
class TargetDigests final {
 public:
  explicit TargetDigests(const DigestComparison& compared) : compared_(compared) {}

  absl::StatusOr<Digest> At(Bytes block) {
    if (compared_.target != nullptr) return compared_.target->At(block);
    const Bytes end = std::min(block + kDigestBlock, compared_.common);
    if (!looked_ || block >= data_end_) RETURN_IF_ERROR(FindData(block));
    if (end <= data_begin_) return Digest{};
    block_.resize(static_cast<std::size_t>(end - block));
    RETURN_IF_ERROR(ReadImage(compared_.target_fd, block_, block));
    return DigestOf(block_);
  }

 private:
  // The next data, so that holes cost nothing.
  absl::Status FindData(Bytes block) {
    ASSIGN_OR_RETURN(const auto data, NextData(compared_.target_fd, block, compared_.common));
    data_begin_ = data ? data->begin : compared_.common;
    data_end_ = data ? data->end : compared_.common;
    looked_ = true;
    return absl::OkStatus();
  }

  const DigestComparison& compared_;
  bool looked_ = false;
  Bytes data_begin_ = 0;
  Bytes data_end_ = 0;
  std::string block_;
};

}  // namespace

absl::StatusOr<pool::RangePage> FindChangesByDigests(const DigestComparison& compared,
                                                     Bytes offset) {
  TargetDigests target(compared);
  pool::RangePage page{.capacity = compared.common, .ranges = {}, .next = offset};
  const auto until = Clock::now() + kLongestDigestComparison;
  for (int looked_at = 0; page.next < compared.common;) {
    const Bytes block = AlignDown(page.next, kDigestBlock);
    const Bytes end = std::min(block + kDigestBlock, compared.common);
    ASSIGN_OR_RETURN(const Digest before, compared.base->At(block));
    ASSIGN_OR_RETURN(const Digest now, target.At(block));
    if (before != now) Append(page.ranges, {page.next, end});
    page.next = end;
    const bool in_time = ++looked_at % kDigestsBetweenLooks != 0 || Clock::now() < until;
    if (!in_time || page.ranges.size() >= kMostRanges) break;
  }
  return page;
}

}  // namespace holdfast::file
