// SPDX-License-Identifier: Apache-2.0
#include "controller/capabilities.h"

namespace holdfast::controller {

void AddCapabilities(csi::v1::ControllerGetCapabilitiesResponse& response, bool attach) {
  using Rpc = csi::v1::ControllerServiceCapability::RPC;
  for (const auto type :
       {Rpc::CREATE_DELETE_VOLUME, Rpc::LIST_VOLUMES, Rpc::GET_CAPACITY, Rpc::EXPAND_VOLUME,
        Rpc::VOLUME_CONDITION, Rpc::GET_VOLUME, Rpc::SINGLE_NODE_MULTI_WRITER}) {
    response.add_capabilities()->mutable_rpc()->set_type(type);
  }
  if (attach) {
    response.add_capabilities()->mutable_rpc()->set_type(Rpc::PUBLISH_UNPUBLISH_VOLUME);
  }
}

}  // namespace holdfast::controller
