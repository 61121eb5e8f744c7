// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_findings.h"

#include <catch2/catch.hpp>
#include <map>

#include "cli/audit_report.h"
#include "support/audit_scene.h"

namespace holdfast::cli {
namespace audit_findings_test {

using Catch::Matchers::Contains;

std::vector<std::string> KindsOf(const Audit& audit, Verdict verdict) {
  std::vector<std::string> kinds;
  for (const AuditEntry& entry : audit.entries) {
    if (entry.verdict == verdict) kinds.emplace_back(entry.kind);
  }
  return kinds;
}

using Kinds = std::vector<std::string>;

TEST_CASE("what agrees is clean") {
  AuditScene scene;
  scene.objects.volumes.push_back(scene.PersistentVolumeOf(scene.AddVolume("n1", 1)));
  scene.objects.volumes.push_back({.name = "nfs"});
  scene.objects.volumes.push_back(
      {.name = "other", .driver = "ebs.csi.aws.com", .handle = "vol-1"});
  const Audit audit = scene.Compare();
  CHECK(audit.entries.empty());
  CHECK(audit.persistent_volumes == 1);
  CHECK(ExitCodeOf(audit) == 0);
  CHECK_THAT(AuditSummary(audit), Contains("1 volume and 1 PersistentVolume of csi.holdfast.dev"));
}

TEST_CASE("the trash is a note, and a PersistentVolume whose data is in it can be restored") {
  AuditScene scene;
  const auto volume = VolumeOn("n1", 1);
  auto& kept = *scene.inventory.trash.add_trash();
  kept.set_id("t:" + volume.id());
  kept.set_volume_id(volume.id());
  kept.set_node("n1");
  kept.set_kubernetes_namespace("shop");
  kept.set_kubernetes_name("data-1");
  SECTION("without a PersistentVolume") {
    const Audit audit = scene.Compare();
    CHECK(KindsOf(audit, Verdict::kNote) == Kinds{"trash"});
    CHECK(audit.entries.front().claim == "shop/data-1");
    CHECK(ExitCodeOf(audit) == 0);
  }
  SECTION("with one") {
    scene.objects.volumes.push_back(scene.PersistentVolumeOf(volume));
    const Audit audit = scene.Compare();
    CHECK(KindsOf(audit, Verdict::kFinding) == Kinds{"pv-without-data"});
    CHECK_THAT(audit.entries.front().problem, Contains("`holdfast trash restore t:"));
  }
}

TEST_CASE("a volume that no PersistentVolume has is found, with its claim") {
  AuditScene scene;
  const std::string id = scene.AddVolume("n1", 1).id();
  const Audit audit = scene.Compare();
  REQUIRE(audit.entries.size() == 1);
  const AuditEntry& entry = audit.entries.front();
  CHECK((entry.kind == "volume-without-pv" && entry.subject == id && entry.node == "n1"));
  CHECK(entry.claim == "shop/data-1");
  CHECK(entry.size == kGiB);
  REQUIRE(audit.without_pv.size() == 1);
  CHECK(audit.without_pv.front()->id() == id);
  CHECK(ExitCodeOf(audit) == kExitFindings);
  CHECK_THAT(AuditText(audit, kNow, false), Contains("30d"));
}

TEST_CASE("a volume that may still get its PersistentVolume is only noted") {
  AuditScene scene;
  scene.AddVolume("n1", 1).set_created_at(TextOf(kNow - absl::Minutes(4)));
  scene.AddVolume("n1", 2).set_created_at(TextOf(kNow + absl::Hours(1)));
  scene.AddVolume("n1", 3).set_state("copying");
  const Audit audit = scene.Compare();
  CHECK(KindsOf(audit, Verdict::kNote) == Kinds(3, "volume-without-pv"));
  CHECK(audit.without_pv.empty());
  CHECK(ExitCodeOf(audit) == 0);
}

TEST_CASE("data is missing only if its owner says so") {
  AuditScene scene;
  const auto object = scene.PersistentVolumeOf(VolumeOn("n1", 1));
  scene.objects.volumes.push_back(object);
  SECTION("it does") {
    CHECK(KindsOf(scene.Compare(), Verdict::kFinding) == Kinds{"pv-without-data"});
  }
  SECTION("it has it") {
    scene.owners.volumes[object.handle] = DescriptionOf(object.handle, kGiB);
    CHECK(scene.Compare().entries.empty());
  }
  SECTION("it has it in another size") {
    scene.owners.volumes[object.handle] = DescriptionOf(object.handle, 2 * kGiB);
    CHECK(KindsOf(scene.Compare(), Verdict::kFinding) == Kinds{"size-differs"});
  }
  SECTION("it cannot say") {
    scene.owners.volumes[object.handle] = Internal("record.json is damaged");
    const Audit audit = scene.Compare();
    CHECK(KindsOf(audit, Verdict::kUnknown) == Kinds{"pv-without-data"});
    CHECK(audit.entries.front().problem == "record.json is damaged");
    CHECK(ExitCodeOf(audit) == kExitIncomplete);
  }
  SECTION("the object is being deleted") {
    scene.objects.volumes.front().being_deleted = true;
    CHECK(KindsOf(scene.Compare(), Verdict::kNote) == Kinds{"pv-without-data"});
  }
}

TEST_CASE("nobody is asked about what cannot be known") {
  AuditScene scene;
  scene.owners.may_be_asked = false;
  scene.objects.volumes.push_back(scene.PersistentVolumeOf(VolumeOn("n2", 1)));
  SECTION("the node has never connected") { scene.inventory.connected.erase("n2"); }
  SECTION("the node is declared lost") { scene.inventory.lost["n2"] = "declared lost: default"; }
  SECTION("the node does not answer") { scene.AddUnreachable("n2", ""); }
  SECTION("the pool does not answer") { scene.AddUnreachable("n2", "default"); }
  SECTION("the pool is not there") { scene.inventory.pools.mutable_pools()->RemoveLast(); }
  const Audit audit = scene.Compare();
  REQUIRE_FALSE(audit.entries.empty());
  CHECK(KindsOf(audit, Verdict::kFinding).empty());
  CHECK(KindsOf(audit, Verdict::kUnknown).back() == "pv-without-data");
  CHECK(ExitCodeOf(audit) == kExitIncomplete);
}

TEST_CASE("an unreachable node makes the audit incomplete, whatever else was found") {
  AuditScene scene;
  scene.AddVolume("n1", 1);
  scene.AddUnreachable("n2", "");
  const Audit audit = scene.Compare();
  CHECK(KindsOf(audit, Verdict::kFinding) == Kinds{"volume-without-pv"});
  CHECK(KindsOf(audit, Verdict::kUnknown) == Kinds{"node"});
  CHECK(ExitCodeOf(audit) == kExitIncomplete);
}

TEST_CASE("a controller without nodes has compared nothing") {
  AuditScene scene;
  scene.inventory.pools.Clear();
  scene.inventory.connected.clear();
  const Audit audit = scene.Compare();
  CHECK(KindsOf(audit, Verdict::kUnknown) == Kinds{"nodes"});
  CHECK(ExitCodeOf(audit) == kExitIncomplete);
}

TEST_CASE("an id that Holdfast cannot have made is found") {
  AuditScene scene;
  scene.owners.may_be_asked = false;
  scene.objects.volumes.push_back(
      {.name = "pv", .driver = "csi.holdfast.dev", .handle = "nonsense", .capacity = "1Gi"});
  CHECK(KindsOf(scene.Compare(), Verdict::kFinding) == Kinds{"pv-without-data"});
}

TEST_CASE("sizes are compared in bytes") {
  AuditScene scene;
  auto object = scene.PersistentVolumeOf(scene.AddVolume("n1", 1));
  const auto [capacity, agrees] = GENERATE(table<std::string, bool>({{"1Gi", true},
                                                                     {"1024Mi", true},
                                                                     {"1073741824", true},
                                                                     {"1G", false},
                                                                     {"2Gi", false},
                                                                     {"", false},
                                                                     {"much", false}}));
  CAPTURE(capacity);
  object.capacity = capacity;
  scene.objects.volumes.push_back(object);
  CHECK(KindsOf(scene.Compare(), Verdict::kFinding) == (agrees ? Kinds{} : Kinds{"size-differs"}));
}

using Term = std::vector<NodeRequirement>;

std::string NodeProblemOf(std::vector<Term> terms) {
  AuditScene scene;
  auto object = scene.PersistentVolumeOf(scene.AddVolume("n1", 1));
  object.node_terms = std::move(terms);
  scene.objects.volumes.push_back(object);
  const Audit audit = scene.Compare();
  if (audit.entries.empty()) return "";
  CHECK(KindsOf(audit, Verdict::kFinding) == Kinds{"node-differs"});
  return audit.entries.front().problem;
}

TEST_CASE("the node affinity must admit no node but the one with the bytes") {
  const NodeRequirement here{.key = kNodeKey, .values = {"n1"}};
  const NodeRequirement there{.key = kNodeKey, .values = {"n2"}};
  const NodeRequirement either{.key = kNodeKey, .values = {"n1", "n2"}};
  const NodeRequirement by_host{.key = "kubernetes.io/hostname", .values = {"n1"}};
  const NodeRequirement zone{.key = "zone", .values = {"n1"}};
  CHECK(NodeProblemOf({Term{here}}).empty());
  CHECK(NodeProblemOf({Term{zone, here}}).empty());
  CHECK(NodeProblemOf({Term{by_host}}).empty());
  CHECK(NodeProblemOf({Term{here}, Term{here, zone}}).empty());
  CHECK_THAT(NodeProblemOf({Term{there}}), Contains("names n2, the bytes are on n1"));
  CHECK_THAT(NodeProblemOf({Term{either}}), Contains("names n1, n2"));
  CHECK_THAT(NodeProblemOf({Term{here}, Term{there}}), Contains("names n1, n2"));
  CHECK_THAT(NodeProblemOf({Term{here}, Term{}}), Contains("names n1"));
  CHECK_THAT(NodeProblemOf({Term{zone}}), Contains("names no node"));
  CHECK_THAT(NodeProblemOf({}), Contains("names no node"));
}

TEST_CASE("a volume that all nodes reach needs no node affinity") {
  AuditScene scene;
  auto object = scene.PersistentVolumeOf(scene.AddVolume("", 1));
  object.node_terms.clear();
  scene.objects.volumes.push_back(object);
  CHECK(scene.Compare().entries.empty());
}

TEST_CASE("two PersistentVolumes of one volume are found") {
  AuditScene scene;
  auto object = scene.PersistentVolumeOf(scene.AddVolume("n1", 1));
  scene.objects.volumes.push_back(object);
  object.name = "second";
  scene.objects.volumes.push_back(object);
  const Audit audit = scene.Compare();
  REQUIRE(KindsOf(audit, Verdict::kFinding) == Kinds{"two-pvs"});
  CHECK(audit.entries.front().subject == "second");
}

TEST_CASE("a node judges only what is on it") {
  AuditScene scene;
  scene.inventory.node = "n1";
  scene.inventory.connected = {"n1"};
  scene.owners.has_controller = false;
  scene.objects.volumes.push_back(scene.PersistentVolumeOf(VolumeOn("n2", 1)));
  SECTION("of other nodes it says nothing") {
    const Audit audit = scene.Compare();
    CHECK(audit.entries.empty());
    CHECK(audit.of_other_nodes == 1);
    CHECK_THAT(AuditSummary(audit), Contains("1 of other nodes"));
  }
  scene.objects.volumes.push_back(scene.PersistentVolumeOf(VolumeOn("n1", 2)));
  const std::string id = scene.objects.volumes.back().handle;
  SECTION("its own lists are proof") {
    CHECK(KindsOf(scene.Compare(), Verdict::kFinding) == Kinds{"pv-without-data"});
  }
  SECTION("unless something of the volume is left") {
    scene.AddLeftover("damaged-volume", id, "n1");
    CHECK(KindsOf(scene.Compare(), Verdict::kUnknown) == Kinds{"pv-without-data"});
  }
  SECTION("or it has not looked yet") {
    scene.inventory.looked_for_leftovers = false;
    CHECK(KindsOf(scene.Compare(), Verdict::kUnknown) == Kinds{"leftovers", "pv-without-data"});
  }
}

TEST_CASE("leftovers are findings") {
  AuditScene scene;
  scene.AddLeftover("orphaned-device", VolumeOn("n1", 1).id(), "n1");
  const Audit audit = scene.Compare();
  REQUIRE(KindsOf(audit, Verdict::kFinding) == Kinds{"leftover"});
  CHECK_THAT(audit.entries.front().problem, Contains("orphaned-device"));
}

TEST_CASE("snapshots are compared if there is something to compare them with") {
  AuditScene scene;
  const std::string with = scene.AddSnapshot("n1", 1).id();
  scene.AddSnapshot("n1", 2);
  scene.AddSnapshot("n1", 3).set_held(true);
  scene.AddSnapshot("n1", 4).set_created_at(TextOf(kNow));
  SECTION("no content is in the list") {
    const Audit audit = scene.Compare();
    CHECK(audit.entries.empty());
    CHECK_THAT(AuditSummary(audit), Contains("4 snapshots were not"));
  }
  SECTION("but the caller says that there are none") {
    CHECK(KindsOf(scene.Compare(/*with_snapshots=*/true), Verdict::kFinding) ==
          Kinds(2, "snapshot-without-content"));
  }
  SECTION("there are contents") {
    const std::string gone = "s:default:n1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0009";
    scene.objects.contents = {{.name = "a", .driver = "csi.holdfast.dev", .handle = with},
                              {.name = "b", .driver = "csi.holdfast.dev", .handle = gone},
                              {.name = "c", .driver = "csi.holdfast.dev"},
                              {.name = "d", .driver = "other", .handle = "x"}};
    const Audit audit = scene.Compare();
    CHECK(KindsOf(audit, Verdict::kFinding) ==
          Kinds{"content-without-data", "snapshot-without-content"});
    CHECK(KindsOf(audit, Verdict::kNote) == Kinds{"snapshot-without-content"});
    CHECK(audit.contents == 3);
  }
}

}  // namespace audit_findings_test
}  // namespace holdfast::cli
