// SPDX-License-Identifier: Apache-2.0
// The writes to the host's filesystem that a volume needs, without any checks.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// A descriptor that closes itself. Throws if the descriptor is invalid, with `what` and errno.
class Descriptor final {
 public:
  Descriptor(int fd, const std::string& what);
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// Every function throws std::runtime_error when the kernel refuses.

Descriptor OpenDirectory(const std::string& path);

void Sync(int fd);

// Replaces DIRECTORY/record.json: temporary file, fsync, rename, fsync of the directory.
void WriteRecord(int directory_fd);

// Makes DIRECTORY/image: truncated to its size (thin) or allocated (thick), and synced.
void MakeImage(int directory_fd, std::int64_t size, bool thick);

// Extends it in the same way.
void ExtendImage(int image_fd, std::int64_t size, bool thick);

}  // namespace bench
