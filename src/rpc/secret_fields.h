// SPDX-License-Identifier: Apache-2.0
// What CSI marks as secret in its messages (csi_secret).
#pragma once

#include <google/protobuf/message.h>

namespace holdfast::rpc {

// Clears every field that is marked so, in the message and in all that it contains; and the fields
// that this version does not know, which may be secret too.
void ClearSecrets(google::protobuf::Message& message);

}  // namespace holdfast::rpc
