// SPDX-License-Identifier: Apache-2.0
// Image metadata by the calls of Ceph's class "rbd" themselves: librbd would open the image and ask
// the kernel's client, which has just formatted it, for the exclusive lock.
#include "rbd/format_mark.h"

#include <endian.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

namespace holdfast::rbd {
namespace {

// As librbd names it. Metadata is in its omap.
std::string HeaderOf(const std::string& image_id) { return "rbd_header." + image_id; }

// Ceph's encoding: numbers of four bytes, little-endian; texts with their length before them.
void Add(std::string& encoded, std::uint32_t number) {
  const std::uint32_t little = htole32(number);
  encoded.append(reinterpret_cast<const char*>(&little), sizeof(little));
}
void Add(std::string& encoded, const std::string& text) {
  Add(encoded, static_cast<std::uint32_t>(text.size()));
  encoded += text;
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadFormatMark(const CephPool& pool,
                                                          const std::string& image_id) {
  std::string key;
  Add(key, kFormatMark);
  std::array<char, 256> answer{};
  const std::string object = HeaderOf(image_id);
  int length = 0;
  const CallResult asked =
      pool.Try(fmt::format("read what image {} is formatted with", image_id), [&] {
        length = pool.library().rados_exec(pool.io(), object.c_str(), "rbd", "metadata_get",
                                           key.data(), key.size(), answer.data(), answer.size());
        return length;
      });
  if (asked.error == ENOENT) return std::optional<std::string>();
  RETURN_IF_ERROR(asked.status);
  std::uint32_t size = 0;
  std::memcpy(&size, answer.data(), sizeof(size));
  size = le32toh(size);
  if (sizeof(size) + size != static_cast<std::size_t>(length)) {
    return Internal("cannot parse the format mark of image {}", image_id);
  }
  return std::optional<std::string>(std::in_place, answer.data() + sizeof(size), size);
}

absl::Status SetFormatMark(const CephPool& pool, const std::string& image_id,
                           const std::string& mark) {
  const CephLibrary& library = pool.library();
  const std::unique_ptr<void, void (*)(rados_write_op_t)> operation(library.rados_create_write_op(),
                                                                    library.rados_release_write_op);
  std::string values;
  Add(values, std::uint32_t{1});
  Add(values, kFormatMark);
  Add(values, mark);
  // Or the class would make a header of an image that is gone.
  library.rados_write_op_assert_exists(operation.get());
  library.rados_write_op_exec(operation.get(), "rbd", "metadata_set", values.data(), values.size(),
                              nullptr);
  const std::string object = HeaderOf(image_id);
  return pool
      .Try(fmt::format("note at image {} what it is formatted with", image_id),
           [&] {
             return library.rados_write_op_operate2(operation.get(), pool.io(), object.c_str(),
                                                    nullptr, 0);
           })
      .status;
}

std::string MarkOf(const Volume& volume) {
  return fmt::format("{} {}", volume.filesystem, volume.filesystem_uuid);
}

absl::Status OlderThanImage(const pool::VolumeRecord& record, const std::string& mark) {
  return FailedPrecondition(
      "volume {} is recorded as {}, but its image '{}' says that it was formatted, as {}: the "
      "record is older than the image, which is left as it is; put the newer record back, or "
      "rename the image (docs/ceph.md, 'A record that is older than its image')",
      record.volume.id.uuid, ToString(record.volume.state), record.image_name, mark);
}

}  // namespace holdfast::rbd
