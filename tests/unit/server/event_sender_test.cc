// SPDX-License-Identifier: Apache-2.0
#include "server/event_sender.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/outcome.h"

namespace holdfast::server {
namespace event_sender_test {

using std::chrono::minutes;
using About = ClusterProblem::About;
using Json = nlohmann::json;

constexpr char kNode[] = "/api/v1/nodes/n1";
constexpr char kClaim[] = "/api/v1/namespaces/shop/persistentvolumeclaims/orders";

const ClusterProblem kMissing{.about = About::kNode,
                              .name_space = "",
                              .name = "n1",
                              .persistent_volume = "",
                              .reason = "HoldfastNodeMissing",
                              .message = "it is not connected"};
const ClusterProblem kAbnormal{.about = About::kClaim,
                               .name_space = "shop",
                               .name = "orders",
                               .persistent_volume = "pvc-1",
                               .reason = "HoldfastVolumeAbnormal",
                               .message = "its image is gone"};

struct Fixture {
  Fixture() {
    objects[kNode] = R"({"metadata": {"name": "n1", "uid": "uid-of-n1"}})";
    objects[kClaim] = R"({"metadata": {"uid": "uid-of-orders"}, "spec": {"volumeName": "pvc-1"}})";
  }
  EventApi Api() {
    return {.get = [this](const std::string& path) -> absl::StatusOr<std::string> {
              RETURN_IF_ERROR(failure);
              const auto found = objects.find(path);
              if (found == objects.end()) return NotFound("HTTP status 404");
              return found->second;
            },
            .post = [this](const std::string& path, const std::string& json) -> absl::Status {
              RETURN_IF_ERROR(failure);
              posted.emplace_back(path, Json::parse(json));
              return absl::OkStatus();
            }};
  }
  void Round(minutes after = minutes(0)) { sender.Round(begin + after); }

  const EventSender::Clock::time_point begin = EventSender::Clock::now();
  std::map<std::string, std::string> objects;
  absl::Status failure;
  std::vector<ClusterProblem> problems;
  std::vector<std::pair<std::string, Json>> posted;
  EventSender sender{"csi.holdfast.dev", Api(), [this] { return problems; }};
};

TEST_CASE_METHOD(Fixture, "a problem of a node is an event of the node") {
  problems = {kMissing};
  Round();
  REQUIRE(posted.size() == 1);
  const auto& [path, event] = posted.front();
  CHECK(path == "/api/v1/namespaces/default/events");
  CHECK(event["involvedObject"]["kind"] == "Node");
  CHECK(event["involvedObject"]["uid"] == "uid-of-n1");
  CHECK(event["reason"] == "HoldfastNodeMissing");
  CHECK(event["message"] == "it is not connected");
  CHECK(event["type"] == "Warning");
  CHECK(event["source"]["component"] == "csi.holdfast.dev");
}

TEST_CASE_METHOD(Fixture, "a problem of a claim is an event in its namespace") {
  problems = {kAbnormal};
  Round();
  REQUIRE(posted.size() == 1);
  const auto& [path, event] = posted.front();
  CHECK(path == "/api/v1/namespaces/shop/events");
  CHECK(event["metadata"]["namespace"] == "shop");
  CHECK(event["involvedObject"]["kind"] == "PersistentVolumeClaim");
  CHECK(event["involvedObject"]["namespace"] == "shop");
  CHECK(event["involvedObject"]["uid"] == "uid-of-orders");
}

TEST_CASE_METHOD(Fixture, "a claim that has another volume now, or is gone, is left alone") {
  problems = {kAbnormal};
  objects[kClaim] = R"({"metadata": {"uid": "of-another"}, "spec": {"volumeName": "pvc-2"}})";
  Round();
  objects.erase(kClaim);
  Round(minutes(61));
  CHECK(posted.empty());
}

TEST_CASE_METHOD(Fixture,
                 "a problem that lasts is told once an hour, one that comes back at once") {
  problems = {kMissing};
  Round();
  Round(minutes(59));
  CHECK(posted.size() == 1);
  Round(minutes(60));
  CHECK(posted.size() == 2);
  problems.clear();
  Round(minutes(61));
  problems = {kMissing};
  Round(minutes(62));
  CHECK(posted.size() == 3);
}

TEST_CASE_METHOD(Fixture, "what the API server did not take is sent in the next round") {
  problems = {kMissing, kAbnormal};
  SECTION("it is away") { failure = Unavailable("HTTP status 503"); }
  SECTION("it refuses") { failure = MakeStatus(absl::StatusCode::kPermissionDenied, "403"); }
  Round();
  CHECK(posted.empty());
  failure = absl::OkStatus();
  Round(minutes(2));
  CHECK(posted.size() == 2);
}

TEST_CASE_METHOD(Fixture, "an answer that is no object is no reason to end") {
  problems = {kMissing, kAbnormal};
  for (const char* const body : {"", "[]", "{", "{}", R"({"metadata": 1})", R"({"metadata": {}})",
                                 R"({"metadata": {"uid": 5}, "spec": 1})"}) {
    CAPTURE(body);
    objects[kNode] = objects[kClaim] = body;
    Round();
  }
  CHECK(posted.empty());
}

TEST_CASE_METHOD(Fixture, "a round sends a limited number of events, the next one the others") {
  for (int i = 0; i < EventSender::kMostEvents + 10; ++i) {
    problems.push_back(kMissing);
    problems.back().message = fmt::format("leftover {}", i);
  }
  Round();
  CHECK(static_cast<int>(posted.size()) == EventSender::kMostEvents);
  Round(minutes(2));
  CHECK(posted.size() == problems.size());
}

TEST_CASE("what is wrong is found in the lists, with whom it concerns") {
  admin::v1::ListNodesResponse nodes;
  nodes.add_nodes()->set_state("connected");
  admin::v1::Node& gone = *nodes.add_nodes();
  gone.set_name("n2");
  gone.set_state("missing");
  REQUIRE(ProblemsIn(nodes).size() == 1);
  CHECK(ProblemsIn(nodes).front().name == "n2");

  admin::v1::ListPoolsResponse pools;
  admin::v1::Pool& pool = *pools.add_pools();
  pool.set_name("p");
  pool.set_node("n1");
  pool.set_total_bytes(110 * kGiB);
  pool.set_reserve_bytes(10 * kGiB);
  pool.set_thick_available_bytes(10 * kGiB);
  CHECK(ProblemsIn(pools).empty());
  pool.set_thick_available_bytes(10 * kGiB - 1);
  REQUIRE(ProblemsIn(pools).size() == 1);
  CHECK(ProblemsIn(pools).front().reason == "HoldfastPoolNearlyFull");
  pool.set_problem("not mounted");
  REQUIRE(ProblemsIn(pools).size() == 1);
  CHECK(ProblemsIn(pools).front().reason == "HoldfastPoolNotReady");
  pool.clear_node();
  CHECK(ProblemsIn(pools).empty());

  admin::v1::ListVolumesResponse volumes;
  admin::v1::Volume& volume = *volumes.add_volumes();
  volume.set_node("n1");
  CHECK(ProblemsIn(volumes).empty());
  volume.set_abnormal(true);
  REQUIRE(ProblemsIn(volumes).size() == 1);
  CHECK(ProblemsIn(volumes).front().about == About::kNode);
  volume.set_kubernetes_namespace("shop");
  volume.set_claim("orders");
  REQUIRE(ProblemsIn(volumes).size() == 1);
  CHECK(ProblemsIn(volumes).front().about == About::kClaim);
}

}  // namespace event_sender_test
}  // namespace holdfast::server
