// SPDX-License-Identifier: Apache-2.0
// The steps of MemberCut over the volume state machine, for every kind of pool that can cut several
// volumes at one instant.
#pragma once

#include <utility>

#include "pool/pool.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {

// The three objects serve one call, which lasts as long as this.
class GroupMember final : public MemberCut {
 public:
  // `begun` is what `volumes` has begun (VolumeLifecycle::BeginMember).
  GroupMember(VolumeLifecycle& volumes, VolumeBackend& backend, VolumeLifecycle::Begun begun)
      : volumes_(volumes), backend_(backend), begun_(std::move(begun)) {}

  absl::Status Prepare() override;
  absl::StatusOr<Writers> Hold() override;
  absl::Status Cut() override;
  absl::Status Release() override;
  absl::Status Seal() override;
  absl::Status Undo(const absl::Status& cause) override;

 private:
  VolumeLifecycle& volumes_;
  VolumeBackend& backend_;
  VolumeLifecycle::Begun begun_;
  VolumeBackend::Held held_;
};

}  // namespace holdfast::pool
