// SPDX-License-Identifier: Apache-2.0
// Words of callers, tools and files, made fit for error messages and the log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// Bytes of a message at most. gRPC sends it as a header, in which a byte may become three; clients
// take 8 KiB of headers, and report RESOURCE_EXHAUSTED instead of the message when there are more.
inline constexpr std::size_t kMaxMessageText = 2000;

// `text` on one line: control characters, which could steer a terminal or forge a line of a log,
// become blanks; of a text that is too long the middle is left out, not within a character of
// UTF-8.
[[nodiscard]] std::string MessageText(std::string_view text);

}  // namespace holdfast
