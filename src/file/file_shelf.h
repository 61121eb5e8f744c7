// SPDX-License-Identifier: Apache-2.0
// The trash of a file pool as the volume state machine sees it: the directories of deleted volumes
// and snapshots, in the pool's directory `trash`, named by their keys (core/trash_id.h). A
// directory that is named by a UUID alone there is being removed, and none of these.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "file/file_volumes.h"
#include "file/pool_directory.h"
#include "file/record_store.h"
#include "pool/volume_backend.h"

namespace holdfast::file {

class FileShelf final : public pool::VolumeShelf {
 public:
  // `keep` is for entries whose record does not say it, because it could not be written. The others
  // outlive this.
  FileShelf(RecordStore& records, const VerifiedPool& pool, std::chrono::seconds keep)
      : records_(records), pool_(pool), keep_(keep), bytes_(pool.trash) {}

  // The keys of all entries, those that cannot be read included.
  [[nodiscard]] static absl::StatusOr<std::vector<std::string>> Keys(int trash_fd);

  absl::StatusOr<pool::VolumeRecord> Read(const std::string& key) override;
  absl::Status Put(const pool::VolumeRecord& record) override;
  absl::Status TakeBack(const pool::VolumeRecord& record, const pool::VolumeRecord& next) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Purge(const pool::VolumeRecord& record) override;
  absl::Status RequireWhole(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord& record) override;
  void AwaitRoom() override;

 private:
  RecordStore& records_;
  const VerifiedPool& pool_;
  const std::chrono::seconds keep_;
  ImageBytes bytes_;
};

}  // namespace holdfast::file
