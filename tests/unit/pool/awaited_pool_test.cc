// SPDX-License-Identifier: Apache-2.0
#include "pool/awaited_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace awaited_pool_test {

using std::chrono::milliseconds;
using test::MemoryPool;

constexpr char kId[] = "11111111-2222-3333-4444-555555555555";
constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
// Long if a test waits for something that happens, short if it waits for something that never
// happens.
constexpr AwaitedPool::Times kPatient{
    .start = milliseconds(60'000), .retry = milliseconds(1), .check = milliseconds(60'000)};
constexpr AwaitedPool::Times kHasty{
    .start = milliseconds(50), .retry = milliseconds(1), .check = milliseconds(50)};

// A door at which a hanging call waits.
class Door {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitVisitor() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

// A pool whose disk stops answering.
class HangingPool final : public Pool {
 public:
  explicit HangingPool(std::shared_ptr<Door> door) : door_(std::move(door)) {}
  const PoolInfo& info() const override { return inner_.info(); }
  absl::Status Recover() override { return absl::OkStatus(); }
  absl::Status CheckReady() override {
    door_->Pass();
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<Leftover>> FindLeftovers() override { return inner_.FindLeftovers(); }
  absl::StatusOr<bool> Repair(const VolumeId& id) override { return inner_.Repair(id); }
  VolumeId IdForName(const std::string& name) const override { return inner_.IdForName(name); }
  absl::StatusOr<Volume> Create(const VolumeSpec& spec) override { return inner_.Create(spec); }
  absl::Status Delete(const VolumeId& id) override { return inner_.Delete(id); }
  absl::StatusOr<Volume> Get(const VolumeId& id) override { return inner_.Get(id); }
  absl::StatusOr<std::vector<Volume>> List(const std::string& after, std::size_t limit) override {
    return inner_.List(after, limit);
  }
  absl::Status DeleteSnapshot(const VolumeId& id) override { return inner_.DeleteSnapshot(id); }
  absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) override { return inner_.GetSnapshot(id); }
  absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after,
                                                    std::size_t limit) override {
    return inner_.ListSnapshots(after, limit);
  }
  absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required, Bytes limit) override {
    return inner_.Grow(id, required, limit);
  }
  absl::StatusOr<PoolCapacity> GetCapacity(Provisioning kind) override {
    return inner_.GetCapacity(kind);
  }
  absl::StatusOr<PoolUsage> GetUsage() override { return inner_.GetUsage(); }
  VolumeCondition Condition(const Volume& volume) override { return inner_.Condition(volume); }
  absl::Status PublishTo(const VolumeId& id, const std::string& node, AccessMode mode) override {
    return inner_.PublishTo(id, node, mode);
  }
  absl::Status UnpublishFrom(const VolumeId& id, const std::string& node) override {
    return inner_.UnpublishFrom(id, node);
  }
  absl::StatusOr<os::BlockDevice> MapDevice(const VolumeId& id, AccessMode mode) override {
    return inner_.MapDevice(id, mode);
  }
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(const VolumeId& id) override {
    return inner_.FindDevice(id);
  }
  absl::Status UnmapDevice(const VolumeId& id) override { return inner_.UnmapDevice(id); }
  absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() override {
    return inner_.ListOwnDevices();
  }
  absl::Status UnmapOwnDevice(const VolumeId& id) override { return inner_.UnmapOwnDevice(id); }
  absl::Status StartFormatting(const VolumeId& id, const std::string& uuid) override {
    return inner_.StartFormatting(id, uuid);
  }
  absl::Status FinishFormatting(const VolumeId& id) override { return inner_.FinishFormatting(id); }
  absl::Status FinishAdoption(const VolumeId& id) override { return inner_.FinishAdoption(id); }
  absl::StatusOr<Volume> TakeOverFilesystem(const VolumeId& id, const std::string& filesystem,
                                            const std::string& filesystem_uuid) override {
    return inner_.TakeOverFilesystem(id, filesystem, filesystem_uuid);
  }
  absl::StatusOr<std::string> FormattedUuid(const VolumeId& id) override {
    return inner_.FormattedUuid(id);
  }
  absl::Status ZeroVolume(const VolumeId& id) override { return inner_.ZeroVolume(id); }

 private:
  MemoryPool inner_{"p", "n1"};
  std::shared_ptr<Door> door_;
};

PoolInfo Known(const std::string& id = kId) {
  return {.id = id,
          .name = "p",
          .kind = "file",
          .location = "/p",
          .node = "n1",
          .default_filesystem = "ext4"};
}

const VolumeId kVolume{"p", "n1", kUuid};

AwaitedPool::Source Opens(std::function<absl::StatusOr<std::unique_ptr<Pool>>(bool)> open) {
  return {.open = std::move(open), .detach = [](const VolumeId&) { return absl::OkStatus(); }};
}

