// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_objects.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/audit_stream.h"
#include "support/temp_directory.h"

namespace holdfast::cli {
namespace audit_objects_test {

using Catch::Matchers::Contains;

// What csi-provisioner makes, as kubectl prints it.
constexpr char kVolume[] = R"({
  "apiVersion": "v1", "kind": "PersistentVolume",
  "metadata": {
    "annotations": {"pv.kubernetes.io/provisioned-by": "csi.holdfast.dev"},
    "creationTimestamp": "2026-01-31T12:00:00Z", "finalizers": ["kubernetes.io/pv-protection"],
    "name": "pvc-0", "resourceVersion": "1", "uid": "b2a6"},
  "spec": {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "20Gi"},
    "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "orders",
                 "namespace": "shop", "uid": "c2"},
    "csi": {"driver": "csi.holdfast.dev", "fsType": "ext4",
            "volumeAttributes": {"storage.kubernetes.io/csiProvisionerIdentity": "1"},
            "volumeHandle": "default:n1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001"},
    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "topology.csi.holdfast.dev/node", "operator": "In", "values": ["n1"]},
        {"key": "other", "operator": "NotIn", "values": ["n1"]}]}]}},
    "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "holdfast",
    "volumeMode": "Filesystem"},
  "status": {"phase": "Bound"}})";

constexpr char kContent[] = R"({
  "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
  "metadata": {"name": "snapcontent-0", "deletionTimestamp": "2026-01-31T12:00:00Z"},
  "spec": {"driver": "csi.holdfast.dev", "source": {"volumeHandle": "default:n1:x"},
           "volumeSnapshotRef": {"name": "nightly", "namespace": "shop"}},
  "status": {"snapshotHandle": "s:default:n1:x", "readyToUse": true}})";

std::string List(const std::string& items, const std::string& more = "") {
  return R"({"apiVersion": "v1", "items": [)" + items +
         R"(], "kind": "List", "metadata": {"resourceVersion": ""})" + more + "}";
}

absl::StatusOr<KubernetesObjects> Parse(const std::string& text) {
  std::istringstream input(text);
  return ParseKubernetesObjects(input);
}

std::string ProblemOf(const std::string& text) {
  const auto parsed = Parse(text);
  CHECK(parsed.status().code() == absl::StatusCode::kInvalidArgument);
  return MessageOf(parsed.status());
}

TEST_CASE("a PersistentVolume is read as it is") {
  const auto parsed = Parse(List(kVolume));
  REQUIRE(parsed.ok());
  REQUIRE(parsed->volumes.size() == 1);
  const PersistentVolume& volume = parsed->volumes.front();
  CHECK(volume.name == "pvc-0");
  CHECK(volume.driver == "csi.holdfast.dev");
  CHECK(volume.handle == "default:n1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001");
  CHECK(volume.capacity == "20Gi");
  CHECK(volume.claim == "shop/orders");
  CHECK_FALSE(volume.being_deleted);
  REQUIRE(volume.node_terms.size() == 1);
  REQUIRE(volume.node_terms.front().size() == 1);
  CHECK(volume.node_terms.front().front().key == "topology.csi.holdfast.dev/node");
  CHECK(volume.node_terms.front().front().values == std::vector<std::string>{"n1"});
}

TEST_CASE("a list may have contents of snapshots, too, and what is neither is left out") {
  const auto parsed =
      Parse(List(std::string(kVolume) + "," + kContent + "," +
                 R"({"kind": "PersistentVolumeClaim", "metadata": {"name": "x"}})"));
  REQUIRE(parsed.ok());
  CHECK(parsed->volumes.size() == 1);
  REQUIRE(parsed->contents.size() == 1);
  CHECK(parsed->contents.front().handle == "s:default:n1:x");
  CHECK(parsed->contents.front().snapshot == "shop/nightly");
  CHECK(parsed->contents.front().being_deleted);
}

TEST_CASE("pods are read with the claims that they use") {
  const auto parsed = Parse(List(std::string(kVolume) + R"(,{
      "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop"},
      "spec": {"containers": [], "nodeName": "n1", "volumes": [
          {"name": "data", "persistentVolumeClaim": {"claimName": "orders"}},
          {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
          {"name": "config", "configMap": {"name": "db"}}]}})"));
  REQUIRE(parsed.ok());
  REQUIRE(parsed->pods.size() == 1);
  CHECK(parsed->pods.front().name == "shop/db-0");
  CHECK(parsed->pods.front().node == "n1");
  CHECK(parsed->pods.front().claims ==
        std::vector<std::string>{"shop/orders", "shop/db-0-scratch"});
  CHECK_FALSE(parsed->volumes.front().is_retained);
  CHECK_THAT(ProblemOf(List(R"({"kind": "Pod", "metadata": {"name": "x", "namespace": "y"}})")),
             Contains("such as a Pod"));
}

TEST_CASE("the list of the API server is one, without kinds of its items") {
  const auto parsed = Parse(
      R"({"kind": "PersistentVolumeList", "items": [{"metadata": {"name": "nfs"},
          "spec": {"nfs": {"server": "a", "path": "/"}}}], "metadata": {}})");
  REQUIRE(parsed.ok());
  REQUIRE(parsed->volumes.size() == 1);
  CHECK(parsed->volumes.front().driver.empty());
}

TEST_CASE("an empty list is one") {
  CHECK(Parse(List("")).value().volumes.empty());
  CHECK(Parse(R"({"kind": "PersistentVolumeList", "items": null})").value().volumes.empty());
}

