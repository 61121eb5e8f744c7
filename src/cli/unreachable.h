// SPDX-License-Identifier: Apache-2.0
// What is missing in a list.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include "proto/admin.pb.h"

namespace holdfast::cli {

// Names it on standard error. Returns the exit code of the verb: 0 if nothing is missing.
[[nodiscard]] int ReportUnreachable(
    const google::protobuf::RepeatedPtrField<admin::v1::Unreachable>& unreachable);

}  // namespace holdfast::cli
