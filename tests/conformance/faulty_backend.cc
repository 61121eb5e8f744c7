// SPDX-License-Identifier: Apache-2.0
#include "conformance/faulty_backend.h"

namespace holdfast::conformance {
namespace {

absl::Status StatusIn(const absl::Status& answer) { return answer; }
template <typename Value>
absl::Status StatusIn(const absl::StatusOr<Value>& answer) {
  return answer.status();
}

template <typename Primitive>
auto Pass(Injection& injection, const char* name, Primitive primitive) -> decltype(primitive()) {
  if (!injection.enabled || injection.passed++ != injection.at) return primitive();
  injection.failed = name;
  const bool done = injection.fault == Fault::kErrorDone || injection.fault == Fault::kKillDone;
  if (done) {
    auto answer = primitive();
    if (!StatusIn(answer).ok()) return answer;
  }
  if (injection.fault == Fault::kKill || injection.fault == Fault::kKillDone) throw Killed();
  return Unavailable("{} failed, as injected", name);
}

}  // namespace

using pool::VolumeRecord;

absl::StatusOr<VolumeRecord> FaultyRecords::Read(const std::string& uuid) {
  return Pass(injection_, "Read", [&] { return real_.Read(uuid); });
}
absl::Status FaultyRecords::Insert(const VolumeRecord& record) {
  return Pass(injection_, "Insert", [&] { return real_.Insert(record); });
}
absl::Status FaultyRecords::Replace(const VolumeRecord& present, const VolumeRecord& next) {
  return Pass(injection_, "Replace", [&] { return real_.Replace(present, next); });
}
absl::Status FaultyRecords::Remove(const VolumeRecord& present) {
  return Pass(injection_, "Remove", [&] { return real_.Remove(present); });
}
absl::Status FaultyRecords::SyncName() {
  return Pass(injection_, "SyncName", [&] { return real_.SyncName(); });
}
absl::Status FaultyRecords::SyncAll(const std::string& uuid) {
  return Pass(injection_, "SyncAll", [&] { return real_.SyncAll(uuid); });
}
absl::Status FaultyRecords::RemoveRemains(const std::string& uuid) {
  return Pass(injection_, "RemoveRemains", [&] { return real_.RemoveRemains(uuid); });
}

absl::StatusOr<bool> FaultyBackend::Exist(const VolumeRecord& record) {
  return Pass(injection_, "Exist", [&] { return real_.Exist(record); });
}
absl::StatusOr<Bytes> FaultyBackend::Size(const VolumeRecord& record) {
  return Pass(injection_, "Size", [&] { return real_.Size(record); });
}
absl::StatusOr<bool> FaultyBackend::HoldData(const VolumeRecord& record, Bytes begin) {
  return Pass(injection_, "HoldData", [&] { return real_.HoldData(record, begin); });
}
absl::StatusOr<std::string> FaultyBackend::ReadMark(const VolumeRecord& record) {
  return Pass(injection_, "ReadMark", [&] { return real_.ReadMark(record); });
}
absl::StatusOr<bool> FaultyBackend::IsMarkedCopied(const VolumeRecord& record) {
  return Pass(injection_, "IsMarkedCopied", [&] { return real_.IsMarkedCopied(record); });
}
absl::StatusOr<std::optional<pool::CopyProgress>> FaultyBackend::PlanCopy(
    const VolumeRecord& source, VolumeRole role) {
  return Pass(injection_, "PlanCopy", [&] { return real_.PlanCopy(source, role); });
}
absl::StatusOr<Bytes> FaultyBackend::CopyOn(const VolumeRecord& source,
                                            const VolumeRecord& record) {
  return Pass(injection_, "CopyOn", [&] { return real_.CopyOn(source, record); });
}
absl::Status FaultyBackend::RequireUnchanged(const VolumeRecord& source,
                                             const VolumeRecord& record) {
  return Pass(injection_, "RequireUnchanged",
              [&] { return real_.RequireUnchanged(source, record); });
}
absl::StatusOr<std::string> FaultyBackend::Copy(const VolumeRecord& source,
                                                const VolumeRecord& record) {
  return Pass(injection_, "Copy", [&] { return real_.Copy(source, record); });
}
absl::Status FaultyBackend::MarkCopied(const VolumeRecord& record) {
  return Pass(injection_, "MarkCopied", [&] { return real_.MarkCopied(record); });
}
absl::StatusOr<bool> FaultyBackend::SharesStorage(const VolumeRecord& record) {
  return Pass(injection_, "SharesStorage", [&] { return real_.SharesStorage(record); });
}
absl::StatusOr<bool> FaultyBackend::Unshare(const VolumeRecord& record) {
  return Pass(injection_, "Unshare", [&] { return real_.Unshare(record); });
}
absl::StatusOr<Bytes> FaultyBackend::Occupied(const VolumeRecord& record) {
  return Pass(injection_, "Occupied", [&] { return real_.Occupied(record); });
}
absl::StatusOr<std::string> FaultyBackend::Make(const VolumeRecord& record) {
  return Pass(injection_, "Make", [&] { return real_.Make(record); });
}
absl::Status FaultyBackend::RemoveUnfinished(const VolumeRecord& record) {
  return Pass(injection_, "RemoveUnfinished", [&] { return real_.RemoveUnfinished(record); });
}
absl::Status FaultyBackend::Extend(const VolumeRecord& record, Bytes size) {
  return Pass(injection_, "Extend", [&] { return real_.Extend(record, size); });
}
absl::Status FaultyBackend::CutOff(const VolumeRecord& record, Bytes size) {
  return Pass(injection_, "CutOff", [&] { return real_.CutOff(record, size); });
}
absl::Status FaultyBackend::Sync(const VolumeRecord& record) {
  return Pass(injection_, "Sync", [&] { return real_.Sync(record); });
}
absl::Status FaultyBackend::RequireHeldHere(const VolumeRecord& record) {
  return Pass(injection_, "RequireHeldHere", [&] { return real_.RequireHeldHere(record); });
}
absl::Status FaultyBackend::Zero(const VolumeRecord& record) {
  return Pass(injection_, "Zero", [&] { return real_.Zero(record); });
}
absl::Status FaultyBackend::Mark(const VolumeRecord& record) {
  return Pass(injection_, "Mark", [&] { return real_.Mark(record); });
}
absl::StatusOr<Bytes> FaultyBackend::Allocated(const VolumeRecord& record) {
  return Pass(injection_, "Allocated", [&] { return real_.Allocated(record); });
}
absl::Status FaultyBackend::Discard(const VolumeRecord& record) {
  return Pass(injection_, "Discard", [&] { return real_.Discard(record); });
}
absl::Status FaultyBackend::Purge(const std::string& uuid) {
  return Pass(injection_, "Purge", [&] { return real_.Purge(uuid); });
}
absl::Status FaultyBackend::RequireOnlyOwn(const std::string& uuid) {
  return Pass(injection_, "RequireOnlyOwn", [&] { return real_.RequireOnlyOwn(uuid); });
}
absl::StatusOr<os::BlockDevice> FaultyBackend::Map(const VolumeRecord& record) {
  return Pass(injection_, "Map", [&] { return real_.Map(record); });
}
absl::StatusOr<std::optional<os::BlockDevice>> FaultyBackend::FindDevice(
    const VolumeRecord& record) {
  return Pass(injection_, "FindDevice", [&] { return real_.FindDevice(record); });
}
absl::Status FaultyBackend::RefreshDevice(const VolumeRecord& record) {
  return Pass(injection_, "RefreshDevice", [&] { return real_.RefreshDevice(record); });
}
absl::Status FaultyBackend::RequireUnused(const VolumeRecord& record) {
  return Pass(injection_, "RequireUnused", [&] { return real_.RequireUnused(record); });
}
absl::Status FaultyBackend::Unmap(const VolumeRecord& record) {
  return Pass(injection_, "Unmap", [&] { return real_.Unmap(record); });
}
absl::Status FaultyBackend::UnmapAbandoned(const VolumeRecord& record) {
  return Pass(injection_, "UnmapAbandoned", [&] { return real_.UnmapAbandoned(record); });
}

}  // namespace holdfast::conformance
