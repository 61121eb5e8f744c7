// SPDX-License-Identifier: Apache-2.0
// The pieces of a transfer as messages, and what a target checks of each before it writes.
#pragma once

#include "core/content.h"
#include "core/status.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// With the checksum of its bytes.
[[nodiscard]] v1::Part PartOf(ContentPiece piece);

// The parts that come, one after another. One thread at a time.
class IncomingParts final {
 public:
  // `writer` outlives it.
  explicit IncomingParts(ContentWriter& writer) : writer_(writer), from_(writer.kept()) {}

  // Writes a piece; finishes the writer, and returns true, at the end. DATA_LOSS when the bytes are
  // not what was read; INVALID_ARGUMENT for a part that no source sends; FAILED_PRECONDITION when
  // the snapshot has another size than the writer expects; the source's own error; else as the
  // writer says.
  [[nodiscard]] absl::StatusOr<bool> Take(const v1::Part& part);

 private:
  absl::Status TakeEnd(const v1::End& end);

  ContentWriter& writer_;
  Bytes from_;  // nothing before it is taken
};

}  // namespace holdfast::link
