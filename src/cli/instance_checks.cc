// SPDX-License-Identifier: Apache-2.0
#include "cli/instance_checks.h"

#include "cli/connection.h"
#include "proto/admin.grpc.pb.h"
#include "proto/csi.grpc.pb.h"

namespace holdfast::cli {
namespace {

using csi::v1::Identity;

struct Answer {
  std::string driver;  // "csi.holdfast.dev 0.1.0"
  bool ready = false;
};

absl::StatusOr<Answer> Ask(Identity::Stub& stub) {
  ASSIGN_OR_RETURN(const auto info,
                   Call(stub, &Identity::Stub::GetPluginInfo, csi::v1::GetPluginInfoRequest()));
  ASSIGN_OR_RETURN(const auto probe, Call(stub, &Identity::Stub::Probe, csi::v1::ProbeRequest()));
  return Answer{fmt::format("{} {}", info.name(), info.vendor_version()), probe.ready().value()};
}

using admin::v1::Admin;

constexpr char kWhy[] =
    "it was begun and not ended; what cannot be proved to be Holdfast's own and unwanted is left "
    "alone";

}  // namespace

Finding CheckEndpoint(const std::string& endpoint) {
  Finding finding{.what = fmt::format("socket {}", endpoint),
                  .why = "a second instance on the same socket refuses to start"};
  const auto channel = Connect(endpoint);
  if (absl::IsNotFound(channel.status()) || absl::IsUnavailable(channel.status())) {
    finding.found = "free: no instance answers";
    return finding;
  }
  const absl::StatusOr<Answer> answer =
      channel.ok() ? Ask(*Identity::NewStub(*channel)) : channel.status();
  if (answer.ok()) {
    finding.found = fmt::format("{} answers and is {}", answer->driver,
                                answer->ready ? "ready" : "still recovering");
    return finding;
  }
  finding.level = FindingLevel::kMissing;
  finding.found = MessageOf(answer.status());
  finding.remedy = channel.ok() ? "do what the instance says and look at its log"
                                : "stop what is there, or use another endpoint";
  return finding;
}

std::vector<Finding> CheckLeftovers(const std::string& endpoint) {
  const auto channel = Connect(endpoint);
  if (!channel.ok()) return {};
  const auto stub = Admin::NewStub(*channel);
  admin::v1::ListRequest request;
  request.set_own(true);
  const auto answer = CallForParts(*stub, &Admin::Stub::ListLeftovers, request);
  if (!answer.ok()) return {};
  std::vector<Finding> findings;
  for (const admin::v1::Leftover& leftover : answer->leftovers()) {
    findings.push_back({.level = FindingLevel::kWarning,
                        .what = fmt::format("{} of {}", leftover.kind(), leftover.subject()),
                        .found = fmt::format("since {}: {}", leftover.since(), leftover.problem()),
                        .why = kWhy,
                        .remedy = leftover.remedy()});
  }
  if (findings.empty()) {
    findings.push_back({.what = "leftovers",
                        .found = fmt::format("none (looked {} times)", answer->rounds()),
                        .why = kWhy});
  }
  return findings;
}

}  // namespace holdfast::cli
