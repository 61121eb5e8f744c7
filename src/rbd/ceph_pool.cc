// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_pool.h"

#include <cerrno>

#include "core/volume_id.h"

namespace holdfast::rbd {
namespace {

// The name space of pools' identities; the digits that volumes have of them.
constexpr char kIdentities[] = "3f0a6f51-7c4e-4d0b-9a1e-0d2b8c5e7f64";
constexpr std::size_t kOwnDigits = 8;

}  // namespace

std::string PoolNameIn(const std::string& location) {
  return location.substr(0, location.find('/'));
}

std::string NamespaceIn(const std::string& location) {
  const std::size_t slash = location.find('/');
  return slash == std::string::npos ? "" : location.substr(slash + 1);
}

std::string CephPoolIdentity::ToString() const {
  return fmt::format("ceph:{}:{}:{}", cluster, pool_id, name_space);
}

std::string MarkedUuid(const std::string& identity, const std::string& uuid) {
  const std::string own = *UuidOfName(kIdentities, identity);
  return uuid.substr(0, uuid.size() - kOwnDigits) + own.substr(0, kOwnDigits);
}

absl::StatusOr<std::shared_ptr<CephPool>> CephPool::Open(std::shared_ptr<Cluster> cluster,
                                                         const std::string& location) {
  const CephLibrary& library = cluster->library();
  const std::string name = PoolNameIn(location);
  rados_ioctx_t io = nullptr;
  const CallResult opened = cluster->Try(fmt::format("open Ceph pool '{}'", name), [&] {
    return library.rados_ioctx_create(cluster->handle(), name.c_str(), &io);
  });
  if (opened.error == ENOENT) {
    return FailedPrecondition(
        "Ceph cluster {} has no pool '{}'; make it: ceph osd pool create {} && rbd pool init {}",
        cluster->fsid(), name, name, name);
  }
  RETURN_IF_ERROR(opened.status);
  // A full pool is to say so, not to let calls wait for room; and what makes room must work.
  library.rados_set_pool_full_try(io);
  std::shared_ptr<CephPool> pool(new CephPool(std::move(cluster), io, name));
  RETURN_IF_ERROR(pool->EnterNamespace(NamespaceIn(location)));
  return pool;
}

absl::Status CephPool::EnterNamespace(const std::string& name) {
  identity_ = CephPoolIdentity{.cluster = cluster_->fsid(),
                               .pool_id = library().rados_ioctx_get_id(io_),
                               .name_space = name};
  if (name.empty()) return absl::OkStatus();
  bool exists = false;
  const CallResult asked = Try(fmt::format("look for name space '{}'", name), [&] {
    return library().rbd_namespace_exists(io_, name.c_str(), &exists);
  });
  RETURN_IF_ERROR(asked.status);
  if (!exists) {
    return FailedPrecondition(
        "Ceph pool '{}' has no name space '{}'; make it: rbd namespace create {}/{}", pool_name_,
        name, pool_name_, name);
  }
  library().rados_ioctx_set_namespace(io_, name.c_str());
  return absl::OkStatus();
}

CephPool::~CephPool() { library().rados_ioctx_destroy(io_); }

}  // namespace holdfast::rbd
