// SPDX-License-Identifier: Apache-2.0
// Starts threads where that can fail: the number of processes of a container, or of a user, is
// limited.
#pragma once

#include <functional>
#include <thread>

#include "core/status.h"

namespace holdfast {

// UNAVAILABLE when the system gives none now. Without this std::thread throws, which ends the
// process at an unexpected place.
[[nodiscard]] absl::StatusOr<std::thread> StartThread(std::function<void()> work);

// The same for threads that the process needs: throws std::runtime_error, which ends its start with
// that message.
[[nodiscard]] std::thread StartThreadOrThrow(std::function<void()> work);

}  // namespace holdfast
