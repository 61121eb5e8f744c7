// SPDX-License-Identifier: Apache-2.0
#include "server/event_sender.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/log.h"
#include "core/message_text.h"
#include "core/start_thread.h"

namespace holdfast::server {
namespace {

using About = ClusterProblem::About;
using Json = nlohmann::json;

// Events of objects in no namespace are in this one, as those of the kubelet are.
constexpr char kOfNodes[] = "default";
// The API server takes messages of 1 KiB (core/v1 Event).
constexpr std::size_t kMaxMessage = 1024;

std::string PathOf(const ClusterProblem& problem) {
  if (problem.about == About::kNode) return "/api/v1/nodes/" + problem.name;
  return fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", problem.name_space,
                     problem.name);
}

Json ReferenceTo(const ClusterProblem& problem, const std::string& uid) {
  Json object = {{"apiVersion", "v1"}, {"name", problem.name}, {"uid", uid}};
  if (problem.about == About::kNode) {
    object["kind"] = "Node";
  } else {
    object["kind"] = "PersistentVolumeClaim";
    object["namespace"] = problem.name_space;
  }
  return object;
}

// A claim of that name may be another one by now, with another volume.
bool IsOfVolume(const Json& claim, const std::string& persistent_volume) {
  return persistent_volume.empty() ||
         claim.value(Json::json_pointer("/spec/volumeName"), "") == persistent_volume;
}

}  // namespace

EventSender::EventSender(std::string reporter, EventApi api, Find find)
    : reporter_(std::move(reporter)), api_(std::move(api)), find_(std::move(find)) {}

absl::Status EventSender::Start() {
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return absl::OkStatus();
}

void EventSender::Stop() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void EventSender::Run() {
  MutexLock lock(mutex_);
  while (!changed_.WaitFor(lock, kInterval,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; })) {
    lock.Unlock();
    Round();
    lock.Lock();
  }
}

bool EventSender::IsEnding() {
  const MutexLock lock(mutex_);
  return ending_;
}

void EventSender::Round(Clock::time_point now) {
  const std::vector<ClusterProblem> found = find_();
  const std::set<ClusterProblem> problems(found.begin(), found.end());
  std::erase_if(sent_, [&](const auto& entry) { return !problems.contains(entry.first); });
  int sent = 0;
  for (const ClusterProblem& problem : problems) {
    const auto before = sent_.find(problem);
    if (before != sent_.end() && now - before->second < kRepeat) continue;
    if (sent++ == kMostEvents || IsEnding()) return;
    const absl::Status status = Send(problem);
    // The object is gone, or another one has its name: nobody is to be told.
    if (status.ok() || absl::IsNotFound(status)) sent_[problem] = now;
    if (!status.ok() && !absl::IsNotFound(status) && status != last_) {
      LogWarning("events cannot be sent to the API server: {}", MessageOf(status));
    }
    last_ = status;
    if (absl::IsUnavailable(status)) return;  // the next round tries again
  }
}

absl::StatusOr<std::string> EventSender::UidOf(const ClusterProblem& problem) const {
  ASSIGN_OR_RETURN(const std::string body, api_.get(PathOf(problem)));
  const Json object = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Unavailable("the API server's answer is no JSON object");
  try {
    if (problem.about == About::kClaim && !IsOfVolume(object, problem.persistent_volume)) {
      return NotFound("claim '{}' has another volume now", problem.name);
    }
    return object.at("metadata").at("uid").get<std::string>();
  } catch (const Json::exception& error) {
    return Unavailable("the API server's answer: {}", error.what());
  }
}

absl::Status EventSender::Send(const ClusterProblem& problem) {
  ASSIGN_OR_RETURN(const std::string uid, UidOf(problem));
  const std::string name_space = problem.about == About::kNode ? kOfNodes : problem.name_space;
  const std::string now = NowRfc3339();
  const Json event = {{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"generateName", "holdfast-"}, {"namespace", name_space}}},
                      {"involvedObject", ReferenceTo(problem, uid)},
                      {"type", "Warning"},
                      {"reason", problem.reason},
                      {"message", MessageText(problem.message).substr(0, kMaxMessage)},
                      {"source", {{"component", reporter_}}},
                      {"reportingComponent", reporter_},
                      {"firstTimestamp", now},
                      {"lastTimestamp", now},
                      {"count", 1}};
  return api_.post(fmt::format("/api/v1/namespaces/{}/events", name_space),
                   event.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace holdfast::server
