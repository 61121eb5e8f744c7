// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace holdfast::cli {
namespace {

int ColourCode(Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return 0;
    case Colour::kRed:
      return 31;
    case Colour::kGreen:
      return 32;
    case Colour::kYellow:
      return 33;
  }
  return 0;
}

bool IsControl(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte == 0x7f;
}

// U+0080..U+009F, which some terminals obey as well: 0xC2 and a byte below 0xA0.
bool IsHighControl(std::string_view text, std::size_t at) {
  return at + 1 < text.size() && text[at] == '\xc2' &&
         static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

}  // namespace

bool WantsColours() {
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

std::string Paint(std::string_view text, Colour colour, bool colours) {
  if (!colours || colour == Colour::kNone) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", ColourCode(colour), text);
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool high = IsHighControl(text, at);
    printable += high || IsControl(text[at]) ? '?' : text[at];
    if (high) ++at;
  }
  return printable;
}

std::size_t Width(std::string_view text) {
  const auto continues = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

}  // namespace holdfast::cli
