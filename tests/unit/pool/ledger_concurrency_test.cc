// SPDX-License-Identifier: Apache-2.0
// Many threads reserve, allocate and free at once on a filesystem that only counts.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pool/ledger.h"

namespace holdfast::pool {
namespace ledger_concurrency_test {

constexpr int kThreads = 8;
constexpr Bytes kReserve = 100;
constexpr Bytes kTotal = 1000 + kReserve;
const SpacePolicy kPolicy{
    .reserve_bytes = kReserve, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};

// A filesystem with `kTotal` bytes of space.
class Disk final {
 public:
  Room Measure() {
    const std::lock_guard lock(mutex_);
    return Room{kTotal, kTotal - used_};
  }
  void Allocate(const std::string& uuid, Bytes size) {
    const std::lock_guard lock(mutex_);
    used_ += size;
    allocated_[uuid] += size;
    if (kTotal - used_ < kReserve) overdrawn_ = true;
  }
  void Free(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    used_ -= allocated_[uuid];
    allocated_.erase(uuid);
  }
  std::optional<Bytes> Allocated(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    const auto found = allocated_.find(uuid);
    return found == allocated_.end() ? std::nullopt : std::optional(found->second);
  }
  // Whether the reserve was ever touched.
  [[nodiscard]] bool overdrawn() const { return overdrawn_; }

 private:
  std::mutex mutex_;
  Bytes used_ = 0;
  std::map<std::string, Bytes> allocated_;
  std::atomic<bool> overdrawn_ = false;
};

template <typename Work>
void OnAllThreads(const Work& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
}

TEST_CASE("of many that ask at once, exactly as many are served as fit") {
  for (int round = 0; round < 20; ++round) {
    Ledger ledger(kPolicy);
    std::atomic<Bytes> granted = 0;
    OnAllThreads([&](int thread) {
      for (int i = 0; i < 50; ++i) {
        auto reservation = ledger.Reserve(
            std::to_string(thread) + "-" + std::to_string(i), Provisioning::kThin, 7,
            [] {
              return Room{kTotal, kTotal};
            },
            [](const std::string&) { return std::nullopt; });
        if (!reservation.ok()) continue;
        reservation->Commit();
        granted += 7;
      }
    });
    REQUIRE(granted == 1000 / 7 * 7);
    REQUIRE(ledger.Provisioned(Provisioning::kThin) == granted);
  }
}

// The critical window: one thread's reservation becomes allocated bytes after another thread has
// measured the filesystem and before it decides.
TEST_CASE("creating and deleting thick volumes never touches the reserve") {
  constexpr Bytes kSize = 250;  // four fit, eight ask
  Ledger ledger(kPolicy);
  Disk disk;
  std::atomic<int> made = 0;
  OnAllThreads([&](int thread) {
    const std::string uuid = std::to_string(thread);
    for (int i = 0; i < 500; ++i) {
      auto reservation = ledger.Reserve(
          uuid, Provisioning::kThick, kSize,
          [&] {
            const Room room = disk.Measure();
            std::this_thread::yield();
            return room;
          },
          [&](const std::string& which) { return disk.Allocated(which); });
      if (!reservation.ok()) continue;
      disk.Allocate(uuid, kSize);
      ledger.Set(uuid, Provisioning::kThick, kSize, kSize);
      reservation->Commit();
      ++made;
      disk.Free(uuid);
      ledger.Remove(uuid);
    }
  });
  CHECK_FALSE(disk.overdrawn());
  CHECK(made > kThreads);
  CHECK(ledger.Provisioned(Provisioning::kThick) == 0);
}

TEST_CASE("no promise changes between a look at the filesystem and the decision") {
  const Bytes increment = GENERATE(as<Bytes>(), 10, 2 * kTotal);  // granted; refused after a count
  Ledger ledger(kPolicy);
  std::vector<std::future<Bytes>> others;
  int looks = 0;
  int held_back = 0;
  {
    const auto reservation = ledger.Reserve(
        "a", Provisioning::kThin, increment,
        [&] {
          ++looks;
          others.push_back(std::async(std::launch::async,
                                      [&] { return ledger.Provisioned(Provisioning::kThin); }));
          const auto state = others.back().wait_for(std::chrono::milliseconds(50));
          if (state == std::future_status::timeout) ++held_back;
          return Room{kTotal, kTotal};
        },
        [](const std::string&) { return std::nullopt; });
    CHECK(reservation.ok() == (increment == 10));
    for (std::future<Bytes>& other : others) other.wait();
  }
  CHECK(looks == (increment == 10 ? 1 : 2));
  CHECK(held_back == looks);
}

TEST_CASE("grants given back by many threads leave nothing behind") {
  Ledger ledger(kPolicy);
  ledger.Set("shared", Provisioning::kThin, 10, 0);
  OnAllThreads([&](int thread) {
    for (int i = 0; i < 500; ++i) {
      const std::string uuid = i % 2 == 0 ? "shared" : std::to_string(thread);
      const auto reservation = ledger.Reserve(
          uuid, Provisioning::kThin, 1,
          [] {
            return Room{kTotal, kTotal};
          },
          [](const std::string&) { return std::nullopt; });
      ledger.Recount([](const std::string&) { return Bytes{0}; });
    }
  });
  CHECK(ledger.Provisioned(Provisioning::kThin) == 10);
}

}  // namespace ledger_concurrency_test
}  // namespace holdfast::pool
