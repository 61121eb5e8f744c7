// SPDX-License-Identifier: Apache-2.0
// One schedule: users and an orchestrator create, format, write, grow and delete a few volumes,
// concurrently and repeatedly, through the product's VolumeLifecycle, while errors, kills, power
// cuts and restored backups happen. The promises of docs/on-disk.md are checked after every step.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pool/volume_lifecycle.h"
#include "simulator/memory_volumes.h"

namespace holdfast::simulator {

class World final : public Faults {
 public:
  World(std::uint64_t seed, bool trace);

  // True if every promise was kept; otherwise `problem` has the first broken one.
  bool Run();
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

  Fault At(const char* name, const std::string& uuid) override;
  void After(Fault fault) override;

 private:
  // The knowledge of the orchestrator and the users about a name.
  struct Claim {
    VolumeSpec spec;
    VolumeId id;
    bool created = false;   // CreateVolume said so
    Bytes size = 0;         // the size in the last answer
    bool deleting = false;  // DeleteVolume was called, and has not said OK
    std::string data;       // data that a user has written and synced
    bool restored = false;  // an older record was put in the place of its record
    std::vector<pool::VolumeRecord> backups;
    bool locked = false;
  };
  // The state that dies with the process.
  struct Process {
    explicit Process(const pool::SpacePolicy& policy) : ledger(policy) {}
    pool::Ledger ledger;
    std::set<std::string> listed;
  };
  struct Call;

  void RunCalls();
  void StartProcess();
  void ActAsOrchestrator();
  void Reconcile();
  void Act(Claim& claim);
  void Create(Claim& claim);
  void Delete(Claim& claim);
  void Grow(Claim& claim);
  void Stage(Claim& claim);
  void Unstage(Claim& claim);
  absl::Status Format(Call& call, Claim& claim, const pool::VolumeRecord& record, Image*& image);
  absl::Status Write(Claim& claim);
  void RestoreBackup(Claim& claim);
  void Quiesce();

  // world_checks.cc
  void Check();
  void CheckClaim(const Claim& claim);
  void CheckAccount(const Claim& claim);
  void CheckFiles(const Claim& claim, const Directory::Files& files, bool durable);
  void CheckAtRest();
  void Fail(std::string what);
  void Trace(const std::string& line) const;
  [[nodiscard]] bool Chance(double probability);
  [[nodiscard]] Bytes SomeSize();
  [[nodiscard]] Image* ImageOf(const Claim& claim);

  Random random_;
  const bool trace_;
  pool::SpacePolicy policy_;
  double error_rate_ = 0, kill_rate_ = 0, power_rate_ = 0, backup_rate_ = 0;
  Machine machine_;
  std::vector<Claim> claims_;
  std::unique_ptr<Process> process_;
  Fibers* fibers_ = nullptr;
  bool dead_ = true;      // no process runs
  bool counted_ = false;  // its start is over
  bool quiet_ = false;    // no more faults
  std::string problem_;
  std::uint64_t calls_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace holdfast::simulator
