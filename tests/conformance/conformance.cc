// SPDX-License-Identifier: Apache-2.0
#include "conformance/conformance.h"

#include <absl/time/clock.h>

#include <catch2/catch.hpp>
#include <functional>

#include "conformance/faulty_backend.h"
#include "core/volume_id.h"
#include "pool/volume_lifecycle.h"
#include "support/outcome.h"

namespace holdfast::conformance {
namespace {

using pool::VolumeRecord;
using test::Value;

constexpr Bytes kSize = 8 * kMiB;
constexpr Bytes kLarger = 12 * kMiB;
constexpr std::uint32_t kSectorSize = 512;
constexpr char kFilesystem[] = "7c0e4f3e-0000-4000-8000-000000000002";

// A shared pool leaves a young creation to the process that may be at it, so an hour passes between
// two calls.
absl::Duration passed;
absl::Time Later() { return absl::Now() + passed; }

VolumeSpec SpecOf(const PoolUnderTest& pool, const std::string& name) {
  VolumeSpec spec;
  spec.name = name;
  spec.capacity.required = kSize;
  spec.provisioning = pool.provisioning();
  spec.filesystem = "ext4";
  return spec;
}

VolumeRecord NewRecordOf(PoolUnderTest& pool, CallObjects& call, const std::string& uuid) {
  VolumeRecord record =
      pool::VolumeLifecycle::NewRecord(SpecOf(pool, "pvc"), uuid, kSize, kSectorSize, absl::Now());
  record.image_name = call.backend().NewName(record, nullptr);
  return record;
}

// One call of a process, with one fault or none.
struct Call {
  Call(PoolUnderTest& pool, Injection& injection)
      : objects(pool.NewCall()),
        records(objects->records(), injection),
        backend(objects->backend(), injection),
        volumes(records, backend, objects->space(), Later) {
    passed += absl::Hours(1);
  }
  std::unique_ptr<CallObjects> objects;
  FaultyRecords records;
  FaultyBackend backend;
  pool::VolumeLifecycle volumes;
};

using Operation = std::function<absl::Status(Call&)>;

absl::Status Perform(PoolUnderTest& pool, const Operation& operation, Injection injection = {}) {
  Call call(pool, injection);
  return operation(call);
}

// As a successor and its reconciler do.
void Recover(PoolUnderTest& pool, const VolumeId& id) {
  pool.RestartProcess();
  REQUIRE_OK(Perform(pool, [&](Call& call) -> absl::Status {
    const auto record = call.records.Read(id.uuid);
    return record.ok() ? call.volumes.Count(id.uuid) : absl::OkStatus();
  }));
  REQUIRE_OK(Perform(pool, [&](Call& call) { return call.volumes.Repair(id).status(); }));
}

struct Step {
  std::string name;
  Operation operation;
  std::function<void()> verify;
};

// The life of one volume, with the fault at primitive `at` of step `faulty`. False once that step
// has fewer primitives.
bool Live(PoolUnderTest& pool, const VolumeId& id, const std::vector<Step>& steps,
          std::size_t faulty, Fault fault, int at) {
  bool struck = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    Injection injection{.fault = fault, .at = i == faulty ? at : -1};
    std::string outcome = "killed";
    bool ended = false;
    try {
      Call call(pool, injection);
      const absl::Status status = step.operation(call);
      ended = status.ok();
      outcome = status.ToString();
    } catch (const Killed&) {
    }
    INFO(fmt::format("fault {} at primitive {} ({}) of '{}': {}", static_cast<int>(fault), at,
                     injection.failed, step.name, outcome));
    struck = struck || !injection.failed.empty();
    if (!ended) {
      REQUIRE_FALSE(injection.failed.empty());
      Recover(pool, id);
      REQUIRE_OK(Perform(pool, step.operation));
    }
    step.verify();
  }
  return struck;
}

}  // namespace

