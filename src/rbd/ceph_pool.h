// SPDX-License-Identifier: Apache-2.0
// A pool of a Ceph cluster, or a name space of one, as a place for objects and images.
#pragma once

#include <memory>
#include <string>

#include "rbd/cluster.h"

namespace holdfast::rbd {

// The pool's permanent identity: a pool that is made again under the same name has another number.
struct CephPoolIdentity {
  std::string cluster;  // fsid
  std::int64_t pool_id = -1;
  std::string name_space;

  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const CephPoolIdentity&, const CephPoolIdentity&) = default;
};

// The UUID of a volume of the pool with that identity, as text: `uuid` with the pool's own eight
// digits at its end, by which it is known whose it is without any record of it (docs/adr/0022).
[[nodiscard]] std::string MarkedUuid(const std::string& identity, const std::string& uuid);

// Thread-safe.
class CephPool final : public std::enable_shared_from_this<CephPool> {
 public:
  // `location` is CEPHPOOL[/NAMESPACE]. FAILED_PRECONDITION when there is no such pool or name
  // space, with how to make it; otherwise as Cluster::Try.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<CephPool>> Open(
      std::shared_ptr<Cluster> cluster, const std::string& location);

  ~CephPool();
  CephPool(const CephPool&) = delete;
  CephPool& operator=(const CephPool&) = delete;

  [[nodiscard]] Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] const CephLibrary& library() const { return cluster_->library(); }
  [[nodiscard]] rados_ioctx_t io() const { return io_; }
  [[nodiscard]] const CephPoolIdentity& identity() const { return identity_; }
  [[nodiscard]] const std::string& pool_name() const { return pool_name_; }

  [[nodiscard]] CallResult Try(const std::string& what, const std::function<int()>& call) const {
    return cluster_->Try(what, call);
  }

 private:
  CephPool(std::shared_ptr<Cluster> cluster, rados_ioctx_t io, std::string pool_name)
      : cluster_(std::move(cluster)), io_(io), pool_name_(std::move(pool_name)) {}
  absl::Status EnterNamespace(const std::string& name);

  const std::shared_ptr<Cluster> cluster_;
  const rados_ioctx_t io_;
  const std::string pool_name_;
  CephPoolIdentity identity_;
};

// The parts of CEPHPOOL[/NAMESPACE].
[[nodiscard]] std::string PoolNameIn(const std::string& location);
[[nodiscard]] std::string NamespaceIn(const std::string& location);

}  // namespace holdfast::rbd
