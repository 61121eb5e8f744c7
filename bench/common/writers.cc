// SPDX-License-Identifier: Apache-2.0
#include "common/writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "common/workload.h"

namespace bench {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;
constexpr std::int64_t kFile = 8 * kPiece;
constexpr std::int64_t kBlock = std::int64_t{64} << 10;
constexpr int kWritesBefore = 16;  // the file is there, and its blocks are

// No piece is like another one, nor can it be compressed: disks are faster with data that repeats.
class RandomData {
 public:
  explicit RandomData(std::int64_t size) : words_(static_cast<std::size_t>(size) / sizeof(Word)) {}

  void Renew() {
    std::ranges::generate(words_, [this] { return random_(); });
  }
  [[nodiscard]] const void* data() const { return words_.data(); }

 private:
  using Word = std::mt19937_64::result_type;
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<Word> words_;
};

int OpenToWrite(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) Fail("open " + path);
  return fd;
}

}  // namespace

void WriteData(const std::string& path, std::int64_t bytes) {
  RandomData data(kPiece);
  const int fd = OpenToWrite(path);
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    data.Renew();
    if (::pwrite(fd, data.data(), kPiece, at) != kPiece) Fail("write " + path);
  }
  if (::fsync(fd) != 0) Fail("sync " + path);
  ::close(fd);
}

Writers::Writers(const std::string& directory, int count) {
  for (int number = 0; number < count; ++number) {
    const std::string path = directory + "/writer-" + std::to_string(number);
    WriteData(path, kFile);
    threads_.emplace_back([this, path, number] {
      RandomData data(kBlock);
      data.Renew();
      std::minstd_rand random(static_cast<unsigned>(number) + 1);
      const int fd = OpenToWrite(path);
      for (int writes = 0; !ending_; ++writes) {
        if (writes == kWritesBefore) ++under_way_;
        const auto at = static_cast<std::int64_t>(random() % (kFile / kBlock)) * kBlock;
        if (::pwrite(fd, data.data(), kBlock, at) != kBlock || ::fdatasync(fd) != 0) break;
      }
      ::close(fd);
    });
  }
  while (under_way_ < count) std::this_thread::yield();
}

Writers::~Writers() { ending_ = true; }

}  // namespace bench
