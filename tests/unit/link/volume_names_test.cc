// SPDX-License-Identifier: Apache-2.0
#include "link/volume_names.h"

#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::link {
namespace volume_names_test {

using Names = std::vector<std::string>;

constexpr char kStorage[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";
constexpr char kOther[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a002";
const VolumeNames::Time kStart = std::chrono::steady_clock::now();

google::protobuf::RepeatedPtrField<v1::Volume> Part(const Names& names,
                                                    const std::string& pool = "default") {
  v1::Volumes part;
  for (const std::string& name : names) {
    v1::Volume& volume = *part.add_volumes();
    volume.set_pool(pool);
    volume.set_name(name);
  }
  return part.volumes();
}

NamedVolumes Named(const Names& names, const PoolIds& pools = {{"default", kStorage}}) {
  NamedVolumes named(pools);
  REQUIRE(named.Add(Part(names)).ok());
  return named;
}

VolumeId Id(const std::string& node, const std::string& name) {
  return {.pool = "default", .node = node, .uuid = *UuidOfName(kStorage, name)};
}

// "n1" for a volume in doubt there, "n1!" for one that may have been returned to a caller.
Names Places(const VolumeNames& names, const std::string& name) {
  Names places;
  for (const auto& place : names.Find(name)) {
    places.push_back(place.node + (place.returned ? "!" : ""));
  }
  return places;
}

TEST_CASE("what a node names takes the place of what it named before") {
  VolumeNames names;
  CHECK(names.Replace("n1", Named({"a", "b"}), kStart).empty());
  CHECK(Places(names, "a") == Names{"n1!"});
  CHECK(names.Replace("n1", Named({"b", "c"}), std::chrono::steady_clock::now()).empty());
  CHECK(Places(names, "a").empty());
  CHECK(Places(names, "c") == Names{"n1!"});
  names.Forget("n1");
  CHECK(Places(names, "b").empty());
  CHECK(names.Nodes().empty());
}

TEST_CASE("two nodes that name one volume are told apart and reported") {
  VolumeNames names;
  (void)names.Replace("n2", Named({"a"}), kStart);
  CHECK(names.Replace("n1", Named({"a", "b"}), kStart) == std::vector{Id("n1", "a")});
  CHECK(Places(names, "a").size() == 2);
  names.Deleted(Id("n1", "a"));
  CHECK(Places(names, "a") == Names{"n2!"});
}

TEST_CASE("what was made or deleted while a node named its volumes stays so") {
  VolumeNames names;
  (void)names.Replace("n1", Named({"a"}), kStart);
  names.Created(Id("n1", "b"), "b");
  names.Deleted(Id("n1", "a"));
  (void)names.Replace("n1", Named({"a"}), kStart);
  CHECK(Places(names, "a").empty());
  CHECK(Places(names, "b") == Names{"n1!"});
  (void)names.Replace("n1", Named({"a"}), std::chrono::steady_clock::now());
  CHECK(Places(names, "b").empty());
}

TEST_CASE("volumes of a pool whose disk is not there are not forgotten") {
  VolumeNames names;
  (void)names.Replace("n1", Named({"a"}), kStart);
  (void)names.Replace("n1", NamedVolumes({{"another", kOther}, {"default", ""}}), kStart);
  CHECK(Places(names, "a") == Names{"n1!"});
  CHECK(names.List("n1", {}, 10) == std::vector{Id("n1", "a")});
}

TEST_CASE("a creation in doubt is one until it is answered, whatever its node names") {
  VolumeNames names;
  (void)names.Replace("n1", Named({}), kStart);
  names.CreationStarts("a", "n1", "");
  CHECK(Places(names, "a") == Names{"n1"});
  (void)names.Replace("n1", Named({"a"}), kStart);
  CHECK(Places(names, "a") == Names{"n1"});
  names.Created(Id("n1", "a"), "a");
  CHECK(Places(names, "a") == Names{"n1!"});
}

TEST_CASE("a volume that may have been promised is never in doubt") {
  VolumeNames names;
  (void)names.Replace("n1", Named({"a"}), kStart);
  names.CreationStarts("a", "n1", "");
  CHECK(Places(names, "a") == Names{"n1!"});
  CHECK(names.CountUnanswered("a", "n1") == 0);
}

TEST_CASE("a volume that was given up is not found any more") {
  VolumeNames names;
  (void)names.Replace("n1", Named({}), kStart);
  names.CreationStarts("a", "n1", "fast");
  CHECK(names.CountUnanswered("a", "n1") == 1);
  CHECK(names.CountUnanswered("a", "n1") == 2);
  const VolumeNames::Superseded volume{.node = "n1", .name = "a", .pool = "fast"};
  names.Supersede(volume);
  (void)names.Replace("n1", Named({"a"}), kStart);
  CHECK(Places(names, "a").empty());
  CHECK(names.AllSuperseded() == std::vector{volume});
  CHECK(names.FindSuperseded("a", "n1") == volume);
  CHECK_FALSE(names.FindSuperseded("a", "n2"));
  names.SupersededIsGone(volume);
  CHECK(names.AllSuperseded().empty());
}

TEST_CASE("volumes are listed by pool and UUID, page by page") {
  VolumeNames names;
  Names all;
  for (int i = 0; i < 100; ++i) all.push_back(std::to_string(i));
  (void)names.Replace("n1", Named(all), kStart);
  VolumeId last;
  std::size_t count = 0;
  for (auto page = names.List("n1", last, 7); !page.empty(); page = names.List("n1", last, 7)) {
    for (const VolumeId& id : page) {
      CHECK((count == 0 || last.uuid < id.uuid));
      last = id;
      ++count;
    }
  }
  CHECK(count == 100);
}

TEST_CASE("what a node cannot name") {
  NamedVolumes named(PoolIds{{"default", kStorage}});
  CHECK(absl::IsInvalidArgument(named.Add(Part({"a"}, "elsewhere"))));
  CHECK(absl::IsInvalidArgument(named.Add(Part({""}))));
  CHECK(absl::IsInvalidArgument(named.Add(Part({std::string(129, 'x')}))));
  CHECK(absl::IsInvalidArgument(named.Add(Part(Names(kMaxVolumesInPart + 1, "a")))));
  Names part(kMaxVolumesInPart);
  absl::Status added;
  for (std::size_t i = 0; added.ok() && i <= kMaxVolumesOfNode; i += part.size()) {
    for (std::size_t j = 0; j < part.size(); ++j) part[j] = std::to_string(i + j);
    added = named.Add(Part(part));
  }
  CHECK(absl::IsResourceExhausted(added));
}

}  // namespace volume_names_test
}  // namespace holdfast::link
