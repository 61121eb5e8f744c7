// SPDX-License-Identifier: Apache-2.0
#include "core/start_thread.h"

#include <stdexcept>
#include <system_error>
#include <utility>

namespace holdfast {

absl::StatusOr<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return Unavailable("cannot start a thread: {}; is the limit of processes reached?",
                       error.code().message());
  }
}

std::thread StartThreadOrThrow(std::function<void()> work) {
  auto thread = StartThread(std::move(work));
  if (!thread.ok()) throw std::runtime_error(MessageOf(thread.status()));
  return *std::move(thread);
}

}  // namespace holdfast
