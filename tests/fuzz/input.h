// SPDX-License-Identifier: Apache-2.0
// Splits fuzzed bytes into values, and reports broken promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holdfast::fuzz {

class Input final {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  // 0 at the end of the input.
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }

  // A piece whose length is in the next two bytes, or as much as there is.
  std::string Piece() {
    const std::size_t low = Byte();
    const std::size_t length = low | static_cast<std::size_t>(Byte()) << 8;
    const std::string piece(rest_.substr(0, length));
    rest_.remove_prefix(piece.size());
    return piece;
  }

  [[nodiscard]] std::string Rest() const { return std::string(rest_); }

 private:
  std::string_view rest_;
};

// Ends the process, which the fuzzer reports with its input, unless `holds`.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace holdfast::fuzz
