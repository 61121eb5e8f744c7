// SPDX-License-Identifier: Apache-2.0
#include "link/transfer_parts.h"

#include <xxhash.h>

#include <utility>

#include "core/message_text.h"

namespace holdfast::link {
namespace {

std::string Checksum(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
}

absl::Status CheckPiece(const v1::Data& data, Bytes from, Bytes size) {
  const auto length = static_cast<Bytes>(data.bytes().size());
  if (data.offset() < from || length == 0 || length > kContentPiece ||
      data.offset() > size - length) {
    return InvalidArgument("the source sent {} bytes at {} of {}, after {}", length, data.offset(),
                           size, from);
  }
  if (data.xxh3() == Checksum(data.bytes())) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    fmt::format("{} bytes at {} were altered on the way", length, data.offset()));
}

}  // namespace

v1::Part PartOf(ContentPiece piece) {
  v1::Part part;
  v1::Data& data = *part.mutable_data();
  data.set_offset(piece.offset);
  data.set_xxh3(Checksum(piece.bytes));
  data.set_bytes(std::move(piece.bytes));
  return part;
}

absl::StatusOr<bool> IncomingParts::Take(const v1::Part& part) {
  if (part.has_end()) {
    RETURN_IF_ERROR(TakeEnd(part.end()));
    return true;
  }
  if (!part.has_data()) return InvalidArgument("a part of the transfer out of order");
  const v1::Data& data = part.data();
  RETURN_IF_ERROR(CheckPiece(data, from_, writer_.size()));
  RETURN_IF_ERROR(writer_.Write(data.offset(), data.bytes()));
  from_ = data.offset() + static_cast<Bytes>(data.bytes().size());
  return false;
}

absl::Status IncomingParts::TakeEnd(const v1::End& end) {
  if (end.code() != 0) {
    return MakeStatus(static_cast<absl::StatusCode>(end.code()),
                      "the source: " + MessageText(end.message()));
  }
  if (end.size() != writer_.size()) {
    return FailedPrecondition("the snapshot has {} bytes, and {} are expected", end.size(),
                              writer_.size());
  }
  return writer_.Finish();
}

}  // namespace holdfast::link
