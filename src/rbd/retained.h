// SPDX-License-Identifier: Apache-2.0
// What volumes and snapshots that were deleted have left, because snapshots or clones still need
// it: images, and snapshots of images. No record names it any more, so the object
// "holdfast.retained" does: its omap has for each name, which is as in a record, what the record
// had as its id.
#pragma once

#include <map>
#include <string>

#include "rbd/ceph_pool.h"

namespace holdfast::rbd {

// Notes what is there. OK if it is noted.
[[nodiscard]] absl::Status NoteRetained(const CephPool& pool, const std::string& name,
                                        const std::string& id);

// Ids by name.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ListRetained(const CephPool& pool);

// The id with which it was noted; empty if it was not.
[[nodiscard]] absl::StatusOr<std::string> RetainedIdOf(const CephPool& pool,
                                                       const std::string& name);

// OK if it is not noted.
[[nodiscard]] absl::Status ForgetRetained(const CephPool& pool, const std::string& name);

// FAILED_PRECONDITION: the image has another id than was noted.
[[nodiscard]] absl::Status ImageWasReplaced(const std::string& image, const std::string& id,
                                            const std::string& noted);

}  // namespace holdfast::rbd
