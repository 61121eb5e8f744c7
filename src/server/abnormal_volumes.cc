// SPDX-License-Identifier: Apache-2.0
#include "server/abnormal_volumes.h"

#include <vector>

#include "fs/mounted_volumes.h"

namespace holdfast::server {
namespace {

constexpr int kShare = 100;
constexpr char kMounts[] = "";

}  // namespace

std::optional<std::size_t> AbnormalVolumes::Count(pool::Pool& pool) {
  const std::string& name = pool.info().name;
  Refresh(kMounts, [this] { LookAtMounts(); });
  Refresh(name, [this, &pool] { LookAt(pool); });
  const MutexLock lock(mutex_);
  return counts_[name];
}

void AbnormalVolumes::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  std::vector<std::string> keys{kMounts};
  for (const pool::Pool* const pool : pools_.all()) keys.push_back(pool->info().name);
  for (const std::string& key : keys) {
    while (!work_.Await(key).ok()) continue;
  }
}

void AbnormalVolumes::Refresh(const std::string& key, const std::function<void()>& look) {
  {
    const MutexLock lock(mutex_);
    const Look& last = looks_[key];
    if (stopping_ || Clock::now() < last.ended + kShare * last.took) return;
  }
  // If it does not end in time, or another one has not yet, the one before it counts.
  (void)work_.Run(key, "the look at volumes", [this, key, look] {
    const auto start = Clock::now();
    look();
    const auto end = Clock::now();
    const MutexLock lock(mutex_);
    looks_[key] = {.ended = end, .took = end - start};
  });
}

void AbnormalVolumes::LookAtMounts() {
  const auto problems = fs::FindProblems(pools_.devices());
  if (!problems.ok()) return;
  const MutexLock lock(mutex_);
  bad_mounts_.clear();
  for (const auto& [uuid, problem] : *problems) bad_mounts_.insert(uuid);
}

void AbnormalVolumes::LookAt(pool::Pool& pool) {
  const auto count = CountIn(pool);
  const MutexLock lock(mutex_);
  counts_[pool.info().name] = count;
}

std::optional<std::size_t> AbnormalVolumes::CountIn(pool::Pool& pool) const {
  const auto volumes =
      pools_.questions().Put(pool, [](pool::Pool& one) { return one.List("", 0); });
  if (!volumes.ok()) return std::nullopt;
  const auto conditions = pools_.Conditions(*volumes);
  if (!conditions.ok()) return std::nullopt;
  const MutexLock lock(mutex_);
  std::size_t abnormal = 0;
  for (std::size_t i = 0; i < volumes->size(); ++i) {
    const bool is_bad = conditions->at(i).abnormal || bad_mounts_.contains((*volumes)[i].id.uuid);
    if (is_bad) ++abnormal;
  }
  return abnormal;
}

}  // namespace holdfast::server
