// SPDX-License-Identifier: Apache-2.0
// What a Holdfast controller can do, with pools of its own or through nodes.
#pragma once

#include "proto/csi.pb.h"

namespace holdfast::controller {

void AddCapabilities(csi::v1::ControllerGetCapabilitiesResponse& response, bool attach);

}  // namespace holdfast::controller
