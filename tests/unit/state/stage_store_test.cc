// SPDX-License-Identifier: Apache-2.0
#include "state/node_state.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "core/checked_json.h"
#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::state {
namespace stage_store_test {

constexpr char kId[] = "default:node-1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

StageRecord Record() {
  StageRecord record;
  record.volume_id = kId;
  record.staging_path = "/var/lib/kubelet/globalmount";
  record.access_mode = AccessMode::kSingleNodeMultiWriter;
  record.mount_flags = {"noatime"};
  record.publications["/pods/a"] = {
      AccessMode::kSingleNodeMultiWriter, true, {"ro", "noexec"}, "shop/web-0"};
  record.publications["/pods/b"] = {};
  return record;
}

struct Fixture {
  std::string file = std::string("stages/") + kId + ".json";
  test::TempDirectory state;
  NodeState node = test::Value(NodeState::Open(state.fd()));
  const StageStore& store = node.stages;

  std::string Text() const { return test::Value(os::ReadFileAt(state.fd(), file)); }
  void Replace(const std::string& text) const {
    const auto stages = test::Value(os::OpenDirectoryAt(state.fd(), "stages"));
    REQUIRE_OK(os::ReplaceFile(stages.get(), std::string(kId) + ".json", text));
  }
};

TEST_CASE_METHOD(Fixture, "what was staged is known again, also to the next process") {
  REQUIRE_OK(store.Write(Record()));
  const NodeState next = test::Value(NodeState::Open(state.fd()));
  for (const StageStore* reader : {&store, &next.stages}) {
    const StageRecord found = test::Value(reader->Find(kId));
    CHECK(found.volume_id == kId);
    CHECK(found.staging_path == Record().staging_path);
    CHECK(found.access_mode == Record().access_mode);
    CHECK(found.mount_flags == Record().mount_flags);
    CHECK(found.publications == Record().publications);
  }
}

TEST_CASE("publications for two pods are alike, and in another way they are not") {
  const Publication one = Record().publications["/pods/a"];
  Publication other = one;
  other.pod = "shop/web-1";
  CHECK(one.IsLike(other));
  CHECK_FALSE(one == other);
  other.read_only = false;
  CHECK_FALSE(one.IsLike(other));
}

TEST_CASE_METHOD(Fixture, "a pod's name is left out if it cannot be one") {
  for (const char* const pod : {"web-0", "shop/", "shop/web/0", "shop/\x1b[2J", "Shop/web"}) {
    StageRecord odd = Record();
    odd.publications["/pods/a"].pod = pod;
    REQUIRE_OK(store.Write(odd));
    CHECK(test::Value(store.Find(kId)).publications["/pods/a"].pod.empty());
  }
}

TEST_CASE_METHOD(Fixture, "a record is replaced, then removed, then removed again") {
  REQUIRE_OK(store.Write(Record()));
  StageRecord changed = Record();
  changed.publications.clear();
  REQUIRE_OK(store.Write(changed));
  CHECK(test::Value(store.Find(kId)).publications.empty());
  REQUIRE_OK(store.Remove(kId));
  CHECK_FAILS(store.Find(kId), kNotFound, "is not staged");
  REQUIRE_OK(store.Remove(kId));
}

TEST_CASE_METHOD(Fixture, "ids that are none are not staged, and nothing is looked up for them") {
  for (const char* id : {"", "../../etc/passwd", "a:b:../../x", "default:node-1:nonsense"}) {
    CAPTURE(id);
    CHECK_FAILS(store.Find(id), kNotFound, "is not staged");
    REQUIRE_OK(store.Remove(id));
    StageRecord record = Record();
    record.volume_id = id;
    CHECK_FAILS(store.Write(record), kInternal, "is not a volume id");
  }
}

TEST_CASE_METHOD(Fixture, "a record of another boot does not count") {
  REQUIRE_OK(store.Write(Record()));
  nlohmann::json object = test::Value(DecodeChecked(Text(), 1, "stage record"));
  object["boot_id"] = "00000000-0000-4000-8000-000000000000";
  Replace(EncodeChecked(object, 1));
  CHECK_FAILS(store.Find(kId), kNotFound, "is not staged");
}

TEST_CASE_METHOD(Fixture, "a damaged, foreign or newer record does not count") {
  REQUIRE_OK(store.Write(Record()));
  const std::string good = Text();
  const nlohmann::json object = test::Value(DecodeChecked(good, 1, "stage record"));
  nlohmann::json other_volume = object;
  other_volume["volume_id"] = "default:node-1:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0002";
  nlohmann::json no_mode = object;
  no_mode.erase("access_mode");
  nlohmann::json bad_publication = object;
  bad_publication["publications"]["/pods/a"] = 7;
  nlohmann::json bad_mode = object;
  bad_mode["publications"]["/pods/a"]["access_mode"] = "EVERYBODY";
  for (const std::string& text :
       {std::string(), std::string("{}"), good.substr(0, good.size() / 2), EncodeChecked(object, 2),
        EncodeChecked(other_volume, 1), EncodeChecked(no_mode, 1),
        EncodeChecked(bad_publication, 1), EncodeChecked(bad_mode, 1)}) {
    CAPTURE(text);
    Replace(text);
    CHECK_FAILS(store.Find(kId), kNotFound, "is not staged");
  }
  Replace(good);
  REQUIRE_OK(store.Find(kId));
}

TEST_CASE_METHOD(Fixture, "what was to be taken back is forgotten, and nothing else") {
  const VolumeId id = VolumeId::Parse(kId).value();
  REQUIRE_OK(node.undo.Forget(id));
  REQUIRE_OK(store.Write(Record()));
  const auto stages = test::Value(os::OpenDirectoryAt(state.fd(), "stages"));
  for (const std::string& suffix : {std::string(".undo"), std::string(".undo.used")}) {
    REQUIRE_OK(os::ReplaceFile(stages.get(), kId + suffix, "bytes"));
    REQUIRE(node.undo.Has(id));
    REQUIRE_OK(node.undo.Forget(id));
    CHECK_FALSE(node.undo.Has(id));
  }
  REQUIRE_OK(store.Find(kId));
}

TEST_CASE_METHOD(Fixture, "the directory and its files are the owner's alone") {
  REQUIRE_OK(store.Write(Record()));
  struct stat facts {};
  REQUIRE(::stat(state.path("stages").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
  REQUIRE(::stat(state.path(file).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
}

}  // namespace stage_store_test
}  // namespace holdfast::state
