// SPDX-License-Identifier: Apache-2.0
#include "os/process_usage.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#include "os/unique_fd.h"
#include "support/await.h"
#include "support/outcome.h"

namespace holdfast::os {
namespace process_usage_test {

ProcessUsage Usage() { return test::Value(MeasureProcess()); }

TEST_CASE("open files are counted, without those that the count needs") {
  const ProcessUsage before = Usage();
  const auto listed = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  CHECK(before.open_files + 1 == static_cast<std::uint64_t>(listed));  // the iterator's own
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(Usage().open_files == before.open_files + 1);
  CHECK(Usage().open_files < Usage().max_open_files);
}

TEST_CASE("threads are counted") {
  const ProcessUsage before = Usage();
  std::promise<void> end;
  std::thread other([&] { end.get_future().wait(); });
  CHECK(Usage().threads == before.threads + 1);
  end.set_value();
  other.join();
}

TEST_CASE("memory counts as resident once it is written to") {
  constexpr std::size_t kBytes = 64 << 20;
  const ProcessUsage before = Usage();
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const ProcessUsage mapped = Usage();
  CHECK(mapped.virtual_bytes >= before.virtual_bytes + kBytes);
  CHECK(mapped.resident_bytes < before.resident_bytes + kBytes / 2);
  std::fill_n(static_cast<char*>(memory), kBytes, 'x');
  CHECK(Usage().resident_bytes > before.resident_bytes + kBytes / 2);
  ::munmap(memory, kBytes);
}

TEST_CASE("processor time passes with work, and the start stays where it was") {
  const ProcessUsage before = Usage();
  CHECK(before.started_at > 0);
  CHECK(before.started_at <= static_cast<double>(std::time(nullptr)) + 1);
  test::Await([&] { return Usage().cpu_seconds > before.cpu_seconds; });
  CHECK(Usage().started_at == before.started_at);
}

}  // namespace process_usage_test
}  // namespace holdfast::os
