// SPDX-License-Identifier: Apache-2.0
#include "link/token_keys.h"

#include <httplib.h>

#include "core/log.h"
#include "core/start_thread.h"
#include "core/text_file.h"

namespace holdfast::link {
namespace {

// Where Kubernetes mounts what a pod needs to speak with the API server.
constexpr char kOwnToken[] = "/var/run/secrets/kubernetes.io/serviceaccount/token";
constexpr char kClusterCa[] = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

constexpr std::chrono::minutes kRefresh{5};
constexpr std::chrono::seconds kRetry{2};
constexpr std::chrono::seconds kFetchTime{5};
constexpr std::size_t kMaxBytes = 1 << 20;

absl::StatusOr<std::string> FetchUrl(const std::string& url) {
  const std::size_t path_at = url.find('/', std::string_view("https://").size());
  httplib::Client client(url.substr(0, path_at));
  client.set_ca_cert_path(kClusterCa);
  client.set_connection_timeout(kFetchTime);
  client.set_read_timeout(kFetchTime);
  const auto token = ReadTextFile(kOwnToken);
  if (token.ok()) client.set_bearer_token_auth(*token);
  std::string body;
  const httplib::Result result =
      client.Get(url.substr(path_at), [&](const char* data, std::size_t size) {
        body.append(data, size);
        return body.size() <= kMaxBytes;
      });
  if (!result) return Unavailable("{}", httplib::to_string(result.error()));
  if (result->status != 200) return Unavailable("HTTP status {}", result->status);
  return body;
}

absl::StatusOr<std::string> Fetch(const std::string& source) {
  const auto keys = source.starts_with('/') ? ReadTextFile(source) : FetchUrl(source);
  return keys.ok() ? keys : WithCode(keys.status(), absl::StatusCode::kUnavailable);
}

}  // namespace

TokenKeys::TokenKeys(std::string source)
    : source_(std::move(source)),
      keys_(Unavailable("the cluster's token keys are not fetched yet; try again")),
      thread_(StartThreadOrThrow([this] { Run(); })) {}

TokenKeys::~TokenKeys() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

absl::StatusOr<std::string> TokenKeys::Current() const {
  const MutexLock lock(mutex_);
  return keys_;
}

void TokenKeys::FetchSoon() {
  const MutexLock lock(mutex_);
  wanted_ = true;
  changed_.NotifyAll();
}

void TokenKeys::Run() {
  while (true) {
    absl::StatusOr<std::string> fetched = Fetch(source_);
    MutexLock lock(mutex_);
    const bool failed = !fetched.ok();
    if (failed) {
      const absl::Status why = Annotate(
          fetched.status(), fmt::format("cannot fetch the cluster's token keys from {}", source_));
      // The old keys stay good: a cluster whose API is away has not changed them.
      if (!keys_.ok()) keys_ = why;
      LogWarning("{}", MessageOf(why));
    } else {
      keys_ = std::move(fetched);
    }
    wanted_ = false;
    if (changed_.WaitFor(lock, kRetry,
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; }))
      return;
    if (!failed)
      changed_.WaitFor(lock, kRefresh, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || wanted_;
      });
    if (ending_) return;
  }
}

}  // namespace holdfast::link
