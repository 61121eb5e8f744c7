// SPDX-License-Identifier: Apache-2.0
// A node's connections to the controller.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace holdfast::link {

// A connection of its own, made when it is first used. A path that is dead is noticed within 15 s.
// `controller` is HOST:PORT.
[[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel(
    const std::string& controller, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace holdfast::link