void CheckContract(PoolUnderTest& pool) {
  const std::string uuid = pool.NewUuid();
  const auto call = pool.NewCall();
  pool::VolumeRecords& records = call->records();
  pool::VolumeBackend& backend = call->backend();

  CHECK(absl::IsNotFound(records.Read(uuid).status()));
  VolumeRecord record = NewRecordOf(pool, *call, uuid);
  CHECK(records.Remove(record).ok());
  REQUIRE_OK(records.Insert(record));
  CHECK(Value(records.Read(uuid)) == record);
  if (records.AreShared()) {
    CHECK(absl::IsAlreadyExists(pool.NewCall()->records().Insert(record)));
    REQUIRE_OK(Perform(pool, [&](Call& other) -> absl::Status {
      ASSIGN_OR_RETURN(const VolumeRecord present, other.records.Read(uuid));
      VolumeRecord changed = present;
      changed.grow_to_bytes = kLarger;
      RETURN_IF_ERROR(other.records.Replace(present, changed));
      return other.records.Replace(changed, present);
    }));
    VolumeRecord wrong = record;
    wrong.grow_to_bytes = kLarger;
    CHECK(absl::IsAborted(records.Replace(wrong, record)));
    CHECK(absl::IsAborted(records.Remove(wrong)));
    REQUIRE_OK(records.Read(uuid).status());
  }

  CHECK_FALSE(Value(backend.Exist(record)));
  CHECK(absl::IsFailedPrecondition(backend.Size(record).status()));
  const VolumeRecord allocating = record;
  record.image_id = Value(backend.Make(record));
  record.volume.state = VolumeState::kReady;
  REQUIRE_OK(records.Replace(allocating, record));
  const VolumeRecord stored = record;
  REQUIRE_OK(records.SyncName());
  CHECK(Value(pool.NewCall()->records().Read(uuid)) == record);
  const absl::StatusCode again = backend.Make(record).status().code();
  CHECK((again == absl::StatusCode::kAlreadyExists || again == absl::StatusCode::kAborted));

  CHECK(Value(backend.Exist(record)));
  CHECK(Value(backend.Size(record)) == kSize);
  CHECK_FALSE(Value(backend.HoldData(record, 0)));
  CHECK(Value(backend.ReadMark(record)).empty());
  REQUIRE_OK(backend.Extend(record, kLarger));
  CHECK(Value(backend.Size(record)) == kLarger);
  REQUIRE_OK(backend.Extend(record, kSize));  // never shrinks
  CHECK(Value(backend.Size(record)) == kLarger);
  CHECK_FALSE(Value(backend.HoldData(record, 0)));
  pool.WriteByte(record, kSize);
  CHECK(Value(backend.HoldData(record, 0)));
  CHECK(Value(backend.HoldData(record, kSize)));
  CHECK_FALSE(Value(backend.HoldData(record, kLarger)));
  record.volume.filesystem_uuid = kFilesystem;
  REQUIRE_OK(backend.Mark(record));
  CHECK(Value(backend.ReadMark(record)) == kFilesystem);
  REQUIRE_OK(backend.Mark(record));

  CHECK(backend.RequireUnused(record).ok());
  CHECK(backend.RequireOnlyOwn(uuid).ok());
  if (pool.HasDevices()) {
    const os::BlockDevice device = Value(backend.Map(record));
    CHECK(device.size == kLarger);
    CHECK(Value(backend.Map(record)).number == device.number);
    CHECK(Value(backend.FindDevice(record))->number == device.number);
    REQUIRE_OK(backend.RefreshDevice(record));
    REQUIRE_OK(backend.Unmap(record));
  }
  CHECK_FALSE(Value(backend.FindDevice(record)).has_value());
  REQUIRE_OK(backend.Unmap(record));

  REQUIRE_OK(backend.Discard(record));
  CHECK_FALSE(Value(pool.NewCall()->backend().Exist(record)));
  REQUIRE_OK(backend.Discard(record));
  REQUIRE_OK(records.Remove(stored));
  REQUIRE_OK(backend.Purge(uuid));
  REQUIRE_OK(backend.Purge(uuid));
  CHECK(pool.Remains() == "");
}

void CheckLivesWithFaults(PoolUnderTest& pool) {
  const VolumeId id{.pool = "p", .node = "n", .uuid = pool.NewUuid()};
  const VolumeSpec spec = SpecOf(pool, "pvc");
  const auto record = [&] { return Value(pool.NewCall()->records().Read(id.uuid)); };
  const auto require = [&](VolumeState state, Bytes size) {
    const VolumeRecord now = record();
    CHECK(now.volume.state == state);
    CHECK(now.volume.capacity_bytes == size);
    CHECK(now.grow_to_bytes == 0);
    CHECK(Value(pool.NewCall()->backend().Size(now)) == size);
  };
  std::string filesystem;  // another one with each attempt
  std::vector<Step> steps;
  steps.push_back({"create",
                   [&](Call& call) { return call.volumes.Create(spec, id, kSectorSize).status(); },
                   [&] { require(VolumeState::kReady, kSize); }});
  if (pool.HasDevices()) {
    steps.push_back({"map", [&](Call& call) { return call.volumes.Map(id).status(); },
                     [&] { require(VolumeState::kReady, kSize); }});
    // Formatted by a node, which begins again with another filesystem after a fault.
    steps.push_back({"start formatting",
                     [&](Call& call) { return call.volumes.StartFormatting(id, kFilesystem); },
                     [&] { require(VolumeState::kFormatting, kSize); }});
    steps.push_back({"zero",
                     [&](Call& call) -> absl::Status {
                       RETURN_IF_ERROR(call.volumes.Zero(id));
                       RETURN_IF_ERROR(call.volumes.Map(id).status());
                       filesystem = RandomUuid();
                       return call.volumes.StartFormatting(id, filesystem);
                     },
                     [&] { CHECK_FALSE(Value(pool.NewCall()->backend().HoldData(record(), 0))); }});
    steps.push_back({"finish formatting",
                     [&](Call& call) -> absl::Status {
                       const absl::Status finished = call.volumes.FinishFormatting(id);
                       if (!absl::IsFailedPrecondition(finished)) return finished;
                       ASSIGN_OR_RETURN(const std::string mark, call.volumes.FormattedUuid(id));
                       return mark == filesystem ? absl::OkStatus() : finished;
                     },
                     [&] {
                       require(VolumeState::kFormatted, kSize);
                       CHECK(Value(pool.NewCall()->backend().ReadMark(record())) == filesystem);
                     }});
  }
  const VolumeState last = pool.HasDevices() ? VolumeState::kFormatted : VolumeState::kReady;
  steps.push_back({"grow", [&](Call& call) { return call.volumes.Grow(id, kLarger, 0).status(); },
                   [&] { require(last, kLarger); }});
  steps.push_back({"delete", [&](Call& call) { return call.volumes.Delete(id); },
                   [&] { CHECK(pool.Remains() == ""); }});
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const Fault fault : {Fault::kError, Fault::kErrorDone, Fault::kKill, Fault::kKillDone}) {
      for (int at = 0; Live(pool, id, steps, step, fault, at); ++at) {
      }
    }
  }
}

}  // namespace holdfast::conformance
