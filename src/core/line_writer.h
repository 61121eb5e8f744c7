// SPDX-License-Identifier: Apache-2.0
// Writes lines to a descriptor whose reader may stop reading.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "core/mutex.h"

namespace holdfast {

// A line is written before Write returns, so a crash loses nothing, unless the reader is behind:
// lines are then kept in memory, in order, and a temporary thread writes them. Lines that do not
// fit are dropped, and one line reports their number when there is space again. A regular file has
// no reader: a write to it waits for its disk.
//
// Thread-safe. Must outlive the process's other threads.
class LineWriter final {
 public:
  // Returns the line, with its newline, that reports this many dropped lines.
  using Report = std::function<std::string(std::uint64_t dropped)>;

  // `most_kept` is in bytes. `fd` is borrowed.
  LineWriter(int fd, std::size_t most_kept, Report report)
      : fd_(fd), most_kept_(most_kept), report_(std::move(report)) {}
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // `line` ends with a newline.
  void Write(std::string line);

  // Waits until all kept lines are written; false if that takes longer than `limit`.
  bool Flush(std::chrono::milliseconds limit);

 private:
  [[nodiscard]] std::size_t WriteWithoutWaiting(const std::string& text) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(std::string line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Append(std::string text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartDraining() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Drain();

  const int fd_;
  const std::size_t most_kept_;
  const Report report_;

  Mutex mutex_;
  CondVar drained_;
  std::deque<std::string> kept_ ABSL_GUARDED_BY(mutex_);
  std::size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;  // by its thread, which alone writes then
};

}  // namespace holdfast
