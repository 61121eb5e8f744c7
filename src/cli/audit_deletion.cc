// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_deletion.h"

#include <algorithm>
#include <set>

#include "cli/inventory_tables.h"
#include "cli/terminal.h"
#include "core/volume.h"

namespace holdfast::cli {
namespace {

bool IsOldEnough(const admin::v1::Volume& volume, absl::Time now) {
  const auto age = AgeOf(volume.created_at(), now);
  return age && *age >= kLeastAgeToDelete;
}

// Of a volume that was named, but is not one without a PersistentVolume.
absl::Status WhyNot(const Inventory& inventory, const KubernetesObjects& objects,
                    const std::string& id) {
  const auto object = std::ranges::find(objects.volumes, id, &PersistentVolume::handle);
  if (object != objects.volumes.end()) {
    return FailedPrecondition("PersistentVolume '{}' has volume '{}'; delete that", object->name,
                              id);
  }
  const auto& volumes = inventory.volumes.volumes();
  const auto volume = std::ranges::find(volumes, id, &admin::v1::Volume::id);
  if (volume == volumes.end()) return FailedPrecondition("volume '{}' is not listed", id);
  if (volume->state() == ToString(VolumeState::kCopying)) {
    return FailedPrecondition("volume '{}' is a copy that is not complete", id);
  }
  return FailedPrecondition("volume '{}' is younger than {}", id,
                            absl::FormatDuration(kLeastAgeToDelete));
}

}  // namespace

std::string DeleteList(const Audit& audit, absl::Time now) {
  std::string list;
  for (const admin::v1::Volume* const volume : audit.without_pv) {
    if (!IsOldEnough(*volume, now)) continue;
    list += Printable(fmt::format("# {}, {}, {} old", ClaimText(*volume),
                                  BytesText(volume->capacity_bytes()),
                                  AgeText(volume->created_at(), now))) +
            "\n" + volume->id() + "\n";
  }
  return list;
}

absl::Status CheckDeletion(const Audit& audit, const Inventory& inventory,
                           const KubernetesObjects& objects, const std::vector<std::string>& ids,
                           absl::Time now) {
  std::set<std::string> seen;
  for (const std::string& id : ids) {
    if (!VolumeId::Parse(id)) return InvalidArgument("'{}' is not the id of a volume", id);
    if (!seen.insert(id).second) return InvalidArgument("'{}' comes twice", id);
    const auto found = std::ranges::find(audit.without_pv, id, &admin::v1::Volume::id);
    if (found == audit.without_pv.end()) return WhyNot(inventory, objects, id);
    if (!IsOldEnough(**found, now)) {
      return FailedPrecondition("volume '{}' is younger than {}", id,
                                absl::FormatDuration(kLeastAgeToDelete));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cli
