// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <absl/time/clock.h>

namespace holdfast {

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string NowRfc3339() { return Rfc3339(absl::Now()); }

}  // namespace holdfast
