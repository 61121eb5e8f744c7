// SPDX-License-Identifier: Apache-2.0
// Writes lines to a descriptor whose reader may stop reading.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace holdfast {

// A line is written before Write returns, so that a crash loses nothing, unless the reader is
// behind: then lines are kept in memory, in their order, and a thread that lives no longer than
// that writes them. Lines that find no room are dropped, and one line says how many when there is
// room again. A regular file has no reader: a write to one waits for its disk.
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

  // Waits until all that was kept is written; false if that takes longer than `limit`.
  bool Flush(std::chrono::milliseconds limit);

 private:
  // All of them require mutex_.
  [[nodiscard]] std::size_t WriteWithoutWaiting(const std::string& text) const;
  void WriteKept();
  void Keep(std::string line);
  void Append(std::string text);
  void StartDraining();

  void Drain();

  const int fd_;
  const std::size_t most_kept_;
  const Report report_;

  std::mutex mutex_;
  std::condition_variable drained_;
  std::deque<std::string> kept_;  // guarded by mutex_, like all below
  std::size_t kept_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  bool draining_ = false;  // by its thread, which alone writes then
};

}  // namespace holdfast
