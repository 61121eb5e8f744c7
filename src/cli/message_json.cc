// SPDX-License-Identifier: Apache-2.0
#include "cli/message_json.h"

#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::ordered_json;

ordered_json Strings(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  ordered_json values = ordered_json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    values.push_back(reflection.GetRepeatedString(message, &field, i));
  }
  return values;
}

ordered_json Value(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return Strings(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    default:
      return reflection.GetString(message, &field);
  }
}

}  // namespace

std::string ArrayAsJson(const Message& response, const std::string& field_name) {
  const FieldDescriptor* const entries = response.GetDescriptor()->FindFieldByName(field_name);
  const google::protobuf::Reflection& reflection = *response.GetReflection();
  ordered_json array = ordered_json::array();
  for (int i = 0; i < reflection.FieldSize(response, entries); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(response, entries, i);
    ordered_json object = ordered_json::object();
    for (int k = 0; k < entry.GetDescriptor()->field_count(); ++k) {
      const FieldDescriptor& field = *entry.GetDescriptor()->field(k);
      object[field.name()] = Value(entry, field);
    }
    array.push_back(std::move(object));
  }
  return array.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
