// SPDX-License-Identifier: Apache-2.0
// The bytes of a volume or snapshot as a stream, from one pool to another one that cannot share
// them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/rate_limit.h"
#include "core/status.h"

namespace holdfast {

// The longest piece.
constexpr Bytes kContentPiece = kMiB;

struct ContentPiece {
  Bytes offset = 0;
  std::string bytes;  // 1 to kContentPiece
};

// Where the bytes come from. They do not change meanwhile. One thread at a time.
class ContentReader {
 public:
  virtual ~ContentReader() = default;
  [[nodiscard]] virtual Bytes size() const = 0;
  // The first piece with data at `offset` or after it; nothing if only zeros follow. INTERNAL when
  // the bytes cannot be read.
  [[nodiscard]] virtual absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) = 0;
};

// Where they go. One thread at a time.
class ContentWriter {
 public:
  virtual ~ContentWriter() = default;
  [[nodiscard]] virtual Bytes size() const = 0;  // what it expects
  // Everything before it is durable, also that of an earlier writer: it is not needed again.
  [[nodiscard]] virtual Bytes kept() const = 0;
  // By offset; what lies between is zero. RESOURCE_EXHAUSTED without room; ABORTED when the bytes
  // are no longer wanted.
  [[nodiscard]] virtual absl::Status Write(Bytes offset, std::string_view bytes) = 0;
  // Everything has come. Durable before it returns.
  [[nodiscard]] virtual absl::Status Finish() = 0;
};

// The reader, no faster than the limit allows, which outlives the result.
[[nodiscard]] std::unique_ptr<ContentReader> Limited(std::unique_ptr<ContentReader> reader,
                                                     RateLimit& limit);

// Everything that the writer has not kept, and finishes it. FAILED_PRECONDITION if they differ in
// size.
[[nodiscard]] absl::Status CopyContent(ContentReader& reader, ContentWriter& writer);

}  // namespace holdfast
