// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: colours where they are wanted, and nothing in it that a terminal obeys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Moves the cursor to the corner and erases the screen (ECMA-48); only for a terminal.
inline constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

enum class Colour { kNone, kRed, kGreen, kYellow };

// True if standard output is a terminal and the environment has no NO_COLOR (no-color.org) and no
// TERM=dumb.
[[nodiscard]] bool WantsColours();

// `text` in that colour (ECMA-48), or as it is.
[[nodiscard]] std::string Paint(std::string_view text, Colour colour, bool colours);

// `text` with every control character replaced by '?': names come from other people, and a terminal
// would obey them.
[[nodiscard]] std::string Printable(std::string_view text);

// Columns that UTF-8 text takes, one per character.
[[nodiscard]] std::size_t Width(std::string_view text);

}  // namespace holdfast::cli
