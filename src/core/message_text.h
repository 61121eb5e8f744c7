// SPDX-License-Identifier: Apache-2.0
// Makes text of callers, tools and files fit for error messages and the log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// Bytes of a message at most. gRPC sends it as a header, in which a byte may become three; clients
// take 8 KiB of headers, and report RESOURCE_EXHAUSTED instead of the message when there are more.
inline constexpr std::size_t kMaxMessageText = 2000;

// `text` as one line. Control characters, which could control a terminal or forge a log line,
// become spaces; overlong text is elided in the middle, on UTF-8 boundaries.
[[nodiscard]] std::string MessageText(std::string_view text);

}  // namespace holdfast
