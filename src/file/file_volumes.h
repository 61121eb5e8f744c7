// SPDX-License-Identifier: Apache-2.0
// Records and images of a file pool, as the volume state machine sees them: a directory for each
// volume with record.json and image, which is moved to the trash as a whole.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "file/copy_rate.h"
#include "file/image_devices.h"
#include "file/pool_directory.h"
#include "file/record_store.h"
#include "pool/quiesce.h"
#include "pool/volume_backend.h"

namespace holdfast::file {

// The pool is served by one process, so the caller's lock is enough to make Insert and Replace
// exclusive.
class FileRecords final : public pool::VolumeRecords {
 public:
  FileRecords(RecordStore& records, const VerifiedPool& pool) : records_(records), pool_(pool) {}

  bool AreShared() const override { return false; }
  absl::StatusOr<pool::VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const pool::VolumeRecord& record) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Remove(const pool::VolumeRecord& present) override;
  absl::Status SyncName() override;
  absl::Status SyncAll(const std::string& uuid) override;
  bool Lists(const std::string& uuid) override { return records_.Lists(uuid); }
  void Enlist(const pool::VolumeRecord& record) override { records_.Remember(record.volume); }
  std::vector<std::string> CopiesUnderWay(const ContentSource& source) override {
    return records_.CopiesUnderWay(source);
  }
  bool HasRemains(const std::string& uuid) override;
  absl::Status RemoveRemains(const std::string& uuid) override;

 private:
  RecordStore& records_;
  const VerifiedPool& pool_;
};

// `volumes_fd` is the directory of volume directories; it outlives this.
class ImageBytes final : public pool::VolumeBytes {
 public:
  explicit ImageBytes(int volumes_fd) : volumes_fd_(volumes_fd) {}

  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord& record) override;

 private:
  const int volumes_fd_;
};

class FileBackend final : public pool::VolumeBackend {
 public:
  // Holds back the writers of a volume's mounted device, as pool::Quiesce.
  using Quiesce = std::function<absl::StatusOr<std::unique_ptr<pool::Quiet>>(
      const std::string& uuid, const os::BlockDevice& device, const CutOptions& options)>;
  // How a volume that is in use is copied, and what copies tell about the pool.
  struct Copying {
    Quiesce quiesce;
    CopyRate& rate;                // outlives this
    std::atomic<Bytes>& unshared;  // the same; as of UnshareImage
    CutOptions cut;
  };
  // `has_copies` as in WhyNotThick.
  FileBackend(ImageDevices& devices, const VerifiedPool& pool, const Copying& copying,
              bool has_copies)
      : devices_(devices),
        pool_(pool),
        quiesce_(copying.quiesce),
        copy_rate_(copying.rate),
        unshared_(copying.unshared),
        cut_(copying.cut),
        has_copies_(has_copies),
        bytes_(pool.volumes) {}

  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override {
    return bytes_.Exist(record);
  }
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override {
    return bytes_.Size(record);
  }
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override {
    return bytes_.HoldData(record, begin);
  }
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override {
    return bytes_.ReadMark(record);
  }
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord& record) override {
    return bytes_.IsMarkedCopied(record);
  }
  std::string NewName(const pool::VolumeRecord&, const pool::VolumeRecord*) override { return {}; }
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole role) override;
  absl::Status RequireCutsTogether() override;
  absl::Status PrepareCut(const pool::VolumeRecord& source,
                          const pool::VolumeRecord& record) override;
  absl::StatusOr<Held> HoldWriters(const pool::VolumeRecord& source) override;
  absl::Status CutHeld(const pool::VolumeRecord& source, const pool::VolumeRecord& record,
                       const Held& held) override;
  absl::StatusOr<std::string> FinishCut(const pool::VolumeRecord& source,
                                        const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override;
  absl::Status RequireUnchanged(const pool::VolumeRecord& source,
                                const pool::VolumeRecord& record) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::Status MarkCopied(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> Unshare(const pool::VolumeRecord& record) override;
  absl::Status RemoveUnfinished(const pool::VolumeRecord& record) override;
  absl::Status Extend(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const pool::VolumeRecord& record) override;
  // No other node reaches the image.
  absl::Status RequireHeldHere(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::Status Zero(const pool::VolumeRecord& record) override;
  absl::Status Mark(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord& record) override;
  absl::Status Discard(const pool::VolumeRecord& record) override;
  absl::Status Purge(const std::string& uuid) override;
  bool HasDiscarded(const std::string& uuid) override;
  absl::Status RequireOnlyOwn(const std::string& uuid) override;
  absl::StatusOr<os::BlockDevice> Map(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const pool::VolumeRecord& record) override;
  absl::Status RefreshDevice(const pool::VolumeRecord& record) override;
  absl::Status RequireUnused(const pool::VolumeRecord& record) override;
  absl::Status Unmap(const pool::VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const pool::VolumeRecord& record) override;

 private:
  ImageDevices& devices_;

  // file_volumes_copies.cc
  absl::Status CloneQuietly(const pool::VolumeRecord& source, int source_fd, int directory_fd);
  absl::Status CopyFrozen(const pool::VolumeRecord& source, const pool::VolumeRecord& record,
                          int source_fd, int directory_fd);
  absl::Status RequireShortFreeze(const pool::VolumeRecord& source, int source_fd);
  void MeasureCopyRate(const pool::VolumeRecord& source, int source_fd);
  // Has on the device what was written through a mounted filesystem, and holds back its writers if
  // `freeze` is set and they can be.
  absl::StatusOr<Held> Hold(const pool::VolumeRecord& source, bool freeze);
  static absl::Status MakeRoom(const pool::VolumeRecord& source, const pool::VolumeRecord& record,
                               int source_fd, int directory_fd);
  bool CanShareBlocks();

  const VerifiedPool& pool_;
  const Quiesce quiesce_;
  CopyRate& copy_rate_;
  std::atomic<Bytes>& unshared_;
  const CutOptions cut_;
  const bool has_copies_;
  std::optional<bool> can_share_{};  // not looked at yet
  ImageBytes bytes_;
};

}  // namespace holdfast::file
