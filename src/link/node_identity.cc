// SPDX-License-Identifier: Apache-2.0
#include "link/node_identity.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <chrono>

namespace holdfast::link {
namespace {

absl::Status Deny(const std::string& why) {
  return MakeStatus(absl::StatusCode::kPermissionDenied, why);
}

void AddProperties(const grpc::AuthContext& context, const char* property,
                   std::vector<std::string>& names) {
  for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
    names.emplace_back(value.data(), value.size());
  }
}

}  // namespace

std::vector<std::string> CertificateNames(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  if (!context.IsPeerAuthenticated()) return names;
  AddProperties(context, GRPC_X509_CN_PROPERTY_NAME, names);
  AddProperties(context, GRPC_X509_SAN_PROPERTY_NAME, names);
  return names;
}

absl::Status CertificateIdentity::Check(const std::vector<std::string>& certificate_names,
                                        const v1::Register& message) {
  if (std::ranges::find(certificate_names, message.node()) != certificate_names.end()) {
    return absl::OkStatus();
  }
  return Deny(fmt::format("the certificate does not name node '{}'", message.node()));
}

absl::Status TokenIdentity::Check(const std::vector<std::string>&, const v1::Register& message) {
  ASSIGN_OR_RETURN(const std::string keys, keys_.Current());
  const auto node = NodeOfToken(message.token(), keys, policy_, std::chrono::system_clock::now());
  if (absl::IsUnavailable(node.status())) keys_.FetchSoon();
  RETURN_IF_ERROR(node.status());
  if (*node == message.node()) return absl::OkStatus();
  return Deny(
      fmt::format("the token belongs to a pod on node '{}', not '{}'", *node, message.node()));
}

}  // namespace holdfast::link
