// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_adoption.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/audit_deletion.h"
#include "support/audit_scene.h"

namespace holdfast::cli {
namespace audit_adoption_test {

using Catch::Matchers::Contains;
using nlohmann::json;

// A scene in which the owners have all volumes.
struct AdoptionScene : AuditScene {
  admin::v1::Volume& Add(const std::string& node, int number) {
    admin::v1::Volume& volume = AddVolume(node, number);
    owners.volumes[volume.id()] = DescriptionOf(volume.id(), volume.capacity_bytes());
    return volume;
  }

  [[nodiscard]] absl::StatusOr<Adoption> Adopt(const AdoptionChoices& choices = {}) {
    return cli::Adopt(Compare(), objects, choices, owners);
  }

  // Of an adoption that leaves `left_out` volumes out.
  [[nodiscard]] json Items(const AdoptionChoices& choices = {}, std::size_t left_out = 0) {
    const auto adoption = Adopt(choices);
    REQUIRE(adoption.ok());
    CHECK(adoption->left_out.size() == left_out);
    const json list = json::parse(adoption->list);
    CHECK((list["kind"] == "List" && list["apiVersion"] == "v1"));
    return list["items"];
  }
};

TEST_CASE("an adopted volume gets the PersistentVolume that it had") {
  AdoptionScene scene;
  const std::string id = scene.Add("n1", 1).id();
  const json items = scene.Items({.storage_class = "fast"});
  REQUIRE(items.size() == 1);
  CHECK(items[0] == json::parse(R"({
    "apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"name": "pvc-1",
                 "annotations": {"pv.kubernetes.io/provisioned-by": "csi.holdfast.dev"}},
    "spec": {
      "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
      "volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain",
      "storageClassName": "fast",
      "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop",
                   "name": "data-1"},
      "csi": {"driver": "csi.holdfast.dev", "fsType": "ext4",
              "volumeHandle": ")" +
                                id + R"("},
      "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "topology.csi.holdfast.dev/node", "operator": "In", "values": ["n1"]}]}]}}}})"));
}

TEST_CASE("what is printed is what the audit expects") {
  AdoptionScene scene;
  scene.Add("n1", 1);
  scene.Add("n2", 2).set_access_type("block");
  scene.Add("", 3);
  const auto adoption = scene.Adopt();
  REQUIRE(adoption.ok());
  std::istringstream list(adoption->list);
  scene.objects = ParseKubernetesObjects(list).value();
  CHECK(scene.objects.volumes.size() == 3);
  CHECK(scene.Compare().entries.empty());
}

TEST_CASE("a block volume and one that all nodes reach are described as they are") {
  AdoptionScene scene;
  auto& volume = scene.Add("", 1);
  volume.set_access_type("block");
  volume.clear_filesystem();
  const json spec = scene.Items({.access_mode = "ReadWriteMany"})[0]["spec"];
  CHECK(spec["volumeMode"] == "Block");
  CHECK(spec["accessModes"] == json::array({"ReadWriteMany"}));
  CHECK_FALSE(spec["csi"].contains("fsType"));
  CHECK_FALSE(spec.contains("nodeAffinity"));
  CHECK_FALSE(spec.contains("storageClassName"));
}

TEST_CASE("a volume without a certain claim is left out") {
  AdoptionScene scene;
  SECTION("it is not recorded") { scene.Add("n1", 1).clear_claim(); }
  SECTION("another PersistentVolume has the claim") {
    scene.Add("n1", 1);
    scene.objects.volumes.push_back({.name = "nfs", .claim = "shop/data-1"});
  }
  SECTION("the owner does not answer") {
    scene.owners.volumes[scene.Add("n1", 1).id()] = Unavailable("it is away");
  }
  CHECK(scene.Items({}, 1).empty());
}

TEST_CASE("of two volumes for one claim the administrator chooses") {
  AdoptionScene scene;
  scene.Add("n1", 1);
  auto& other = scene.Add("n2", 2);
  other.set_claim("data-1");
  CHECK(scene.Items({}, 2).empty());
  const std::string id = other.id();
  const json items = scene.Items({.claims = {{id, "shop/data-1"}}}, 1);
  REQUIRE(items.size() == 1);
  CHECK(items[0]["spec"]["csi"]["volumeHandle"] == id);
  CHECK(scene.Items({.claims = {{id, "shop/another"}}}).size() == 2);
}

TEST_CASE("a chosen claim must be for a volume that lacks one") {
  AdoptionScene scene;
  scene.Add("n1", 1);
  const auto adoption = scene.Adopt({.claims = {{VolumeOn("n1", 9).id(), "shop/a"}}});
  CHECK(adoption.status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("no name is used twice, and only names of objects are") {
  AdoptionScene scene;
  scene.objects.volumes.push_back({.name = "pvc-1"});
  scene.Add("n1", 1);
  auto& other = scene.Add("n2", 2);
  other.set_persistent_volume("");
  other.set_name("My Volume");
  const json items = scene.Items();
  REQUIRE(items.size() == 2);
  for (const json& item : items) {
    const std::string handle = item["spec"]["csi"]["volumeHandle"];
    CHECK(item["metadata"]["name"] == "holdfast-" + handle.substr(handle.size() - 36));
  }
}

TEST_CASE("a node cannot say from where its volumes are reached") {
  AdoptionScene scene;
  scene.Add("n1", 1);
  scene.owners.has_controller = false;
  CHECK_THAT(MessageOf(scene.Adopt().status()), Contains("ask the controller"));
}

TEST_CASE("claims are chosen by volume") {
  const std::string id = VolumeOn("n1", 1).id();
  CHECK(ParseClaims({id + "=shop/a"}).value() ==
        std::map<std::string, std::string>{{id, "shop/a"}});
  const std::string text = GENERATE_COPY(as<std::string>{}, "", "x=shop/a", id, id + "=",
                                         id + "=shop", id + "=shop/", id + "=Shop/a");
  CAPTURE(text);
  CHECK_FALSE(ParseClaims({text}).ok());
  CHECK_FALSE(ParseClaims({id + "=shop/a", id + "=shop/b"}).ok());
}

TEST_CASE("only old volumes without a PersistentVolume may be deleted") {
  AuditScene scene;
  const std::string old = scene.AddVolume("n1", 1).id();
  auto& young = scene.AddVolume("n1", 2);
  young.set_created_at(TextOf(kNow - absl::Minutes(59)));
  const std::string used = scene.AddVolume("n1", 3).id();
  scene.objects.volumes.push_back(scene.PersistentVolumeOf(VolumeOn("n1", 3)));
  auto& copying = scene.AddVolume("n1", 4);
  copying.set_state("copying");
  auto& timeless = scene.AddVolume("n1", 5);
  timeless.set_created_at("long ago");
  const Audit audit = scene.Compare();
  CHECK(DeleteList(audit, kNow) == "# shop/data-1, 1 GiB, 30d old\n" + old + "\n");
  const auto check = [&](const std::vector<std::string>& ids) {
    return MessageOf(CheckDeletion(audit, scene.inventory, scene.objects, ids, kNow));
  };
  CHECK(CheckDeletion(audit, scene.inventory, scene.objects, {old}, kNow).ok());
  CHECK_THAT(check({old, young.id()}), Contains("younger than 1h"));
  CHECK_THAT(check({used}), Contains("PersistentVolume 'pvc-3' has volume"));
  CHECK_THAT(check({copying.id()}), Contains("is a copy that is not complete"));
  CHECK_THAT(check({timeless.id()}), Contains("younger than 1h"));
  CHECK_THAT(check({VolumeOn("n1", 9).id()}), Contains("is not listed"));
  CHECK_THAT(check({old, old}), Contains("comes twice"));
  CHECK_THAT(check({"s:" + old}), Contains("is not the id of a volume"));
}

}  // namespace audit_adoption_test
}  // namespace holdfast::cli
