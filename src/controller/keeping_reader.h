// SPDX-License-Identifier: Apache-2.0
// A reader of a snapshot that keeps it from being removed, if it is one that is only held for a
// while (Pool::KeepHeld).
#pragma once

#include <chrono>
#include <memory>

#include "core/content.h"
#include "core/key_lock.h"
#include "pool/pools.h"

namespace holdfast::controller {

// One thread at a time.
class KeepingReader final : public ContentReader {
 public:
  static constexpr std::chrono::seconds kInterval{60};

  // `locks` and the pool outlive it.
  KeepingReader(std::unique_ptr<ContentReader> reader, const pool::Pools::Located& snapshot,
                KeyLock& locks, std::chrono::milliseconds interval = kInterval)
      : reader_(std::move(reader)), snapshot_(snapshot), locks_(locks), interval_(interval) {}

  [[nodiscard]] Bytes size() const override { return reader_->size(); }
  [[nodiscard]] absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override;

 private:
  using Clock = std::chrono::steady_clock;
  void Keep();

  const std::unique_ptr<ContentReader> reader_;
  const pool::Pools::Located snapshot_;
  KeyLock& locks_;
  const std::chrono::milliseconds interval_;
  Clock::time_point kept_ = Clock::now();
};

}  // namespace holdfast::controller
