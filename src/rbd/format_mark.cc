// SPDX-License-Identifier: Apache-2.0
// Image metadata without librbd, which would open the image and ask the kernel's client, which has
// just formatted it, for the exclusive lock.
#include "rbd/format_mark.h"

#include <cerrno>
#include <utility>

#include "rbd/image_name.h"
#include "rbd/omap.h"

namespace holdfast::rbd {
namespace {

// Beside the mark, the one that is refused.
constexpr char kRefusedMark[] = "holdfast.refused_mark";

absl::Status TakenOver(const std::string& image_id) {
  return Aborted("image {} was taken over and zeroed while it was being formatted; try again",
                 image_id);
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadFormatMark(const CephPool& pool,
                                                          const std::string& image_id) {
  ASSIGN_OR_RETURN(auto found, ReadOmap(pool, HeaderOf(image_id), {kFormatMarkKey}));
  if (!found.contains(kFormatMarkKey)) return std::optional<std::string>();
  return std::optional(std::move(found[kFormatMarkKey]));
}

absl::Status SetFormatMark(const CephPool& pool, const std::string& image_id,
                           const std::string& mark) {
  const std::string object = HeaderOf(image_id);
  ASSIGN_OR_RETURN(auto present, ReadOmap(pool, object, {kRefusedMark}));
  const std::string refused = present[kRefusedMark];
  if (refused == mark) return TakenOver(image_id);
  const CallResult set = ChangeOmap(pool, object,
                                    {.guards = {{kRefusedMark, refused}},
                                     .values = {{kFormatMarkKey, mark}},
                                     .removals = {},
                                     .must_exist = true},
                                    fmt::format("mark image {} as formatted", image_id));
  return set.error == ECANCELED ? TakenOver(image_id) : set.status;
}

absl::Status RefuseFormatMark(const CephPool& pool, const std::string& image_id,
                              const std::string& mark) {
  const CallResult set = ChangeOmap(pool, HeaderOf(image_id),
                                    {.guards = {{kFormatMarkKey, ""}},
                                     .values = {{kRefusedMark, mark}},
                                     .removals = {},
                                     .must_exist = true},
                                    fmt::format("prepare the zeroing of image {}", image_id));
  if (set.error != ECANCELED) return set.status;
  return FailedPrecondition("image {} was marked as formatted meanwhile: it is not made blank",
                            image_id);
}

absl::Status RemoveFormatMark(const CephPool& pool, const std::string& image_id) {
  return ChangeOmap(pool, HeaderOf(image_id),
                    {.guards = {}, .values = {}, .removals = {kFormatMarkKey}, .must_exist = true},
                    fmt::format("remove the copied mark of image {}", image_id))
      .status;
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
