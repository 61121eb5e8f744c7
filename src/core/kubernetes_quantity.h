// SPDX-License-Identifier: Apache-2.0
// Sizes as Kubernetes writes them (apimachinery, resource.Quantity): "20Gi", "1.5G", "129e6".
#pragma once

#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast {

// A part of a byte is rounded up. INVALID_ARGUMENT for text that is not a quantity, a negative one,
// and one that no size in bytes can be.
[[nodiscard]] absl::StatusOr<Bytes> ParseQuantity(std::string_view text);

// Exactly `size`, which is not negative, with the largest binary suffix that leaves no remainder.
[[nodiscard]] std::string FormatQuantity(Bytes size);

}  // namespace holdfast
