// SPDX-License-Identifier: Apache-2.0
// Protobuf messages as JSON for scripts.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace holdfast::cli {

// The repeated message field `field_name` of `response` as an indented JSON array. Every field of
// every entry is there, under its name in the .proto file and in its order, empty ones too;
// integers are numbers (protobuf's own mapping makes 64-bit ones strings). Fields are of the kinds
// that proto/admin.proto has: string, int64, bool, and repeated string.
[[nodiscard]] std::string ArrayAsJson(const google::protobuf::Message& response,
                                      const std::string& field_name);

}  // namespace holdfast::cli
