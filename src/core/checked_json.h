// SPDX-License-Identifier: Apache-2.0
// JSON files with a checksum: every byte matters in a record that decides whether data may be
// formatted or deleted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast {

// The object as indented text, with the schema version and the CRC-32 of the rest added as
// "version" and "crc32".
[[nodiscard]] std::string EncodeChecked(nlohmann::json object, int version);

// The object without "version" and "crc32". INTERNAL when the text is not a JSON object, has
// another version, or does not match its checksum. `what` names the file in errors.
[[nodiscard]] absl::StatusOr<nlohmann::json> DecodeChecked(std::string_view text, int version,
                                                           std::string_view what);

}  // namespace holdfast
