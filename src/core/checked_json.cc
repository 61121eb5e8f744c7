// SPDX-License-Identifier: Apache-2.0
#include "core/checked_json.h"

#include <zlib.h>

namespace holdfast {
namespace {

constexpr int kIndent = 2;

std::string ChecksumOf(const nlohmann::json& object) {
  const std::string canonical = object.dump();  // keys are sorted
  const auto* bytes = reinterpret_cast<const Bytef*>(canonical.data());
  return fmt::format("{:08x}", crc32(0, bytes, static_cast<uInt>(canonical.size())));
}

}  // namespace

std::string EncodeChecked(nlohmann::json object, int version) {
  object["version"] = version;
  object["crc32"] = ChecksumOf(object);
  return object.dump(kIndent) + "\n";
}

absl::StatusOr<nlohmann::json> DecodeChecked(std::string_view text, int version,
                                             std::string_view what) {
  nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Internal("{} is damaged: not a JSON object", what);
  const auto field = object.find("version");
  if (field == object.end() || !field->is_number_integer()) {
    return Internal("{} is damaged: no schema version", what);
  }
  if (*field != version) {
    return Internal(
        "{} has schema version {}, this program knows {}; use the version that wrote it", what,
        field->dump(), version);
  }
  const nlohmann::json checksum = object.value("crc32", nlohmann::json());
  object.erase("crc32");
  if (checksum != ChecksumOf(object)) {
    return Internal("{} is damaged: its checksum does not match; restore it from a backup", what);
  }
  object.erase("version");
  return object;
}

}  // namespace holdfast
