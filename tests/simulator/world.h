// SPDX-License-Identifier: Apache-2.0
// One schedule: users and an orchestrator create, format, write, grow and delete a few volumes,
// concurrently and repeatedly, through the product's VolumeLifecycle, while errors, kills, power
// cuts and restored backups happen. The promises of docs/on-disk.md are checked after every step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pool/volume_lifecycle.h"
#include "simulator/copied_volumes.h"

namespace holdfast::simulator {

// A UUID of these two numbers.
[[nodiscard]] std::string UuidOf(std::uint64_t high, std::uint64_t low);

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
    std::vector<Content> history = {};  // what its bytes have held, one after the other
    // Of a copy: its source among the claims; nothing if the bytes come from another pool.
    std::optional<std::size_t> source = {};
    std::size_t since = 0;  // in the source's history: when the creation began
    bool complete = false;  // the creation was seen to be over
    bool arriving = false;  // its bytes are being brought
    bool is_void = false;   // its source changed while it was copied
    bool tainted = false;   // its source has an old record
    [[nodiscard]] bool is_snapshot() const { return spec.role == VolumeRole::kSnapshot; }
    [[nodiscard]] bool is_copy() const { return spec.source.has_value(); }
    [[nodiscard]] bool is_member() const { return spec.group.has_value(); }
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

  // world_copies.cc
  void AddCopies(std::uint64_t seed);
  void ActOnCopy(Claim& claim);
  void CreateCopy(Claim& claim);
  void Arrive(Claim& claim);
  absl::Status Bring(Claim& claim);
  void Lock(Claim& claim);
  void Adopt(Call& call, Claim& claim, const pool::VolumeRecord& record);
  void WriteOutside(Claim& claim);
  void Observe();
  void Observe(Claim& claim);
  void ObserveSource(Claim& claim, const pool::VolumeRecord& record);
  void CheckCopy(Claim& claim, const Image& image);
  void Offer();
  [[nodiscard]] pool::VolumeRecord* RecordOf(const Claim& claim);
  [[nodiscard]] bool MayBeLeft(const pool::VolumeRecord& record);
  [[nodiscard]] static Bytes PromisedTo(const pool::VolumeRecord& record, const Image* image);
  void Quiesce();

  // world_groups.cc
  void AddGroup(std::uint64_t seed);
  void ActOnGroup(Claim& claim);
  void CutGroup();
  absl::Status Cut();
  absl::StatusOr<bool> Decide();
  void DeleteGroup();
  bool RepairMember(Claim& claim);
  void CheckGroup(bool at_rest);
  [[nodiscard]] std::vector<Claim*> Members();
  [[nodiscard]] bool IsThere(const Claim& claim);

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
  bool can_share_ = false;
  bool is_partial_ = false;       // a member of the group was deleted alone
  std::vector<Content> offered_;  // by a snapshot in another pool, and by its successors
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
