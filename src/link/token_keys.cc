// SPDX-License-Identifier: Apache-2.0
#include "link/token_keys.h"

#include "core/log.h"
#include "core/start_thread.h"
#include "core/text_file.h"
#include "link/cluster_api.h"

namespace holdfast::link {
namespace {

constexpr std::chrono::minutes kRefresh{5};
constexpr std::chrono::seconds kRetry{2};

absl::StatusOr<std::string> FetchUrl(const std::string& url) {
  const std::size_t path_at = url.find('/', std::string_view("https://").size());
  return ClusterApi(url.substr(0, path_at)).Get(url.substr(path_at));
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
