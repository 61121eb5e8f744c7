// SPDX-License-Identifier: Apache-2.0
// The calls of librados and librbd that Holdfast makes.
//
// Both libraries are loaded when the first rbd pool needs them and never before: a process without
// such a pool does not carry them (docs/adr/0016). Only their C interface crosses the boundary.
#pragma once

#include <rados/librados.h>
#include <rbd/librbd.h>

#include "core/status.h"

#define HOLDFAST_RADOS_CALLS(CALL)           \
  CALL(rados_blocklist_add)                  \
  CALL(rados_buffer_free)                    \
  CALL(rados_cluster_fsid)                   \
  CALL(rados_conf_read_file)                 \
  CALL(rados_conf_set)                       \
  CALL(rados_connect)                        \
  CALL(rados_create2)                        \
  CALL(rados_create_read_op)                 \
  CALL(rados_create_write_op)                \
  CALL(rados_exec)                           \
  CALL(rados_ioctx_create)                   \
  CALL(rados_ioctx_destroy)                  \
  CALL(rados_ioctx_get_id)                   \
  CALL(rados_ioctx_set_namespace)            \
  CALL(rados_mon_command)                    \
  CALL(rados_omap_get_end)                   \
  CALL(rados_omap_get_next2)                 \
  CALL(rados_pool_lookup)                    \
  CALL(rados_read_op_exec_user_buf)          \
  CALL(rados_read_op_omap_get_vals2)         \
  CALL(rados_read_op_omap_get_vals_by_keys2) \
  CALL(rados_read_op_operate)                \
  CALL(rados_release_read_op)                \
  CALL(rados_release_write_op)               \
  CALL(rados_set_pool_full_try)              \
  CALL(rados_shutdown)                       \
  CALL(rados_write_op_assert_exists)         \
  CALL(rados_write_op_create)                \
  CALL(rados_write_op_exec)                  \
  CALL(rados_write_op_omap_cmp2)             \
  CALL(rados_write_op_omap_rm_keys2)         \
  CALL(rados_write_op_omap_set2)             \
  CALL(rados_write_op_operate2)

#define HOLDFAST_RBD_CALLS(CALL)           \
  CALL(rbd_clone3)                         \
  CALL(rbd_close)                          \
  CALL(rbd_create4)                        \
  CALL(rbd_diff_iterate2)                  \
  CALL(rbd_flatten_with_progress)          \
  CALL(rbd_flush)                          \
  CALL(rbd_get_features)                   \
  CALL(rbd_get_id)                         \
  CALL(rbd_get_size)                       \
  CALL(rbd_image_options_create)           \
  CALL(rbd_image_options_destroy)          \
  CALL(rbd_image_options_set_string)       \
  CALL(rbd_image_options_set_uint64)       \
  CALL(rbd_image_spec_list_cleanup)        \
  CALL(rbd_linked_image_spec_list_cleanup) \
  CALL(rbd_list2)                          \
  CALL(rbd_list_children3)                 \
  CALL(rbd_namespace_exists)               \
  CALL(rbd_open)                           \
  CALL(rbd_open_read_only)                 \
  CALL(rbd_read2)                          \
  CALL(rbd_remove)                         \
  CALL(rbd_resize2)                        \
  CALL(rbd_snap_create2)                   \
  CALL(rbd_snap_get_namespace_type)        \
  CALL(rbd_snap_list)                      \
  CALL(rbd_snap_list_end)                  \
  CALL(rbd_snap_remove_by_id)              \
  CALL(rbd_snap_set_by_id)                 \
  CALL(rbd_watchers_list)                  \
  CALL(rbd_watchers_list_cleanup)          \
  CALL(rbd_write2)

namespace holdfast::rbd {

// Each member is the library's function of that name.
struct CephLibrary {
#define HOLDFAST_DECLARE_CALL(name) decltype(&::name) name = nullptr;
  HOLDFAST_RADOS_CALLS(HOLDFAST_DECLARE_CALL)
  HOLDFAST_RBD_CALLS(HOLDFAST_DECLARE_CALL)
#undef HOLDFAST_DECLARE_CALL
};

// The libraries, loaded by the first call and kept for the life of the process. Thread-safe.
// FAILED_PRECONDITION when one is not installed, or lacks a call: names it and its package. A later
// call tries again.
[[nodiscard]] absl::StatusOr<const CephLibrary*> LoadCephLibrary();

}  // namespace holdfast::rbd
