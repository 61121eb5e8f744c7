// SPDX-License-Identifier: Apache-2.0
#include "core/checked_json.h"

#include <catch2/catch.hpp>
#include <string>

#include "support/outcome.h"

namespace holdfast::pool {
namespace checked_json_test {

using nlohmann::json;

const json kObject = {{"name", "grüße \"x\""}, {"size", 4096}, {"list", {"a", "b"}}, {"empty", {}}};

TEST_CASE("what was encoded is decoded") {
  for (const json& object : {kObject, json::object()}) {
    const std::string text = EncodeChecked(object, 3);
    CHECK(text.ends_with("}\n"));
    CHECK(test::Value(DecodeChecked(text, 3, "thing")) == object);
  }
}

TEST_CASE("another schema version is refused, whichever it is") {
  for (const int version : {0, 2, 4, -1}) {
    CHECK_FAILS(DecodeChecked(EncodeChecked(kObject, version), 3, "thing"), kInternal,
                "has schema version " + std::to_string(version) + ", this program knows 3");
  }
}

TEST_CASE("a value or the version changed behind the checksum is refused") {
  json object = json::parse(EncodeChecked(kObject, 3));
  object["size"] = 8192;
  CHECK_FAILS(DecodeChecked(object.dump(), 3, "thing"), kInternal, "checksum does not match");
  json other_version = json::parse(EncodeChecked(kObject, 2));
  other_version["version"] = 3;
  CHECK_FAILS(DecodeChecked(other_version.dump(), 3, "thing"), kInternal, "checksum");
  json added = json::parse(EncodeChecked(kObject, 3));
  added["more"] = 1;
  CHECK_FAILS(DecodeChecked(added.dump(), 3, "thing"), kInternal, "checksum");
  json unchecked = json::parse(EncodeChecked(kObject, 3));
  unchecked.erase("crc32");
  CHECK_FAILS(DecodeChecked(unchecked.dump(), 3, "thing"), kInternal, "checksum");
}

TEST_CASE("layout does not count, content does") {
  const json object = json::parse(EncodeChecked(kObject, 3));
  CHECK(test::Value(DecodeChecked(object.dump(), 3, "thing")) == kObject);
  CHECK(test::Value(DecodeChecked(object.dump(8), 3, "thing")) == kObject);
}

TEST_CASE("text that is no checked object is refused, naming what it was meant to be") {
  const std::string nul("{}\0", 3);
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("1"), std::string("{"),
        std::string("{}"), std::string("{}{}"), std::string("{\"version\":\"3\"}"),
        std::string("{\"version\":3.0}"), nul, std::string("\xff\xfe"),
        std::string(100'000, '[')}) {
    CAPTURE(text.substr(0, 40));
    CHECK_FAILS(DecodeChecked(text, 3, "thing"), kInternal, "thing is damaged");
  }
}

}  // namespace checked_json_test
}  // namespace holdfast::pool
