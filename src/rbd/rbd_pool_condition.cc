// SPDX-License-Identifier: Apache-2.0
// Whether volumes can do their work: what the cluster says of itself, and what their records and
// images say.
//
// Another process that is at work on a volume makes it look wrong for a moment: it has the image
// open to grow it, or has unmapped it and not recorded that yet. So whatever is found is looked at
// again, and reported only if it is still there and the record is unchanged.
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>

#include "core/call_deadline.h"
#include "rbd/format_mark.h"
#include "rbd/rbd_pool.h"

namespace holdfast::rbd {
namespace {

constexpr std::chrono::seconds kRecheckDelay{1};
constexpr char kNotAsked[] = "not looked at: the Ceph cluster did not answer in time for others";

// Does the work on each of 0 to count - 1, with helpers as long as there are places: most of it is
// waiting. Whoever works has a permit, and gives it back after each piece: calls take turns. The
// work hears if it got none in time.
void ParallelFor(Semaphore& permits, std::size_t count,
                 const std::function<void(std::size_t, bool has_permit)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&](Semaphore::Permit permit) {
    for (std::size_t turn = next++; turn < count; turn = next++) {
      if (permit == nullptr) permit = permits.Acquire(WithinCallDeadline(kStepTime));
      work(turn, permit != nullptr);
      permit.reset();
    }
  };
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < count) {
      Semaphore::Permit permit = permits.Acquire(std::chrono::milliseconds(0));
      if (permit == nullptr) break;
      helpers.emplace_back(take_turns, std::move(permit));
    }
  } catch (const std::system_error&) {
    // The limit of processes is reached: fewer at a time.
  }
  take_turns(nullptr);
}

// Who has the image open, or should have it open, and is not what the record says.
absl::Status RequireKnownClients(const ImageFacts& facts, const RecordEntry& entry) {
  const std::string& image = entry.record.image_name;
  std::vector<std::string> unknown_clients = facts.watchers;
  std::size_t announced = 0;  // nodes that map it now: their clients are not recorded yet
  for (const DeviceClaim& holder : entry.nodes.holders) {
    if (holder.read_only) continue;  // such a client has no watch
    if (holder.client_address.empty()) {
      ++announced;
    } else if (std::erase(unknown_clients, holder.client_address) == 0) {
      return FailedPrecondition(
          "node '{}' has the volume, but its client {} no longer has image '{}' open: the node is "
          "gone, cut off or fenced, or could not yet record that it gave the volume back; another "
          "node may take the volume over",
          holder.node, holder.client_address, image);
    }
  }
  // Whoever grows the image has it open.
  if (unknown_clients.size() <= announced || entry.record.grow_to_bytes != 0)
    return absl::OkStatus();
  return FailedPrecondition(
      "image '{}' is open in clients {}, which no node of Holdfast is recorded to have: they may "
      "write to it, and no node gets the volume meanwhile; one that is gone is forgotten in half a "
      "minute, another is to be ended where it runs, or fenced: ceph osd blocklist add {}",
      image, fmt::join(unknown_clients, ", "), unknown_clients.front());
}

// Of a volume that was formatted, its record says so; while it is being formatted both say it.
absl::Status RequireNewest(const CephPool& ceph, const pool::VolumeRecord& record) {
  if (record.volume.state == VolumeState::kFormatted) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto mark, ReadFormatMark(ceph, record.image_id));
  const bool newest = !mark || *mark == MarkOf(record.volume);
  return newest ? absl::OkStatus() : OlderThanImage(record, *mark);
}

}  // namespace

// What one look at a volume found.
struct RbdPool::Look {
  absl::Status problem = absl::OkStatus();
  // As they were stored; empty if they could not be read.
  std::string record_text = "";
  std::string nodes_text = "";

  [[nodiscard]] bool IsToBeRepeated() const {
    return !problem.ok() && !absl::IsUnavailable(problem);
  }
  // Whether what this one found was there before, too, with no change in between.
  [[nodiscard]] bool Confirms(const Look& earlier) const {
    return record_text == earlier.record_text && nodes_text == earlier.nodes_text;
  }
};

