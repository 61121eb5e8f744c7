// SPDX-License-Identifier: Apache-2.0
// Makes text from callers, tools and files safe for error messages and the log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// The most bytes in a message. gRPC sends it as a header, in which a byte may become three; clients
// accept 8 KiB of headers, and report RESOURCE_EXHAUSTED instead of the message if there are more.
inline constexpr std::size_t kMaxMessageText = 2000;

// `text` as one line. Control characters, which could control a terminal or forge a log line,
// become spaces; overlong text is elided in the middle, on UTF-8 boundaries.
[[nodiscard]] std::string MessageText(std::string_view text);

}  // namespace holdfast
