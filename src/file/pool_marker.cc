// SPDX-License-Identifier: Apache-2.0
#include "file/pool_marker.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/checked_json.h"
#include "core/clock.h"
#include "core/volume_id.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

// What mkfs puts there, and what a first start leaves that died before the marker had its name.
constexpr std::array<std::string_view, 3> kHarmless = {"lost+found", kPoolLockName,
                                                       kTemporaryMarkerName};

}  // namespace

absl::StatusOr<PoolMarker> ReadPoolMarker(int directory_fd, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string text, os::ReadFileAt(directory_fd, name));
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kSchemaVersion, "pool marker"));
  try {
    PoolMarker marker{.text = text,
                      .pool_id = object.at("pool_id").get<std::string>(),
                      .filesystem = object.at("filesystem").get<std::string>()};
    if (IsUuid(marker.pool_id)) return marker;
  } catch (const json::exception&) {
  }
  return Internal("pool marker is damaged: no pool id");
}

absl::StatusOr<PoolMarker> WritePoolMarker(int directory_fd, const std::string& pool_id,
                                           const std::string& filesystem) {
  const std::string text = EncodeChecked(
      json{{"pool_id", pool_id}, {"filesystem", filesystem}, {"created_at", NowRfc3339()}},
      kSchemaVersion);
  RETURN_IF_ERROR(os::WriteFileDurably(directory_fd, kPoolMarkerName, text));
  return PoolMarker{.text = text, .pool_id = pool_id, .filesystem = filesystem};
}

absl::StatusOr<std::string> FindForeignName(int directory_fd) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_fd));
  const auto foreign = std::ranges::find_if(names, [](const std::string& name) {
    return std::ranges::find(kHarmless, name) == kHarmless.end();
  });
  return foreign == names.end() ? std::string() : *foreign;
}

}  // namespace holdfast::file
