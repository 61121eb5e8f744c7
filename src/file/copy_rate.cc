// SPDX-License-Identifier: Apache-2.0
#include "file/copy_rate.h"

namespace holdfast::file {

// One copy beside other work of the disk does not decide alone.
void CopyRate::Note(Bytes bytes, std::chrono::nanoseconds took) {
  if (bytes < kLeast || took.count() <= 0) return;
  const double measured = static_cast<double>(bytes) / std::chrono::duration<double>(took).count();
  const MutexLock lock(mutex_);
  bytes_per_second_ = bytes_per_second_ == 0 ? measured : (bytes_per_second_ + measured) / 2;
}

bool CopyRate::IsKnown() const {
  const MutexLock lock(mutex_);
  return bytes_per_second_ > 0;
}

std::chrono::milliseconds CopyRate::TimeFor(Bytes bytes) const {
  const MutexLock lock(mutex_);
  const double rate = bytes_per_second_ > 0 ? bytes_per_second_ : static_cast<double>(kAssumed);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(bytes) / rate * 1000));
}

}  // namespace holdfast::file
