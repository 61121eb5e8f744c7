// SPDX-License-Identifier: Apache-2.0
#include "link/cluster_api.h"

#include <absl/strings/ascii.h>

#include "core/text_file.h"
#include "link/https_request.h"

namespace holdfast::link {
namespace {

// Where Kubernetes mounts what a pod needs to speak with the API server.
constexpr char kOwnToken[] = "/var/run/secrets/kubernetes.io/serviceaccount/token";
constexpr char kClusterCa[] = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

absl::StatusOr<std::string> Ask(HttpsRequest request) {
  request.ca_file = kClusterCa;
  const auto token = ReadTextFile(kOwnToken);
  if (token.ok()) request.token = std::string(absl::StripAsciiWhitespace(*token));
  ASSIGN_OR_RETURN(HttpsAnswer answer, Send(request));
  if (answer.status >= 200 && answer.status < 300) return std::move(answer.body);
  const std::string text = fmt::format("HTTP status {}", answer.status);
  if (answer.status == 404) return NotFound("{}", text);
  if (answer.status == 401 || answer.status == 403) {
    return MakeStatus(absl::StatusCode::kPermissionDenied, text);
  }
  return Unavailable("{}", text);
}

}  // namespace

absl::StatusOr<std::string> ClusterApi::Get(const std::string& path) const {
  return Ask({.server = server_, .path = path});
}

absl::Status ClusterApi::Post(const std::string& path, const std::string& json) const {
  return Ask({.server = server_, .path = path, .json = json}).status();
}

}  // namespace holdfast::link