VolumeCondition RbdPool::Condition(const Volume& volume) {
  return Conditions({&volume, 1}).front();
}

std::vector<VolumeCondition> RbdPool::Conditions(std::span<const Volume> volumes) {
  const auto all = [&](const absl::Status& problem) {
    return std::vector<VolumeCondition>(volumes.size(), {true, MessageOf(problem)});
  };
  const auto ceph = Connect();
  if (!ceph.ok()) return all(ceph.status());
  // First: it says why when nothing else is answered, and of monitors that hang no more is asked.
  const auto health = ClusterProblem(**ceph);
  if (absl::IsUnavailable(health.status())) return all(health.status());
  const std::vector<Look> looks = LookAtAll(**ceph, volumes);
  std::vector<VolumeCondition> conditions;
  for (const Look& look : looks) {
    std::vector<std::string> problems;
    if (health.ok() && !health->empty()) {
      problems.push_back(fmt::format("Ceph says of its data: {}", *health));
    }
    if (!look.problem.ok()) problems.push_back(MessageOf(look.problem));
    if (!problems.empty()) {
      conditions.push_back({true, fmt::format("{}", fmt::join(problems, "; "))});
    } else if (health.ok()) {
      conditions.push_back({false, "the storage is intact"});
    } else {
      conditions.push_back({false, fmt::format("the storage is intact; the cluster's health is "
                                               "not known: {}",
                                               MessageOf(health.status()))});
    }
  }
  return conditions;
}

absl::StatusOr<std::string> RbdPool::ClusterProblem(const CephPool& ceph) {
  std::vector<NamedPool> pools = {{ceph.identity().pool_id, ceph.pool_name()}};
  const std::string& data_pool = access_.data_pool;
  if (!data_pool.empty()) {
    pools.push_back(
        {ceph.library().rados_pool_lookup(ceph.cluster().handle(), data_pool.c_str()), data_pool});
  }
  return cluster_problem_.Get([&] { return AskDataProblem(ceph.cluster(), pools); });
}

std::vector<RbdPool::Look> RbdPool::LookAtAll(const CephPool& ceph,
                                              std::span<const Volume> volumes) const {
  std::vector<Look> looks(volumes.size());
  std::atomic<bool> answered{true};
  const auto look_at = [&](std::size_t index, bool has_permit) {
    if (!has_permit || IsPastCallDeadline())
      answered = false;  // the caller's own thread knows that
    if (!answered) return Look{.problem = Unavailable("{}", kNotAsked)};
    Look look = LookAt(ceph, volumes[index].id);
    if (absl::IsUnavailable(look.problem)) answered = false;
    return look;
  };
  Semaphore& permits = common_->look_permits;
  ParallelFor(permits, looks.size(),
              [&](std::size_t i, bool has_permit) { looks[i] = look_at(i, has_permit); });
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (looks[i].IsToBeRepeated()) doubtful.push_back(i);
  }
  if (doubtful.empty()) return looks;
  std::this_thread::sleep_for(WithinCallDeadline(kRecheckDelay));
  ParallelFor(permits, doubtful.size(), [&](std::size_t i, bool has_permit) {
    Look& first = looks[doubtful[i]];
    Look second = look_at(doubtful[i], has_permit);
    if (second.IsToBeRepeated() && !second.Confirms(first)) second.problem = absl::OkStatus();
    first = std::move(second);
  });
  return looks;
}

RbdPool::Look RbdPool::LookAt(const CephPool& ceph, const VolumeId& id) const {
  auto entry = ReadUsable(ceph, id);
  if (absl::IsNotFound(entry.status())) return {};  // deleted since it was listed
  if (!entry.ok()) return {.problem = entry.status()};
  const auto look = [&](absl::Status problem) {
    return Look{std::move(problem), entry->record_text, entry->nodes_text};
  };
  const auto facts = InspectImage(ceph, entry->record.image_name);
  if (!facts.ok()) return look(facts.status());
  absl::Status sound = RequireImage(*facts, entry->record);
  if (sound.ok()) sound = RequireNewest(ceph, entry->record);
  if (sound.ok()) sound = RequireKnownClients(**facts, *entry);
  return look(std::move(sound));
}

}  // namespace holdfast::rbd
