// SPDX-License-Identifier: Apache-2.0
#include "rbd/retained.h"

#include "rbd/omap.h"

namespace holdfast::rbd {
namespace {

constexpr char kObject[] = "holdfast.retained";
constexpr std::size_t kRetainedPage = 500;  // pairs of one read

}  // namespace

absl::Status NoteRetained(const CephPool& pool, const std::string& name, const std::string& id) {
  return ChangeOmap(pool, kObject, {.guards = {}, .values = {{name, id}}, .removals = {}},
                    fmt::format("note that '{}' is still needed", name))
      .status;
}

absl::StatusOr<std::map<std::string, std::string>> ListRetained(const CephPool& pool) {
  std::map<std::string, std::string> retained;
  for (bool more = true; more;) {
    const std::string after = retained.empty() ? "" : retained.rbegin()->first;
    ASSIGN_OR_RETURN(auto page, ListOmap(pool, kObject, after, kRetainedPage, more));
    if (page.empty()) break;
    retained.merge(page);
  }
  return retained;
}

absl::StatusOr<std::string> RetainedIdOf(const CephPool& pool, const std::string& name) {
  ASSIGN_OR_RETURN(auto found, ReadOmap(pool, kObject, {name}));
  return found[name];
}

absl::Status ForgetRetained(const CephPool& pool, const std::string& name) {
  return ChangeOmap(pool, kObject, {.guards = {}, .values = {}, .removals = {name}},
                    fmt::format("forget '{}', which is gone", name))
      .status;
}

absl::Status ImageWasReplaced(const std::string& image, const std::string& id,
                              const std::string& noted) {
  return FailedPrecondition(
      "image '{}' has id {}, and had {} when it was noted: it was replaced, and is left alone; if "
      "it "
      "is not needed, remove it: rbd rm",
      image, id, noted);
}

}  // namespace holdfast::rbd
