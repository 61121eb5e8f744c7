// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/grpc_library.h>

#include <catch2/catch.hpp>

#include "link/limits.h"
#include "link/pool_checks.h"
#include "support/outcome.h"

namespace holdfast::link {
namespace link_frame_test {

// As every server of gRPC does.
const grpc::internal::GrpcLibraryInitializer kLibrary;

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

// A field that contains other fields, or a text.
std::string Field(int number, const std::string& content) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  std::size_t size = content.size();
  for (; size > 127; size >>= 7) field += static_cast<char>((size & 127) | 128);
  return field + static_cast<char>(size) + content;
}

std::string Repeat(const std::string& text, std::size_t times) {
  std::string repeated;
  while (times-- > 0) repeated += text;
  return repeated;
}

std::string RegisterOfEmptyPools(std::size_t count) {
  return Field(1, Field(5, Repeat(Field(1, ""), count)));
}

TEST_CASE("a message of the link is parsed") {
  v1::FromNode message;
  v1::Register& self = *message.mutable_register_();
  self.set_node("n1");
  for (int pool = 0; pool < kMaxPoolsOfNode; ++pool) {
    v1::Pool& described = *self.mutable_pools()->add_pools();
    described.set_name("p");
    described.set_id("i");
    described.mutable_thick()->set_available_capacity(1);
    described.mutable_thin()->set_available_capacity(1);
  }
  const auto parsed = ParseFrame(Bytes(message.SerializeAsString()), kMaxUnprovedMessageBytes);
  REQUIRE_OK(parsed);
  CHECK(parsed->SerializeAsString() == message.SerializeAsString());
  REQUIRE_OK(ParseFrame(Bytes(""), kMaxUnprovedMessageBytes));
}

TEST_CASE("a long list of volumes has not too many fields") {
  csi::v1::ListVolumesResponse list;
  for (int number = 0; number < 10'000; ++number) {
    auto& entry = *list.add_entries();
    entry.mutable_volume()->set_volume_id(
        "default:node-1.example:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001");
    entry.mutable_volume()->set_capacity_bytes(1 << 30);
    (*entry.mutable_volume()
          ->add_accessible_topology()
          ->mutable_segments())["topology.csi.holdfast.dev/node"] = "node-1.example";
    entry.mutable_status()->mutable_volume_condition()->set_message("the volume is in order");
  }
  v1::FromNode message;
  message.mutable_result()->set_response(list.SerializeAsString());
  const auto parsed = ParseFrame(Bytes(message.SerializeAsString()), kMaxMessageBytes);
  REQUIRE_OK(parsed);
  csi::v1::ListVolumesResponse within;
  REQUIRE_OK(ParseWithin(parsed->result().response(), within));
  CHECK(within.entries_size() == list.entries_size());
}

TEST_CASE("what comes within a message has the same limits") {
  csi::v1::ListVolumesResponse list;
  CHECK_FAILS(ParseWithin(Repeat(Field(1, ""), 1'000'000), list), kResourceExhausted,
              "too many fields");
  CHECK_FAILS(ParseWithin(Repeat("\xf8\x07\x01", 20'000), list), kResourceExhausted,
              "too many fields");
  for (const std::string& bytes :
       {std::string("\x0a"), std::string("\x0a\x05zz"), std::string("\x0b\x0b\x0b"),
        std::string("\x0a\xff\xff\xff\xff\x0f"), Field(2, "\xff\xfe"), Field(1, "\x0a\x7f")}) {
    CHECK_FAILS(ParseWithin(bytes, list), kInvalidArgument, "parsed");
  }
}

TEST_CASE("messages that contain their own type have a depth") {
  std::string deep;  // nested_type = 3
  for (int i = 0; i < 1000; ++i) deep = Field(3, deep);
  google::protobuf::DescriptorProto type;
  CHECK_FAILS(ParseWithin(deep, type), kResourceExhausted, "too deep");
}

TEST_CASE("a message that is too large, or would be when it is parsed, is refused") {
  CHECK_FAILS(ParseFrame(Bytes(std::string(101, 'x')), 100), kResourceExhausted, "101 bytes");
  CHECK_FAILS(ParseFrame(Bytes(RegisterOfEmptyPools(2'000'000)), kMaxMessageBytes),
              kResourceExhausted, "too many fields");
  CHECK_FAILS(ParseFrame(Bytes(RegisterOfEmptyPools(30'000)), kMaxUnprovedMessageBytes),
              kResourceExhausted, "too many fields");
  // Unknown fields are kept as well.
  CHECK_FAILS(ParseFrame(Bytes(Repeat("\xf8\x07\x01", 20'000)), kMaxUnprovedMessageBytes),
              kResourceExhausted, "too many fields");
}

TEST_CASE("bytes that are no message are refused") {
  for (const std::string& bytes :
       {std::string("\x0a"), std::string("\x0a\x05zz"), std::string("\x0b\x0b\x0b"),
        std::string("\x0a\xff\xff\xff\xff\x0f"), Field(1, Field(5, "\x0a\x7f")),
        Field(1, Field(3, "\xff\xfe"))}) {
    INFO(bytes.size());
    CHECK_FAILS(ParseFrame(Bytes(bytes), kMaxUnprovedMessageBytes), kInvalidArgument, "parsed");
  }
}

}  // namespace link_frame_test
}  // namespace holdfast::link
