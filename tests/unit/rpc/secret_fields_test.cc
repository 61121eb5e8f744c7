// SPDX-License-Identifier: Apache-2.0
#include "rpc/fields.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/message_differencer.h>

#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "proto/csi.pb.h"

namespace holdfast::rpc {
namespace secret_fields_test {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kSecret[] = "sentinel-4711-secret";
constexpr char kOpen[] = "open";
constexpr int kDeepest = 8;

bool IsSecret(const FieldDescriptor& field) {
  return field.options().GetExtension(csi::v1::csi_secret);
}

struct Filling {
  bool with_secrets;
  std::set<std::string> secrets = {};  // full names of fields that were filled
};

void Fill(Message& message, const char* text, int depth, Filling& filling);

void FillField(Message& message, const FieldDescriptor& field, const char* text, int depth,
               Filling& filling) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (depth == 0) return;
    Message& inner = field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                         : *reflection.MutableMessage(&message, &field);
    return Fill(inner, text, depth - 1, filling);
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;  // no secret is a number
  if (field.is_repeated()) return reflection.AddString(&message, &field, text);
  reflection.SetString(&message, &field, text);
}

// Every text at any depth; of a oneof the last member.
void Fill(Message& message, const char* text, int depth, Filling& filling) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (IsSecret(field)) {
      filling.secrets.insert(field.full_name());
      if (!filling.with_secrets) continue;
    }
    FillField(message, field, IsSecret(field) ? kSecret : text, depth, filling);
  }
}

// Its findings about a type that is filled with and without secrets.
std::set<std::string> CheckCleared(const Message& prototype) {
  INFO(prototype.GetTypeName());
  Filling with{.with_secrets = true};
  Filling without{.with_secrets = false};
  const std::unique_ptr<Message> message(prototype.New());
  const std::unique_ptr<Message> wanted(prototype.New());
  Fill(*message, kOpen, kDeepest, with);
  Fill(*wanted, kOpen, kDeepest, without);
  if (!with.secrets.empty()) {
    CHECK_THAT(message->SerializeAsString(), Catch::Contains(kSecret));
  }
  ClearSecrets(*message);
  CHECK_THAT(message->SerializeAsString(), !Catch::Contains(kSecret));
  CHECK(google::protobuf::util::MessageDifferencer::Equals(*message, *wanted));
  return with.secrets;
}

TEST_CASE("every field that CSI marks as secret is cleared, and no other") {
  const auto& file = *csi::v1::CreateVolumeRequest::descriptor()->file();
  std::set<std::string> marked;
  std::set<std::string> cleared;
  for (int i = 0; i < file.message_type_count(); ++i) {
    const Descriptor& type = *file.message_type(i);
    for (int field = 0; field < type.field_count(); ++field) {
      if (IsSecret(*type.field(field))) marked.insert(type.field(field)->full_name());
    }
    cleared.merge(
        CheckCleared(*google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)));
  }
  CHECK(marked.size() > 15);
  CHECK(cleared == marked);
}

// CSI has its secrets in the requests themselves; one day it may not.
TEST_CASE("secrets are cleared at any depth, in lists and in maps") {
  google::protobuf::FileDescriptorProto file;
  file.set_name("deep.proto");
  file.set_syntax("proto3");
  file.add_dependency(csi::v1::CreateVolumeRequest::descriptor()->file()->name());
  auto& outer = *file.add_message_type();
  outer.set_name("Outer");
  const auto add = [&outer](int number, const char* name, const char* type, auto label) {
    auto& field = *outer.add_field();
    field.set_name(name);
    field.set_number(number);
    field.set_type(field.TYPE_MESSAGE);
    field.set_type_name(type);
    field.set_label(label);
  };
  using Field = google::protobuf::FieldDescriptorProto;
  add(1, "one", ".csi.v1.CreateVolumeRequest", Field::LABEL_OPTIONAL);
  add(2, "many", ".csi.v1.NodeStageVolumeRequest", Field::LABEL_REPEATED);
  add(3, "outer", ".Outer", Field::LABEL_OPTIONAL);
  add(4, "mapped", ".Outer.MappedEntry", Field::LABEL_REPEATED);
  auto& entry = *outer.add_nested_type();
  entry.set_name("MappedEntry");
  entry.mutable_options()->set_map_entry(true);
  auto& key = *entry.add_field();
  key.set_name("key");
  key.set_number(1);
  key.set_type(Field::TYPE_STRING);
  key.set_label(Field::LABEL_OPTIONAL);
  auto& value = *entry.add_field();
  value.set_name("value");
  value.set_number(2);
  value.set_type(Field::TYPE_MESSAGE);
  value.set_type_name(".csi.v1.DeleteVolumeRequest");
  value.set_label(Field::LABEL_OPTIONAL);

  google::protobuf::DescriptorPool pool(google::protobuf::DescriptorPool::generated_pool());
  const auto* const built = pool.BuildFile(file);
  REQUIRE(built != nullptr);
  google::protobuf::DynamicMessageFactory factory(&pool);
  CHECK(CheckCleared(*factory.GetPrototype(built->message_type(0))) ==
        std::set<std::string>{"csi.v1.CreateVolumeRequest.secrets",
                              "csi.v1.NodeStageVolumeRequest.secrets",
                              "csi.v1.DeleteVolumeRequest.secrets"});
}

TEST_CASE("fields that are not known may be secret") {
  csi::v1::DeleteVolumeRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(99, kSecret);
  CHECK_THAT(request.SerializeAsString(), Catch::Contains(kSecret));
  ClearSecrets(request);
  CHECK(request.SerializeAsString().empty());
}

}  // namespace secret_fields_test
}  // namespace holdfast::rpc
