// SPDX-License-Identifier: Apache-2.0
// Preloaded into both sides of the benchmark: notes when filesystems are frozen and thawed, and
// when blocks are given to a file of their own.
//
// Each call is a line of the file HOLDFAST_BENCH_CALLS: its name, the nanoseconds of
// CLOCK_MONOTONIC before and after it, and its bytes.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

long long Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void Note(const char* name, long long start, long long bytes) {
  const int error = errno;
  const long long end = Now();
  const char* const path = std::getenv("HOLDFAST_BENCH_CALLS");
  const int log =
      path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log >= 0) {
    ::dprintf(log, "%s %lld %lld %lld\n", name, start, end, bytes);
    ::close(log);
  }
  errno = error;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

using Fallocate = int(int, int, off_t, off_t);

int NotedFallocate(Fallocate* call, int fd, int mode, off_t offset, off_t length) {
  const long long start = Now();
  const int result = call(fd, mode, offset, length);
  if ((mode & FALLOC_FL_UNSHARE_RANGE) != 0 && result == 0) Note("unshare", start, length);
  return result;
}

}  // namespace

extern "C" int ioctl(int fd, unsigned long request, ...) {
  static auto* const call = Next<int(int, unsigned long, void*)>("ioctl");
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const long long start = Now();
  const int result = call(fd, request, argument);
  if (request == FIFREEZE && result == 0) Note("freeze", start, 0);
  if (request == FITHAW && result == 0) Note("thaw", start, 0);
  return result;
}

extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  static auto* const call = Next<Fallocate>("fallocate");
  return NotedFallocate(call, fd, mode, offset, length);
}

extern "C" int fallocate64(int fd, int mode, off_t offset, off_t length) {
  static auto* const call = Next<Fallocate>("fallocate64");
  return NotedFallocate(call, fd, mode, offset, length);
}
