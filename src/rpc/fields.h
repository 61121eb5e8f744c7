// SPDX-License-Identifier: Apache-2.0
// The fields of requests: the checks that the CSI spec makes for every RPC ("Size Limits",
// "Required Fields"), and the secrets among them. All failures are INVALID_ARGUMENT naming the
// field.
#pragma once

#include <google/protobuf/map.h>
#include <google/protobuf/message.h>

#include <string>

#include "core/bytes.h"
#include "core/secrets.h"
#include "core/volume_use.h"
#include "proto/csi.pb.h"

namespace holdfast::rpc {

// Present, and at most 128 bytes.
[[nodiscard]] absl::Status RequireId(const std::string& value, const char* field);

// Present, at most 128 bytes, and free of the control characters that the spec bans from names.
[[nodiscard]] absl::Status RequireName(const std::string& value, const char* field);

// Present; paths may be as long as the system allows.
[[nodiscard]] absl::Status RequirePath(const std::string& value, const char* field);

// At most 4 KiB of keys and values.
[[nodiscard]] absl::Status CheckMap(const google::protobuf::Map<std::string, std::string>& map,
                                    const char* field);

// A call's secrets, to be passed on only in memory.
[[nodiscard]] Secrets SecretsIn(const google::protobuf::Map<std::string, std::string>& map);

// Clears every field that CSI marks as secret (csi_secret), in the message and in all that it
// contains; and the fields that this version does not know, which may be secret too.
void ClearSecrets(google::protobuf::Message& message);

// INVALID_ARGUMENT if it is missing, or longer than a node's id may be (256 bytes).
[[nodiscard]] absl::Status RequireNodeId(const std::string& value);

// What a VolumeCapability asks for. A filesystem that is not supported is answered with
// `unsupported` (the code differs between RPCs); volume_mount_group is not supported. Whether the
// volume's pool serves the access mode is RequireReach's.
[[nodiscard]] absl::StatusOr<VolumeUse> ParseCapability(const csi::v1::VolumeCapability& capability,
                                                        absl::StatusCode unsupported);

}  // namespace holdfast::rpc
