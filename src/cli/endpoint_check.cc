// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoint_check.h"

#include "cli/connection.h"
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

}  // namespace holdfast::cli
