// SPDX-License-Identifier: Apache-2.0
// Image metadata without librbd, which would open the image and ask the kernel's client, which has
// just formatted it, for the exclusive lock.
#include "rbd/format_mark.h"

#include <endian.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "rbd/omap.h"

namespace holdfast::rbd {
namespace {

// The class keeps metadata in the omap of the header, under this prefix (cls_rbd.cc).
constexpr char kMarkKey[] = "metadata_holdfast.formatted";
// Beside it, the mark that is refused.
constexpr char kRefusedMark[] = "holdfast.refused_mark";

absl::Status TakenOver(const std::string& image_id) {
  return Aborted("image {} was taken over and zeroed while it was being formatted; try again",
                 image_id);
}

// As librbd names it.
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
  const std::string object = HeaderOf(image_id);
  ASSIGN_OR_RETURN(auto present, ReadOmap(pool, object, {kRefusedMark}));
  const std::string refused = present[kRefusedMark];
  if (refused == mark) return TakenOver(image_id);
  const CallResult set = ChangeOmap(pool, object,
                                    {.guards = {{kRefusedMark, refused}},
                                     .values = {{kMarkKey, mark}},
                                     .removals = {},
                                     .must_exist = true},
                                    fmt::format("mark image {} as formatted", image_id));
  return set.error == ECANCELED ? TakenOver(image_id) : set.status;
}

absl::Status RefuseFormatMark(const CephPool& pool, const std::string& image_id,
                              const std::string& mark) {
  const CallResult set = ChangeOmap(pool, HeaderOf(image_id),
                                    {.guards = {{kMarkKey, ""}},
                                     .values = {{kRefusedMark, mark}},
                                     .removals = {},
                                     .must_exist = true},
                                    fmt::format("prepare the zeroing of image {}", image_id));
  if (set.error != ECANCELED) return set.status;
  return FailedPrecondition("image {} was marked as formatted meanwhile: it is not made blank",
                            image_id);
}

std::string UuidOfMark(const std::string& mark) { return mark.substr(mark.find(' ') + 1); }

std::string MarkOf(const Volume& volume) {
  return fmt::format("{} {}", volume.filesystem, volume.filesystem_uuid);
}

absl::Status OlderThanImage(const pool::VolumeRecord& record, const std::string& mark) {
  return FailedPrecondition(
      "volume {} is recorded as {}, but its image '{}' says that it was formatted, as {}: the "
      "record is older than the image, which is left as it is; restore the newer record, or "
      "rename the image (docs/ceph.md, 'A record that is older than its image')",
      record.volume.id.uuid, ToString(record.volume.state), record.image_name, mark);
}

}  // namespace holdfast::rbd
