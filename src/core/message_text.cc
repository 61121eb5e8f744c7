// SPDX-License-Identifier: Apache-2.0
#include "core/message_text.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kGap = " [...] ";
constexpr std::size_t kTail = 700;  // the reason is at the end, after long paths and names

bool IsControl(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte == 0x7f;
}

// U+0080 to U+009F, which some terminals interpret as well: C2 80 to C2 9F.
void BlankWideControls(std::string& line) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (line[i - 1] == '\xc2' && byte >= 0x80 && byte <= 0x9f) line[i - 1] = line[i] = ' ';
  }
}

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::string MessageText(std::string_view text) {
  std::string line;
  if (text.size() <= kMaxMessageText) {
    line = text;
  } else {
    std::size_t head = kMaxMessageText - kGap.size() - kTail;
    std::size_t tail = text.size() - kTail;
    while (head > 0 && ContinuesCharacter(text[head])) --head;
    while (tail < text.size() && ContinuesCharacter(text[tail])) ++tail;
    line.append(text.substr(0, head)).append(kGap).append(text.substr(tail));
  }
  std::ranges::replace_if(line, IsControl, ' ');
  BlankWideControls(line);
  return line;
}

}  // namespace holdfast