AwaitedPool::Source Fails(absl::Status status) {
  return Opens([status](bool) -> absl::StatusOr<std::unique_ptr<Pool>> { return status; });
}

std::unique_ptr<Pool> Memory() { return std::make_unique<MemoryPool>("p", "n1"); }

TEST_CASE("a pool that is there is served as if it stood alone") {
  AwaitedPool pool(Known(""), Opens([](bool) { return Memory(); }), kPatient);
  REQUIRE_OK(pool.WaitUntilOpened());
  REQUIRE_OK(pool.Recover());
  REQUIRE_OK(pool.CheckReady());
  CHECK(pool.info().id == kId);
  VolumeSpec spec;
  spec.name = "v";
  CHECK(test::Value(pool.Create(spec)).id == pool.IdForName("v"));
  CHECK(test::Value(pool.List("", 0)).size() == 1);
}

TEST_CASE("until it is there, calls are unavailable, and volumes can be detached") {
  std::atomic<int> attempts = 0;
  std::atomic<int> firsts = 0;
  std::atomic<bool> there = false;
  std::atomic<int> detached = 0;
  AwaitedPool pool(Known(),
                   {.open = [&](bool first) -> absl::StatusOr<std::unique_ptr<Pool>> {
                      ++attempts;
                      if (first) ++firsts;
                      if (!there) return FailedPrecondition("is its disk mounted?");
                      return Memory();
                    },
                    .detach =
                        [&](const VolumeId&) {
                          ++detached;
                          return absl::OkStatus();
                        }},
                   kPatient);
  REQUIRE_OK(pool.WaitUntilOpened());
  REQUIRE_OK(pool.Recover());
  CHECK_FAILS(pool.CheckReady(), kUnavailable, "pool 'p' is not served: is its disk mounted?");
  CHECK_FAILS(pool.Get(kVolume).status(), kUnavailable, "is its disk mounted?");
  CHECK_FAILS(pool.List("", 0).status(), kUnavailable, "is its disk mounted?");
  CHECK_FAILS(pool.FindDevice(kVolume).status(), kUnavailable, "is its disk mounted?");
  CHECK(pool.Condition({}).abnormal);
  CHECK(pool.info().id == kId);
  REQUIRE_OK(pool.UnmapDevice(kVolume));
  CHECK(detached == 1);
  there = true;
  while (!pool.CheckReady().ok()) std::this_thread::yield();
  REQUIRE_OK(pool.List("", 0).status());
  CHECK(attempts > 1);
  CHECK(firsts == 1);
}

TEST_CASE("what only a person can put right refuses the start") {
  CHECK_FAILS(AwaitedPool(Known(), Fails(InvalidArgument("x")), kPatient).WaitUntilOpened(),
              kInvalidArgument, "x");
  CHECK_FAILS(AwaitedPool(Known(), Fails(Aborted("x")), kPatient).WaitUntilOpened(), kAborted, "x");
  CHECK_FAILS(AwaitedPool(Known(""), Fails(Internal("x")), kPatient).WaitUntilOpened(), kNotFound,
              "x");
  REQUIRE_OK(AwaitedPool(Known(), Fails(Internal("x")), kPatient).WaitUntilOpened());
}

TEST_CASE("a pool that does not answer delays neither start nor end") {
  const auto door = std::make_shared<Door>();
  {
    AwaitedPool pool(Known(), Opens([door](bool) {
                       door->Pass();
                       return Memory();
                     }),
                     kHasty);
    REQUIRE_OK(pool.WaitUntilOpened());
    REQUIRE_OK(pool.Recover());
    CHECK_FAILS(pool.Get(kVolume).status(), kUnavailable, "does not answer");
  }
  const auto other = std::make_shared<Door>();
  AwaitedPool late(Known(), Opens([other](bool) {
                     other->Pass();
                     return Memory();
                   }),
                   kHasty);
  REQUIRE_OK(late.WaitUntilOpened());
  other->Open();
  while (!late.CheckReady().ok()) std::this_thread::yield();
  door->Open();
}

TEST_CASE("a pool that stops answering is found out once, not by every question") {
  const auto door = std::make_shared<Door>();
  auto times = kPatient;
  times.check = milliseconds(50);
  AwaitedPool pool(Known(), Opens([door](bool) { return std::make_unique<HangingPool>(door); }),
                   times);
  REQUIRE_OK(pool.Recover());
  CHECK_FAILS(pool.CheckReady(), kUnavailable, "does not answer");
  door->AwaitVisitor();
  CHECK_FAILS(pool.CheckReady(), kUnavailable, "does not answer");
  door->Open();
  while (!pool.CheckReady().ok()) std::this_thread::yield();
}

}  // namespace awaited_pool_test
}  // namespace holdfast::pool
