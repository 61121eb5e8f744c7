// SPDX-License-Identifier: Apache-2.0
#include "cli/leftover_checks.h"

#include "cli/connection.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;

constexpr char kWhy[] =
    "it was begun and not ended; what cannot be proved to be Holdfast's own and unwanted is left "
    "alone";

}  // namespace

std::vector<Finding> CheckLeftovers(const std::string& endpoint) {
  const auto channel = Connect(endpoint);
  if (!channel.ok()) return {};
  const auto stub = Admin::NewStub(*channel);
  const auto answer = Call(*stub, &Admin::Stub::ListLeftovers, admin::v1::ListLeftoversRequest());
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
