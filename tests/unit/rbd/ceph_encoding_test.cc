// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "rbd/ceph_encoding.h"

namespace holdfast::rbd {
namespace ceph_encoding_test {

using namespace std::string_literals;

TEST_CASE("numbers are little-endian, and texts have their length before them") {
  CHECK(Encoded(std::uint64_t{0x0102}) == "\x02\x01\0\0\0\0\0\0"s);
  CHECK(Encoded("ab") == "\x02\0\0\0ab"s);
  const std::string encoded =
      "\x07"s + "\x05\0\0\0"s + Encoded(std::uint64_t{1} << 40) + Encoded("ab");
  CephDecoder decoder(encoded);
  CHECK(decoder.Byte() == 7);
  CHECK(decoder.Number32() == 5);
  CHECK(decoder.Number64() == std::uint64_t{1} << 40);
  CHECK(decoder.Text() == "ab");
  CHECK(decoder.ok());
}

TEST_CASE("what a newer version adds to a structure is passed over") {
  const std::string inside = Encoded(std::uint64_t{9}) + "something new";
  const std::string encoded = "\x02\x01"s + Encoded(inside) + "\x03";
  CephDecoder decoder(encoded);
  CHECK(decoder.Structure().Number64() == 9);
  CHECK(decoder.Byte() == 3);
  CHECK(decoder.ok());
}

TEST_CASE("what is missing reads as nothing, and shows") {
  for (const std::string& cut : {""s, "\x02\x01\x09\0\0\0abc"s, "\x02\x01\xff\xff\xff\xff"s}) {
    CephDecoder decoder(cut);
    CephDecoder inside = decoder.Structure();
    CHECK(inside.Text().empty());
    CHECK_FALSE(inside.ok());
    CHECK_FALSE(decoder.ok());
  }
  const std::string cut = "\x09\0\0\0abc"s;
  CephDecoder text(cut);
  CHECK(text.Text().empty());
  CHECK(text.Number64() == 0);
  CHECK_FALSE(text.ok());
}

}  // namespace ceph_encoding_test
}  // namespace holdfast::rbd
