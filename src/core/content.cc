// SPDX-License-Identifier: Apache-2.0
#include "core/content.h"

#include <utility>

namespace holdfast {
namespace {

class LimitedReader final : public ContentReader {
 public:
  LimitedReader(std::unique_ptr<ContentReader> reader, RateLimit& limit)
      : reader_(std::move(reader)), limit_(limit) {}
  [[nodiscard]] Bytes size() const override { return reader_->size(); }
  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    auto piece = reader_->Next(offset);
    if (piece.ok() && *piece) limit_.Take(static_cast<Bytes>((*piece)->bytes.size()));
    return piece;
  }

 private:
  const std::unique_ptr<ContentReader> reader_;
  RateLimit& limit_;
};

}  // namespace

std::unique_ptr<ContentReader> Limited(std::unique_ptr<ContentReader> reader, RateLimit& limit) {
  return std::make_unique<LimitedReader>(std::move(reader), limit);
}

absl::Status CopyContent(ContentReader& reader, ContentWriter& writer) {
  if (reader.size() != writer.size()) {
    return FailedPrecondition("the source has {} bytes, and {} are expected", reader.size(),
                              writer.size());
  }
  for (Bytes offset = writer.kept();;) {
    ASSIGN_OR_RETURN(const auto piece, reader.Next(offset));
    if (!piece) return writer.Finish();
    RETURN_IF_ERROR(writer.Write(piece->offset, piece->bytes));
    offset = piece->offset + static_cast<Bytes>(piece->bytes.size());
  }
}

}  // namespace holdfast
