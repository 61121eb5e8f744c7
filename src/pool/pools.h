// SPDX-License-Identifier: Apache-2.0
// The pools of this process, and which of them owns a volume.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "os/device_owner.h"
#include "pool/pool.h"
#include "pool/questions.h"

namespace holdfast::pool {

// Whether a call must bring the credentials of a pool that needs some.
enum class Credentials {
  kRequired,
  kOptional,  // a call without secrets uses the most recent ones that worked
};

// The pool accessed with the call's credentials. Errors as Pool::WithCredentials.
[[nodiscard]] absl::StatusOr<Pool*> AccessPool(Pool& pool, const Secrets& secrets,
                                               Credentials credentials);

// Filled at start, before the CallRunner lets any call through to it, then only read: thread-safe.
class Pools final {
 public:
  // `devices` is how all kinds of pools prove theirs, those without a pool here included.
  explicit Pools(os::DeviceOwners devices = {}) : devices_(std::move(devices)) {}

  // The first pool added is the default. INVALID_ARGUMENT if there is one of that name.
  [[nodiscard]] absl::Status Add(std::unique_ptr<Pool> pool);

  // The pool of that name, the default one for an empty name.
  // INVALID_ARGUMENT if there is none, with the names there are.
  [[nodiscard]] absl::StatusOr<Pool*> Find(const std::string& name) const;

  struct Located {
    VolumeId id;
    Pool* pool;
  };
  // The pool that owns a volume, whether or not the volume exists.
  //   NOT_FOUND            Holdfast never made such an id
  //   FAILED_PRECONDITION  the pool is not configured here, or the bytes are on another node: this
  //                        process cannot know whether the volume exists
  [[nodiscard]] absl::StatusOr<Located> Locate(const std::string& volume_id) const;

  // The same, with the pool accessed with the call's credentials. Errors as Pool::WithCredentials,
  // too.
  [[nodiscard]] absl::StatusOr<Located> LocateAs(const std::string& volume_id,
                                                 const Secrets& secrets,
                                                 Credentials credentials) const;

  // Up to `limit` (0: all) volumes of all pools after the volume id `after` (empty: from the
  // start), by id, so that pages stay stable while volumes come and go. Errors as Pool::List.
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> List(const std::string& after,
                                                         std::size_t limit) const;

  // The same of snapshots; `after` is where one is, as VolumeId::ToString.
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after,
                                                                  std::size_t limit) const;

  // The condition of each of these volumes, which List gave; of a pool that hangs, that it does.
  // INVALID_ARGUMENT if a pool is unknown.
  [[nodiscard]] absl::StatusOr<std::vector<VolumeCondition>> Conditions(
      std::span<const Volume> volumes) const;

  [[nodiscard]] std::vector<Pool*> all() const;  // by name

  [[nodiscard]] const os::DeviceOwners& devices() const { return devices_; }

  // For callers that ask several pools.
  [[nodiscard]] const Questions& questions() const { return questions_; }

 private:
  using ListOfPool = absl::StatusOr<std::vector<Volume>> (Pool::*)(const std::string&, std::size_t);
  [[nodiscard]] absl::StatusOr<std::vector<Volume>> ListWith(ListOfPool list,
                                                             const std::string& after,
                                                             std::size_t limit) const;

  std::map<std::string, std::unique_ptr<Pool>> pools_;
  Pool* default_ = nullptr;
  const os::DeviceOwners devices_;
  Questions questions_;
};

}  // namespace holdfast::pool
