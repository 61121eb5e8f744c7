// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_library.h"

#include <dlfcn.h>

#include <optional>

#include "core/mutex.h"

namespace holdfast::rbd {
namespace {

absl::StatusOr<void*> Load(const char* file, const char* package) {
  // RTLD_LOCAL: nothing of Ceph's may take the place of a symbol of ours, or the other way round.
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  return FailedPrecondition(
      "an rbd pool needs Ceph's client library '{}', which cannot be loaded; install package {} "
      "(Debian): {}",
      file, package, ::dlerror());
}

template <typename Call>
absl::Status Find(void* library, const char* name, Call& call) {
  // The one way to make a function of what dlsym returns (POSIX, dlsym(3)).
  call = reinterpret_cast<Call>(::dlsym(library, name));
  if (call != nullptr) return absl::OkStatus();
  return FailedPrecondition("Ceph's client library has no '{}': it is older than 16.2 (Pacific)",
                            name);
}

absl::StatusOr<CephLibrary> LoadAll() {
  ASSIGN_OR_RETURN(void* const rados, Load("librados.so.2", "librados2"));
  ASSIGN_OR_RETURN(void* const rbd, Load("librbd.so.1", "librbd1"));
  CephLibrary calls;
#define HOLDFAST_FIND_RADOS(name) RETURN_IF_ERROR(Find(rados, #name, calls.name));
  HOLDFAST_RADOS_CALLS(HOLDFAST_FIND_RADOS)
#undef HOLDFAST_FIND_RADOS
#define HOLDFAST_FIND_RBD(name) RETURN_IF_ERROR(Find(rbd, #name, calls.name));
  HOLDFAST_RBD_CALLS(HOLDFAST_FIND_RBD)
#undef HOLDFAST_FIND_RBD
  return calls;
}

}  // namespace

absl::StatusOr<const CephLibrary*> LoadCephLibrary() {
  static Mutex mutex;
  static std::optional<CephLibrary> loaded ABSL_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  if (!loaded) {
    ASSIGN_OR_RETURN(loaded, LoadAll());
  }
  return &*loaded;
}

}  // namespace holdfast::rbd
