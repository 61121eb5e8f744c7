// SPDX-License-Identifier: Apache-2.0
// The simulator's pools conform, so its findings hold for real pools.
#include "conformance/conformance.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/volume_id.h"
#include "simulator/cluster_volumes.h"
#include "simulator/memory_volumes.h"

namespace holdfast::conformance {
namespace conformance_test {

class NoFaults final : public simulator::Faults {
 public:
  simulator::Fault At(const char*, const std::string&) override { return simulator::Fault::kNone; }
  void After(simulator::Fault) override {}
};

// A disk that one process serves.
class MemoryUnderTest final : public PoolUnderTest {
 public:
  explicit MemoryUnderTest(Provisioning provisioning) : provisioning_(provisioning) {
    machine_.total = 64 * kMiB;
  }

  std::unique_ptr<CallObjects> NewCall() override {
    struct Objects final : CallObjects {
      explicit Objects(MemoryUnderTest& pool)
          : own_records(pool.machine_, pool.listed_, pool.no_faults_),
            own_backend(pool.machine_, pool.no_faults_),
            own_space(pool.machine_, *pool.ledger_) {}
      pool::VolumeRecords& records() override { return own_records; }
      pool::VolumeBackend& backend() override { return own_backend; }
      pool::VolumeSpace& space() override { return own_space; }
      simulator::MemoryRecords own_records;
      simulator::MemoryBackend own_backend;
      simulator::MemorySpace own_space;
    };
    return std::make_unique<Objects>(*this);
  }
  std::string NewUuid() override { return RandomUuid(); }
  void RestartProcess() override {
    listed_.clear();
    ledger_ = std::make_unique<pool::Ledger>(kPolicy);
  }
  [[nodiscard]] Provisioning provisioning() const override { return provisioning_; }
  [[nodiscard]] bool HasDevices() const override { return true; }
  void WriteByte(const pool::VolumeRecord& record, Bytes offset) override {
    simulator::Image& image = *machine_.volumes.at(record.volume.id.uuid)->now.image;
    image.content.end = std::max(image.content.end, offset + 1);
  }
  std::string Remains() override {
    std::string names;
    for (const auto& [uuid, directory] : machine_.volumes) names += " volume " + uuid;
    for (const auto& [uuid, directory] : machine_.trash) names += " trash " + uuid;
    for (const auto& [uuid, device] : machine_.devices) names += " device " + uuid;
    for (const std::string& uuid : listed_) names += " listed " + uuid;
    if (ledger_->Provisioned(provisioning_) != 0) names += " space";
    return names;
  }

 private:
  static constexpr pool::SpacePolicy kPolicy{
      .reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};
  const Provisioning provisioning_;
  NoFaults no_faults_;
  simulator::Machine machine_;
  std::set<std::string> listed_;
  std::unique_ptr<pool::Ledger> ledger_ = std::make_unique<pool::Ledger>(kPolicy);
};

// A pool that several processes share; this is one of them.
class ClusterUnderTest final : public PoolUnderTest {
 public:
  ClusterUnderTest() { cluster_.room = 64 * kMiB; }

  std::unique_ptr<CallObjects> NewCall() override {
    struct Objects final : CallObjects {
      explicit Objects(ClusterUnderTest& pool)
          : own_records(pool.cluster_, pool.no_faults_),
            own_backend(pool.cluster_, 0, pool.devices_.front(), own_records, pool.devices_,
                        pool.alive_, pool.no_faults_),
            own_space(pool.cluster_) {}
      pool::VolumeRecords& records() override { return own_records; }
      pool::VolumeBackend& backend() override { return own_backend; }
      pool::VolumeSpace& space() override { return own_space; }
      simulator::ClusterRecords own_records;
      simulator::ClusterBackend own_backend;
      simulator::ClusterSpace own_space;
    };
    return std::make_unique<Objects>(*this);
  }
  std::string NewUuid() override { return RandomUuid(); }
  void RestartProcess() override {}
  [[nodiscard]] Provisioning provisioning() const override { return Provisioning::kThin; }
  [[nodiscard]] bool HasDevices() const override { return true; }
  void WriteByte(const pool::VolumeRecord& record, Bytes offset) override {
    simulator::Image& image = cluster_.images.at(record.image_name).image;
    image.content.end = std::max(image.content.end, offset + 1);
  }
  std::string Remains() override {
    std::string names;
    for (const auto& [uuid, entry] : cluster_.records) names += " record " + uuid;
    for (const auto& [name, image] : cluster_.images) names += " image " + name;
    for (const auto& [uuid, device] : devices_.front()) names += " device " + uuid;
    return names;
  }

 private:
  NoFaults no_faults_;
  simulator::Cluster cluster_;
  std::vector<simulator::ClusterDevices> devices_ = std::vector<simulator::ClusterDevices>(1);
  const std::vector<bool> alive_ = {true};
};

TEST_CASE("a disk in memory conforms") {
  const auto provisioning = GENERATE(Provisioning::kThin, Provisioning::kThick);
  MemoryUnderTest pool(provisioning);
  CheckContract(pool);
  CheckLivesWithFaults(pool);
}

TEST_CASE("a shared pool in memory conforms") {
  ClusterUnderTest pool;
  CheckContract(pool);
  CheckLivesWithFaults(pool);
}

}  // namespace conformance_test
}  // namespace holdfast::conformance
