// SPDX-License-Identifier: Apache-2.0
#include "core/message_text.h"

#include <catch2/catch.hpp>

#include "core/status.h"

namespace holdfast {
namespace message_text_test {

TEST_CASE("a message that is fit stays as it is") {
  for (const std::string text : {"", "volume 'pv' is not there",
                                 "gr\xc3\xb6\xc3\x9f"
                                 "e"}) {
    CHECK(MessageText(text) == text);
  }
  const std::string longest(kMaxMessageText, 'x');
  CHECK(MessageText(longest) == longest);
}

TEST_CASE("control characters become blanks") {
  CHECK(MessageText(std::string_view("a\nb\tc\x1b[31m\x7f\0d", 13)) == "a b c [31m  d");
}

TEST_CASE("control characters of two bytes become blanks, letters beside them stay") {
  CHECK(MessageText("a\xc2\x9b"
                    "31m \xc2\xa0\xc3\x9f\xc2\x80") == "a  31m \xc2\xa0\xc3\x9f  ");
}

TEST_CASE("of a long message both ends are kept") {
  const std::string text = MessageText("begin" + std::string(1 << 20, 'x') + "end");
  CHECK(text.size() <= kMaxMessageText);
  CHECK_THAT(text,
             Catch::StartsWith("begin") && Catch::EndsWith("end") && Catch::Contains("[...]"));
}

TEST_CASE("no character is cut in two") {
  for (int shift = 0; shift < 4; ++shift) {
    std::string text(static_cast<std::size_t>(shift), 'x');
    for (int i = 0; i < 5000; ++i) text += "\xf0\x9f\x90\x9a";
    const std::string cut = MessageText(text);
    const std::size_t gap = cut.find(" [...] ");
    REQUIRE(gap != std::string::npos);
    CHECK((gap - static_cast<std::size_t>(shift)) % 4 == 0);
    CHECK((cut.size() - gap - 7) % 4 == 0);
  }
  // Bytes that are not UTF-8 at all do not make it run away.
  CHECK(MessageText(std::string(1 << 20, '\x80')).size() <= kMaxMessageText);
}

TEST_CASE("every status is made of such text") {
  const absl::Status status = InvalidArgument("'{}'\n", std::string(1 << 20, 'x'));
  CHECK(MessageOf(status).size() <= kMaxMessageText);
  CHECK_THAT(MessageOf(status), !Catch::Contains("\n"));
  CHECK(MessageOf(Annotate(status, "more")).size() <= kMaxMessageText);
}

}  // namespace message_text_test
}  // namespace holdfast
