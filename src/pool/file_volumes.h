// SPDX-License-Identifier: Apache-2.0
// Records and images of a file pool, as the volume state machine sees them: a directory for each
// volume with record.json and image, which is moved to the trash as a whole.
#pragma once

#include <string>

#include "pool/image_devices.h"
#include "pool/pool_directory.h"
#include "pool/record_store.h"
#include "pool/volume_backend.h"

namespace holdfast::pool {

// Of a pool that one process serves, so the caller's lock is enough to make Insert and Replace
// exclusive.
class FileRecords final : public VolumeRecords {
 public:
  FileRecords(RecordStore& records, const VerifiedPool& pool) : records_(records), pool_(pool) {}

  bool AreShared() const override { return false; }
  absl::StatusOr<VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const VolumeRecord& record) override;
  absl::Status Replace(const VolumeRecord& present, const VolumeRecord& next) override;
  absl::Status Remove(const VolumeRecord& present) override;
  absl::Status SyncName() override;
  absl::Status SyncAll(const std::string& uuid) override;
  bool Lists(const std::string& uuid) override { return records_.Lists(uuid); }
  void Enlist(const VolumeRecord& record) override { records_.Remember(record.volume); }
  bool HasRemains(const std::string& uuid) override;
  absl::Status RemoveRemains(const std::string& uuid) override;

 private:
  RecordStore& records_;
  const VerifiedPool& pool_;
};

// `volumes_fd` is the directory of volume directories; it outlives this.
class ImageBytes final : public VolumeBytes {
 public:
  explicit ImageBytes(int volumes_fd) : volumes_fd_(volumes_fd) {}

  absl::StatusOr<bool> Exist(const VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const VolumeRecord& record) override;

 private:
  const int volumes_fd_;
};

class FileBackend final : public VolumeBackend {
 public:
  FileBackend(ImageDevices& devices, const VerifiedPool& pool)
      : devices_(devices), pool_(pool), bytes_(pool.volumes) {}

  absl::StatusOr<bool> Exist(const VolumeRecord& record) override { return bytes_.Exist(record); }
  absl::StatusOr<Bytes> Size(const VolumeRecord& record) override { return bytes_.Size(record); }
  absl::StatusOr<bool> HoldData(const VolumeRecord& record, Bytes begin) override {
    return bytes_.HoldData(record, begin);
  }
  absl::StatusOr<std::string> ReadMark(const VolumeRecord& record) override {
    return bytes_.ReadMark(record);
  }
  std::string NewName(const std::string&) override { return {}; }
  absl::StatusOr<std::string> Make(const VolumeRecord& record) override;
  absl::Status RemoveUnfinished(const VolumeRecord& record) override;
  absl::Status Extend(const VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const VolumeRecord& record) override;
  // No other node reaches the image.
  absl::Status RequireHeldHere(const VolumeRecord&) override { return absl::OkStatus(); }
  absl::Status Zero(const VolumeRecord& record) override;
  absl::Status Mark(const VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const VolumeRecord& record) override;
  absl::Status Discard(const VolumeRecord& record) override;
  absl::Status Purge(const std::string& uuid) override;
  bool HasDiscarded(const std::string& uuid) override;
  absl::Status RequireOnlyOwn(const std::string& uuid) override;
  absl::StatusOr<os::BlockDevice> Map(const VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(const VolumeRecord& record) override;
  absl::Status RefreshDevice(const VolumeRecord& record) override;
  absl::Status RequireUnused(const VolumeRecord& record) override;
  absl::Status Unmap(const VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const VolumeRecord& record) override;

 private:
  ImageDevices& devices_;
  const VerifiedPool& pool_;
  ImageBytes bytes_;
};

}  // namespace holdfast::pool
