// SPDX-License-Identifier: Apache-2.0
#include "cli/lost_node.h"

#include <absl/strings/str_split.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace lost_node_test {

using Catch::Matchers::Contains;

constexpr char kDriver[] = "csi.holdfast.dev";
constexpr char kPoolId[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";

std::string HandleOf(const std::string& pool, const std::string& node, int number) {
  return VolumeId{pool, node, fmt::format("0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d{:04}", number)}
      .ToString();
}

struct Scene {
  Scene() {
    inventory.driver = kDriver;
    inventory.connected = {"n2"};
    admin::v1::Pool& pool = *inventory.pools.add_pools();
    pool.set_node("n1");
    pool.set_name("default");
    pool.set_id(kPoolId);
  }

  PersistentVolume& Add(const std::string& pool, const std::string& node, int number) {
    PersistentVolume volume{.name = fmt::format("pvc-{}", number),
                            .driver = kDriver,
                            .handle = HandleOf(pool, node, number),
                            .capacity = "20Gi",
                            .claim = fmt::format("shop/data-db-{}", number)};
    return objects.volumes.emplace_back(volume);
  }
  absl::StatusOr<LostNode> Find(const std::string& node, const std::string& pool = "") const {
    return FindLost(node, pool, objects, inventory);
  }
  // The lines of the script that are commands.
  std::vector<std::string> Commands(const std::string& node, const std::string& pool = "") const {
    const auto lost = Find(node, pool);
    REQUIRE(lost.ok());
    std::vector<std::string> lines = absl::StrSplit(LostNodeScript(*lost), '\n', absl::SkipEmpty());
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("#"); });
    return lines;
  }

  Inventory inventory;
  KubernetesObjects objects;
};

using Lines = std::vector<std::string>;

TEST_CASE("claims are deleted before their pods, and only what is on the lost node") {
  Scene scene;
  scene.Add("default", "n1", 1);
  scene.Add("default", "n2", 2);
  scene.Add("default", "n1", 3).driver = "ebs.csi.aws.com";
  scene.objects.pods = {{.name = "shop/db-1", .node = "n1", .claims = {"shop/data-db-1"}},
                        {.name = "shop/db-2", .node = "n2", .claims = {"shop/data-db-2"}},
                        {.name = "other/db-1", .node = "n1", .claims = {"other/data-db-1"}}};
  CHECK(scene.Commands("n1") == Lines{"kubectl delete node n1",
                                      "kubectl -n shop delete pvc data-db-1 --wait=false",
                                      "kubectl -n shop delete pod db-1 --force --grace-period=0"});
  CHECK_THAT(LostNodeScript(*scene.Find("n1")),
             Contains(fmt::format("{{node: n1, pool: default, id: {}}}", kPoolId)));
}

TEST_CASE("a lost disk leaves the node and its other pools alone, and pods may end in peace") {
  Scene scene;
  scene.inventory.connected.insert("n1");
  scene.Add("default", "n1", 1);
  scene.Add("second", "n1", 2);
  scene.objects.pods = {
      {.name = "shop/db", .node = "n1", .claims = {"shop/data-db-1", "shop/data-db-2"}}};
  CHECK(scene.Commands("n1", "second") == Lines{"kubectl -n shop delete pvc data-db-2 --wait=false",
                                                "kubectl -n shop delete pod db --wait=false"});
  const std::string script = LostNodeScript(*scene.Find("n1", "second"));
  CHECK_THAT(script, Contains("{node: n1, pool: second, id: ?}"));
  CHECK_THAT(script, Contains("holdfast_pool_info"));
}

TEST_CASE("what no claim deletes, and snapshots, have commands of their own") {
  Scene scene;
  scene.Add("default", "n1", 1).is_retained = true;
  scene.Add("default", "n1", 2).claim = "";
  scene.objects.contents = {{.name = "snapcontent-1",
                             .driver = kDriver,
                             .handle = "s:" + HandleOf("default", "n1", 9),
                             .snapshot = "shop/nightly"}};
  CHECK(scene.Commands("n1") ==
        Lines{"kubectl delete node n1", "kubectl -n shop delete pvc data-db-1 --wait=false",
              "kubectl delete pv pvc-2 --wait=false", "kubectl delete pv pvc-1 --wait=false",
              "kubectl -n shop delete volumesnapshot nightly --wait=false"});
  CHECK_THAT(LostNodeScript(*scene.Find("n1")), Contains("The list has no pods"));
}

TEST_CASE("JSON has the commands as arguments") {
  Scene scene;
  scene.Add("default", "n1", 1);
  const auto json = nlohmann::json::parse(LostNodeJson(*scene.Find("n1")));
  CHECK(json["pools"][0]["id"] == kPoolId);
  CHECK(json["volumes"][0]["claim"] == "shop/data-db-1");
  CHECK(json["commands"][0] == Lines{"kubectl", "delete", "node", "n1"});
}

TEST_CASE("a connected node is not lost, and an unknown one is reported") {
  Scene scene;
  CHECK(scene.Find("n2").status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(scene.Find("n3").status().code() == absl::StatusCode::kNotFound);
  CHECK(scene.Find("n1", "second").status().code() == absl::StatusCode::kNotFound);
  CHECK(scene.Find("n1; reboot").status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(scene.Find("n1", "a b").status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(LostNodeScript(*scene.Find("n1")).find("kubectl delete node n1") != std::string::npos);
}

TEST_CASE("no name that Kubernetes does not allow gets into a command") {
  Scene scene;
  const auto refused = [&] { return scene.Find("n1").status().code(); };
  PersistentVolume& volume = scene.Add("default", "n1", 1);
  SECTION("of a PersistentVolume") { volume.name = "pvc-1; reboot"; }
  SECTION("of a claim") { volume.claim = "shop/$(reboot)"; }
  SECTION("of a pod") {
    scene.objects.pods = {{.name = "shop/db\nreboot", .claims = {"shop/data-db-1"}}};
  }
  SECTION("of a snapshot") {
    scene.objects.contents = {{.name = "c",
                               .driver = kDriver,
                               .handle = "s:" + HandleOf("default", "n1", 9),
                               .snapshot = "shop/'"}};
  }
  CHECK(refused() == absl::StatusCode::kInvalidArgument);
}

}  // namespace lost_node_test
}  // namespace holdfast::cli
