// SPDX-License-Identifier: Apache-2.0
// What a source may send to the target of a transfer: each piece of an input is a part. One without
// a digest gets the right one, or hardly a byte would be written.
#include <grpcpp/impl/grpc_library.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>

#include "input.h"
#include "link/frame.h"
#include "link/limits.h"
#include "link/transfer_parts.h"

namespace holdfast::fuzz {
namespace {

constexpr Bytes kSize = 64 * kMiB;
const grpc::internal::GrpcLibraryInitializer kLibrary;  // which nothing else here begins

class Volume final : public ContentWriter {
 public:
  explicit Volume(Bytes kept) : kept_(kept), end_(kept) {}
  [[nodiscard]] Bytes size() const override { return kSize; }
  [[nodiscard]] Bytes kept() const override { return kept_; }
  absl::Status Write(Bytes offset, std::string_view bytes) override {
    const auto length = static_cast<Bytes>(bytes.size());
    Require(!finished_, "nothing is written to a complete copy");
    Require(offset >= end_ && length > 0 && length <= kContentPiece, "pieces come in order");
    Require(offset <= kSize - length, "nothing is written behind the end");
    end_ = offset + length;
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    Require(!std::exchange(finished_, true), "a copy is completed once");
    return absl::OkStatus();
  }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  const Bytes kept_;
  Bytes end_;
  bool finished_ = false;
};

// As a relay reads a stream's first message.
void TryOpening(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  const auto opening = link::ParsePart(grpc::ByteBuffer(&slice, 1));
  Require(!opening.ok() || bytes.size() <= link::kMaxUnprovedMessageBytes,
          "no large message is parsed of a peer that nobody knows");
}

void Complete(link::v1::Part& part) {
  if (!part.has_data() || !part.data().xxh3().empty()) return;
  const auto right = link::PartOf({.offset = 0, .bytes = part.data().bytes()});
  part.mutable_data()->set_xxh3(right.data().xxh3());
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  Input input(data, size);
  Volume volume(input.Byte() * (kSize / 255));
  holdfast::link::IncomingParts incoming(volume);
  while (!input.empty()) {
    const std::string bytes = input.Piece();
    TryOpening(bytes);
    holdfast::link::v1::Part part;
    if (!part.ParseFromString(bytes)) continue;
    Complete(part);
    const auto taken = incoming.Take(part);
    Require(!taken.ok() || *taken == volume.finished(), "a copy is complete at the source's end");
    if (!taken.ok() || *taken) break;
  }
  return 0;
}
