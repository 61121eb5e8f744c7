// SPDX-License-Identifier: Apache-2.0
#include "node/target_paths.h"

#include <optional>

#include "core/volume_id.h"

namespace holdfast::node {

absl::StatusOr<os::RequestPath> OpenPath(const std::string& path, const std::string& field) {
  absl::StatusOr<os::RequestPath> opened = os::RequestPath::Open(path, field);
  if (!absl::IsNotFound(opened.status())) return opened;
  return WithCode(opened.status(), absl::StatusCode::kFailedPrecondition);
}

absl::StatusOr<KeyLock::Guard> LockPath(KeyLock& locks, const os::RequestPath& target) {
  auto lock = locks.TryLock(target.place(), "another call");
  if (!absl::IsAborted(lock.status())) return lock;
  return Aborted("another call is at work at '{}'; try again when that has finished",
                 target.path());
}

namespace {

bool IsPlacedAt(const state::StageStore& stages, const std::string& volume_id,
                const std::string& path) {
  const auto record = stages.Find(volume_id);
  return record.ok() && (record->staging_path == path || record->publications.contains(path));
}

std::string UuidOf(const std::string& volume_id) {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  return id ? id->uuid : "";
}

Claims ReadClaims(const state::StageStore& stages, const std::string& volume_id,
                  const std::string& path) {
  Claims claims{.own = IsPlacedAt(stages, volume_id, path), .others = {}};
  const auto ids = stages.VolumeIds();
  if (!ids.ok()) return claims;
  for (const std::string& id : *ids) {
    if (id != volume_id && IsPlacedAt(stages, id, path)) claims.others.push_back(UuidOf(id));
  }
  return claims;
}

}  // namespace

Teardown TeardownOf(const pool::Pools& pools, const state::StageStore& stages,
                    const std::string& volume_id, const std::string& path) {
  return Teardown{
      .devices = pools.devices(),
      .uuid = UuidOf(volume_id),
      .ask_records = [&stages, volume_id, path] { return ReadClaims(stages, volume_id, path); }};
}

}  // namespace holdfast::node
