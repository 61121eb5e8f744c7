// SPDX-License-Identifier: Apache-2.0
#include "core/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

bool TakesMore(int fd) {
  pollfd watched{fd, POLLOUT, 0};
  return ::poll(&watched, 1, 0) == 1;  // the write reports an error
}

// Waits for the reader. Text that cannot be written at all is lost: there is nowhere else to report
// it.
void WriteWaiting(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // another program made it non-blocking
      pollfd watched{fd, POLLOUT, 0};
      ::poll(&watched, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

void LineWriter::Write(std::string line) {
  const MutexLock lock(mutex_);
  if (!draining_) WriteKept();
  std::size_t written = 0;
  if (!draining_ && kept_.empty()) written = WriteWithoutWaiting(line);
  if (written == line.size()) return;
  if (written == 0) {
    Keep(std::move(line));
  } else {
    Append(line.substr(written));  // a line that was begun is finished
  }
  StartDraining();
}

// A pipe that poll reports as writable takes PIPE_BUF bytes without waiting (pipe(7)).
std::size_t LineWriter::WriteWithoutWaiting(const std::string& text) const {
  std::size_t written = 0;
  while (written < text.size() && TakesMore(fd_)) {
    const std::size_t size = std::min<std::size_t>(text.size() - written, PIPE_BUF);
    const ssize_t count = ::write(fd_, text.data() + written, size);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      return written;
    } else if (errno != EINTR) {
      return text.size();  // the reader is gone
    }
  }
  return written;
}

// Writes the lines that were kept for a thread that could not be started.
void LineWriter::WriteKept() {
  while (true) {
    if (kept_.empty() && dropped_ > 0) Append(report_(std::exchange(dropped_, 0)));
    if (kept_.empty()) return;
    std::string& first = kept_.front();
    const std::size_t written = WriteWithoutWaiting(first);
    kept_bytes_ -= written;
    if (written < first.size()) {
      first.erase(0, written);
      return;
    }
    kept_.pop_front();
  }
}

void LineWriter::Keep(std::string line) {
  std::string report = dropped_ > 0 ? report_(dropped_) : "";
  if (kept_bytes_ + report.size() + line.size() > most_kept_) {
    ++dropped_;
    return;
  }
  if (dropped_ > 0) Append(std::move(report));
  dropped_ = 0;
  Append(std::move(line));
}

void LineWriter::Append(std::string text) {
  kept_bytes_ += text.size();
  kept_.push_back(std::move(text));
}

void LineWriter::StartDraining() {
  if (draining_ || kept_.empty()) return;
  try {
    std::thread([this] { Drain(); }).detach();
    draining_ = true;
  } catch (const std::system_error&) {
    // No thread can be started: the next line will try again.
  }
}

void LineWriter::Drain() {
  MutexLock lock(mutex_);
  while (!kept_.empty() || dropped_ > 0) {
    if (kept_.empty()) Append(report_(std::exchange(dropped_, 0)));
    const std::string text = std::move(kept_.front());
    kept_.pop_front();
    lock.Unlock();
    WriteWaiting(fd_, text);
    lock.Lock();
    kept_bytes_ -= text.size();
  }
  draining_ = false;
  drained_.NotifyAll();
}

bool LineWriter::Flush(std::chrono::milliseconds limit) {
  MutexLock lock(mutex_);
  StartDraining();
  return drained_.WaitFor(lock, limit, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return kept_.empty() && !draining_;
  });
}

}  // namespace holdfast