TEST_CASE("what is no whole list of PersistentVolumes is refused in one sentence") {
  const auto [text, problem] = GENERATE(table<std::string, std::string>({
      {"", "it is empty"},
      {" \n", "it is empty"},
      {"No resources found", "not JSON from byte 1 on"},
      {"kind: List\nitems: []\n", "not JSON from byte 1 on"},
      {"{}", "has no kind"},
      {"[]", "it is not an object"},
      {"null", "has no kind"},
      {"\"List\"", "it is not an object"},
      {R"({"kind": 5})", "kind is not a text"},
      {R"({"kind": "List"})", "it has no items"},
      {R"({"kind": "List", "items": {}})", "items is not an array"},
      {R"({"kind": "List", "items": [5]})", "is not an object"},
      {R"({"kind": "List", "items": [null]})", "is not an object"},
      {R"({"kind": "List", "items": [[]]})", "is not an object"},
      {R"({"kind": "List", "items": [{}]})", "metadata.name is missing"},
      {R"({"kind": "Status", "message": "Forbidden"})", "but Status"},
      {kVolume, "one PersistentVolume, not the list"},
      {List(R"({"kind": "PersistentVolumeClaim"})"), "such as a PersistentVolumeClaim"},
      {List(R"({"kind": "PersistentVolume", "apiVersion": "example.org/v1"})"), "no PersistentV"},
      {List(kContent), "no PersistentVolumes, but 1 objects of kind VolumeSnapshotContent"},
      {List(R"({"metadata": {"name": "a"}})"), "have no kind"},
      {R"({"kind": "PersistentVolumeList", "items": [], "metadata": {"continue": "abc"}})",
       "one page"},
      {List(kVolume) + "x", "not JSON from byte"},
      {List(kVolume) + List(kVolume), "not JSON from byte"},
  }));
  CAPTURE(text);
  CHECK_THAT(ProblemOf(text), Contains(problem));
}

TEST_CASE("a field of another type is named") {
  const auto [fields, problem] = GENERATE(table<std::string, std::string>({
      {R"("spec": "x")", "'a': spec is not an object"},
      {R"("spec": {"csi": []})", "'a': spec.csi is not an object"},
      {R"("spec": {"csi": {"driver": 1}})", "'a': spec.csi.driver is not a text"},
      {R"("spec": {"csi": {"driver": ["x"]}})", "'a': spec.csi.driver is not a text"},
      {R"("spec": {"csi": {"driver": "d"}})", "'a': spec.csi.volumeHandle is missing"},
      {R"("spec": {"csi": {"volumeHandle": "d"}})", "'a': spec.csi.driver is missing"},
      {R"("spec": {"capacity": {"storage": 5}})", "'a': spec.capacity.storage is not a text"},
      {R"("spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": {}}}})",
       "'a': spec.nodeAffinity.required.nodeSelectorTerms is not an array"},
      {R"("spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
          [{"values": [true]}]}]}}})",
       "nodeSelectorTerms[].matchExpressions[].values[] is not a text"},
  }));
  CAPTURE(fields);
  CHECK_THAT(
      ProblemOf(List(R"({"kind": "PersistentVolume", "metadata": {"name": "a"}, )" + fields + "}")),
      Contains(problem));
}

TEST_CASE("a key that looks like a path is not one") {
  const auto parsed = Parse(List(
      R"({"kind": "PersistentVolume", "metadata": {"name": "a"}, "spec/csi/driver": "d",
          "spec": {"csi/driver": "d", "*": {"driver": "d"}}})"));
  REQUIRE(parsed.ok());
  CHECK(parsed->volumes.front().driver.empty());
}

TEST_CASE("a list that is cut off anywhere is refused") {
  const std::string whole = List(std::string(kVolume) + "," + kContent);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THAT(ProblemOf(whole.substr(0, length)), Contains("it ends in the middle"));
  }
}

TEST_CASE("deep nesting is refused before it costs anything") {
  CHECK_THAT(ProblemOf(List(std::string(kVolume) + R"(, {"a": )" + std::string(1'000'000, '['))),
             Contains("64 levels"));
}

std::string ProblemOfFile(const std::string& path) {
  const auto read = ReadKubernetesObjects(path);
  CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(MessageOf(read.status()), Contains(path));
  return MessageOf(read.status());
}

TEST_CASE("a file is read, or the reason is given with its name") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/list.json";
  CHECK_THAT(ProblemOfFile(path), Contains("No such file"));
  CHECK_THAT(ProblemOfFile(directory.path()), Contains("Is a directory"));
  std::ofstream(path) << List(kVolume);
  CHECK(ReadKubernetesObjects(path).value().volumes.size() == 1);
  const std::string text(BoundedInput::kLongestToken - 100, 'x');
  std::ofstream(path) << List(R"({"kind": "PersistentVolume", "metadata": {"name": ")" + text +
                              "\"}}");
  CHECK(ReadKubernetesObjects(path).ok());
  std::ofstream(path) << List(R"({"kind": "PersistentVolume", "metadata": {"name": ")" + text +
                              text + "\"}}");
  CHECK_THAT(ProblemOfFile(path), Contains("longer than 1024 KiB"));
  std::filesystem::resize_file(path, BoundedInput::kMostBytes + 1);
  CHECK_THAT(ProblemOfFile(path), Contains("larger than 512 MiB"));
}

}  // namespace audit_objects_test
}  // namespace holdfast::cli
