// SPDX-License-Identifier: Apache-2.0
// Keeps unauthenticated peers from filling the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace holdfast {

// Thread-safe.
class LogThrottle final {
 public:
  static constexpr int kLinesPerMinute = 30;

  // How many lines were skipped since the last one; nothing when this one is to be skipped, too.
  [[nodiscard]] std::optional<std::uint64_t> Take();

  // "" or " (and N more of this kind)", for the end of a line.
  [[nodiscard]] static std::string Note(std::uint64_t skipped);

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point minute_{};  // guarded by mutex_, like all below
  int lines_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace holdfast
