// SPDX-License-Identifier: Apache-2.0
// How fast a pool copies data, as its last copies have shown.
#pragma once

#include <chrono>

#include "core/bytes.h"
#include "core/mutex.h"

namespace holdfast::file {

// Thread-safe.
class CopyRate final {
 public:
  // Takes a copy of so many bytes into account. Small ones say nothing.
  void Note(Bytes bytes, std::chrono::nanoseconds took);

  [[nodiscard]] bool IsKnown() const;

  // How long a copy of so many bytes takes, at kAssumed a second as long as nothing is known.
  [[nodiscard]] std::chrono::milliseconds TimeFor(Bytes bytes) const;

  // A smaller copy says nothing about the rate.
  static constexpr Bytes kLeast = kMiB;
  // What a single hard disk does.
  static constexpr Bytes kAssumed = 64 * kMiB;

 private:
  mutable Mutex mutex_;
  double bytes_per_second_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: not known
};

}  // namespace holdfast::file
