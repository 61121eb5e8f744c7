// SPDX-License-Identifier: Apache-2.0
// Writing the data of a benchmark's volumes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace bench {

// Writes so many bytes, none of them a zero, to the file or device, and syncs it.
void WriteData(const std::string& path, std::int64_t bytes);

// Threads that write to files of their own in a directory, and sync each write, until this ends.
class Writers final {
 public:
  // Returns when each of them has written for a while.
  Writers(const std::string& directory, int count);
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;
  ~Writers();

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<int> under_way_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace bench
