// SPDX-License-Identifier: Apache-2.0
#include "core/text_file.h"

#include <fstream>

namespace holdfast {

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  constexpr std::streamsize kMaxBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("'{}' cannot be read", path);
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), kMaxBytes + 1);
  if (file.bad()) return NotFound("'{}' cannot be read", path);
  if (file.gcount() > kMaxBytes) return FailedPrecondition("'{}' is larger than 1 MiB", path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  text.shrink_to_fit();
  return text;
}

}  // namespace holdfast
