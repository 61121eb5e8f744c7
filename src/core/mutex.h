// SPDX-License-Identifier: Apache-2.0
// Locks that clang checks at compile time (-Wthread-safety): which member needs which lock is an
// annotation of the declaration (ABSL_GUARDED_BY, ABSL_EXCLUSIVE_LOCKS_REQUIRED), not a comment.
//
// They wrap the standard library's locks, which GCC's library does not annotate. Not absl::Mutex:
// Debian's libabsl is built without ThreadSanitizer, which would not see that one thread's unlock
// happens before another's lock, and would report data races where there are none.
#pragma once

#include <absl/base/thread_annotations.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace holdfast {

class ABSL_LOCKABLE Mutex final {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex until the end of the scope.
class [[nodiscard]] ABSL_SCOPED_LOCKABLE MutexLock final {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : lock_(mutex.mutex_) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() = default;

  // For work in between that needs no lock.
  void Unlock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

// A condition variable. Waits release `lock` while they wait and hold it again when they return.
// The compiler checks a predicate that states its lock:
//   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ready_; }
class CondVar final {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  template <typename Predicate>
  void Wait(MutexLock& lock, Predicate predicate) {
    changed_.wait(lock.lock_, predicate);
  }

  // The timed waits return the predicate's last result.
  template <typename Duration, typename Predicate>
  bool WaitFor(MutexLock& lock, Duration longest, Predicate predicate) {
    return changed_.wait_for(lock.lock_, longest, predicate);
  }
  template <typename TimePoint, typename Predicate>
  bool WaitUntil(MutexLock& lock, TimePoint end, Predicate predicate) {
    return changed_.wait_until(lock.lock_, end, predicate);
  }

  // Without a predicate a wait may end early: the caller waits in a loop.
  template <typename TimePoint>
  void WaitUntil(MutexLock& lock, TimePoint end) {
    changed_.wait_until(lock.lock_, end);
  }

  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace holdfast
