// SPDX-License-Identifier: Apache-2.0
#include "link/cluster_api.h"

#include <httplib.h>

#include <chrono>

#include "core/text_file.h"

namespace holdfast::link {
namespace {

// Where Kubernetes mounts what a pod needs to speak with the API server.
constexpr char kOwnToken[] = "/var/run/secrets/kubernetes.io/serviceaccount/token";
constexpr char kClusterCa[] = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

constexpr std::chrono::seconds kTime{5};
constexpr std::size_t kMaxBytes = 1 << 20;

httplib::Client Connect(const std::string& server) {
  httplib::Client client(server);
  client.set_ca_cert_path(kClusterCa);
  client.set_connection_timeout(kTime);
  client.set_read_timeout(kTime);
  client.set_write_timeout(kTime);
  const auto token = ReadTextFile(kOwnToken);
  if (token.ok()) client.set_bearer_token_auth(*token);
  return client;
}

absl::Status StatusOf(const httplib::Result& result) {
  if (!result) return Unavailable("{}", httplib::to_string(result.error()));
  if (result->status >= 200 && result->status < 300) return absl::OkStatus();
  const std::string text = fmt::format("HTTP status {}", result->status);
  if (result->status == 404) return NotFound("{}", text);
  if (result->status == 401 || result->status == 403) {
    return MakeStatus(absl::StatusCode::kPermissionDenied, text);
  }
  return Unavailable("{}", text);
}

}  // namespace

absl::StatusOr<std::string> ClusterApi::Get(const std::string& path) const {
  httplib::Client client = Connect(server_);
  std::string body;
  const httplib::Result result = client.Get(path, [&](const char* data, std::size_t size) {
    body.append(data, size);
    return body.size() <= kMaxBytes;
  });
  RETURN_IF_ERROR(StatusOf(result));
  return body;
}

absl::Status ClusterApi::Post(const std::string& path, const std::string& json) const {
  httplib::Client client = Connect(server_);
  return StatusOf(client.Post(path, json, "application/json"));
}

}  // namespace holdfast::link
