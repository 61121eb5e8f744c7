// SPDX-License-Identifier: Apache-2.0
#include "raw/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "common/workload.h"

namespace bench {
namespace {

// As long as a volume's record.
constexpr std::string_view kRecord =
    "{\"schema\":1,\"name\":\"pvc-00000000-0000-0000-0000-000000000000\",\"state\":\"ready\","
    "\"capacity_bytes\":67108864,\"provisioning\":\"thick\",\"access_type\":\"mount\","
    "\"filesystem\":\"ext4\",\"filesystem_uuid\":\"00000000-0000-0000-0000-000000000000\","
    "\"mkfs_options\":[],\"parameters\":{},\"created_at\":\"2000-01-01T00:00:00Z\","
    "\"grow_to_bytes\":0,\"sector_size\":512,\"checksum\":\"00000000\"}\n";

}  // namespace

Descriptor::Descriptor(int fd, const std::string& what) : fd_(fd) {
  if (fd < 0) Fail(what);
}

Descriptor::~Descriptor() { ::close(fd_); }

Descriptor OpenDirectory(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open " + path);
}

void Sync(int fd) {
  if (::fsync(fd) != 0) Fail("fsync");
}

void WriteRecord(int directory_fd) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  {
    const Descriptor file(::openat(directory_fd, "record.json.tmp", kFlags, 0600), "make a record");
    if (::write(file.get(), kRecord.data(), kRecord.size()) < 0) Fail("write a record");
    Sync(file.get());
  }
  if (::renameat(directory_fd, "record.json.tmp", directory_fd, "record.json") != 0) {
    Fail("rename a record");
  }
  Sync(directory_fd);
}

void MakeImage(int directory_fd, std::int64_t size, bool thick) {
  const Descriptor image(
      ::openat(directory_fd, "image", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
      "make an image");
  ExtendImage(image.get(), size, thick);
}

void ExtendImage(int image_fd, std::int64_t size, bool thick) {
  const int result = thick ? ::fallocate(image_fd, 0, 0, size) : ::ftruncate(image_fd, size);
  if (result != 0) Fail("size an image");
  Sync(image_fd);
}

}  // namespace bench
