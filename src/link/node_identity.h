// SPDX-License-Identifier: Apache-2.0
// Whether a peer may speak for the node that it says it is.
#pragma once

#include <grpcpp/security/auth_context.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "link/node_token.h"
#include "link/token_keys.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// What the peer's certificate names: its common name and alternative names.
[[nodiscard]] std::vector<std::string> CertificateNames(const grpc::AuthContext& context);

// Thread-safe; called on gRPC's threads, so nothing here waits. The peer's certificate is of the
// right CA already: the handshake saw to that.
class NodeIdentity {
 public:
  virtual ~NodeIdentity() = default;
  // `certificate_names` are the peer's common name and alternative names. PERMISSION_DENIED when it
  // is another node, or as NodeOfToken says.
  [[nodiscard]] virtual absl::Status Check(const std::vector<std::string>& certificate_names,
                                           const v1::Register& message) = 0;
};

// Outside Kubernetes: each node has a certificate of its own, which names it.
class CertificateIdentity final : public NodeIdentity {
 public:
  [[nodiscard]] absl::Status Check(const std::vector<std::string>& certificate_names,
                                   const v1::Register& message) override;
};

// In Kubernetes: the nodes' pods share a certificate, and each has a token that names its node.
class TokenIdentity final : public NodeIdentity {
 public:
  // `keys_source` as TokenKeys has it.
  TokenIdentity(std::string keys_source, TokenPolicy policy)
      : policy_(std::move(policy)), keys_(std::move(keys_source)) {}
  [[nodiscard]] absl::Status Check(const std::vector<std::string>& certificate_names,
                                   const v1::Register& message) override;

 private:
  const TokenPolicy policy_;
  TokenKeys keys_;
};

}  // namespace holdfast::link
