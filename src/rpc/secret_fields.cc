// SPDX-License-Identifier: Apache-2.0
#include "rpc/secret_fields.h"

#include <vector>

#include "proto/csi.pb.h"

namespace holdfast::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void ClearMarked(Message& message) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* const field : present) {
    if (field->options().GetExtension(csi::v1::csi_secret)) {
      reflection.ClearField(&message, field);
    } else if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    } else if (!field->is_repeated()) {
      ClearMarked(*reflection.MutableMessage(&message, field));
    } else {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        ClearMarked(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

}  // namespace

void ClearSecrets(Message& message) {
  message.DiscardUnknownFields();
  ClearMarked(message);
}

}  // namespace holdfast::rpc
