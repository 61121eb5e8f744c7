// SPDX-License-Identifier: Apache-2.0
// The bytes of a snapshot on their way from one node to another through the controller.
#include "link/transfer.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <vector>

#include "link/transfer_relay.h"
#include "support/await.h"
#include "support/in_process_server.h"
#include "support/link_peer.h"
#include "support/outcome.h"

namespace holdfast::link {
namespace transfer_test {

using std::chrono::milliseconds;
using test::Await;

constexpr Bytes kSize = 64 * kMiB;
const TransferOrder kOrder{.content = "s:p:n1:u", .version = "1", .source = "n1", .target = "n2"};

class Snapshot final : public ContentReader {
 public:
  [[nodiscard]] Bytes size() const override { return kSize; }
  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    reads.push_back(offset);
    if (fails_at >= 0 && offset >= fails_at) return Internal("the disk is broken");
    const auto found = pieces.lower_bound(offset);
    if (found == pieces.end()) return std::nullopt;
    return ContentPiece{found->first, found->second};
  }
  std::map<Bytes, std::string> pieces{
      {0, "first"}, {kMiB, std::string(kContentPiece, 'b')}, {kSize - 4, "last"}};
  Bytes fails_at = -1;
  std::vector<Bytes> reads;
};

class Copy final : public ContentWriter {
 public:
  explicit Copy(Bytes size = kSize) : size_(size) {}
  [[nodiscard]] Bytes size() const override { return size_; }
  [[nodiscard]] Bytes kept() const override { return kept_at; }
  absl::Status Write(Bytes offset, std::string_view bytes) override {
    if (offset == fails_at) return ResourceExhausted("the pool is full");
    pieces[offset] = std::string(bytes);
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    finished = true;
    return absl::OkStatus();
  }
  Bytes kept_at = 0;
  Bytes fails_at = -1;
  std::map<Bytes, std::string> pieces;
  bool finished = false;

 private:
  Bytes size_;
};

// A controller between nodes n1 and n2.
struct Fixture {
  explicit Fixture(const TransferTimes& times = {}) : relay(test::kDriverName, belief, times) {
    relay.SetSummon([this](const TransferOrder& order, const std::string& ticket) {
      if (!summons.ok()) return summons;
      CHECK(order == kOrder);
      sent = std::async(std::launch::async,
                        [this, ticket] { return SendContent(Peer("n1"), ticket, snapshot); });
      return absl::OkStatus();
    });
  }
  ~Fixture() { relay.Stop(); }

  [[nodiscard]] TransferPeer Peer(const std::string& node) const {
    return {.channel = [this] { return server.NewChannel(); },
            .describe = [node] { return test::RegisterOf(node); },
            .calls = calls};
  }
  absl::Status Take(Copy& copy, const std::string& node = "n2") {
    return TakeContent(Peer(node), relay.Issue(kOrder), copy);
  }

  std::shared_ptr<TransferCalls> calls = std::make_shared<TransferCalls>();
  test::Belief belief;
  Snapshot snapshot;
  absl::Status summons;
  std::future<absl::Status> sent;
  TransferRelay relay;
  test::InProcessServer server{&relay.service()};  // the last: its calls use the relay
};

TEST_CASE_METHOD(Fixture, "a snapshot comes to another node whole, its holes left out") {
  Copy copy;
  REQUIRE_OK(Take(copy));
  REQUIRE_OK(sent.get());
  CHECK(copy.finished);
  CHECK(copy.pieces == snapshot.pieces);
  CHECK(snapshot.reads.size() == 4);
  Await([&] { return relay.CountTransfers() == 0; });
}

TEST_CASE_METHOD(Fixture, "what the target has kept is not sent again") {
  Copy copy;
  copy.kept_at = kMiB + 1;
  REQUIRE_OK(Take(copy));
  CHECK(copy.pieces.size() == 1);
  CHECK(copy.finished);
}

TEST_CASE_METHOD(Fixture, "errors of either end reach the target, which finishes nothing") {
  Copy copy;
  SECTION("the source cannot read") {
    snapshot.fails_at = kMiB;
    CHECK_FAILS(Take(copy), kInternal, "the source: the disk is broken");
    CHECK_FAILS(sent.get(), kInternal, "broken");
  }
  SECTION("the target cannot write") {
    copy.fails_at = kMiB;
    CHECK_FAILS(Take(copy), kResourceExhausted, "full");
    CHECK(absl::IsUnavailable(sent.get()));
  }
  SECTION("the source has another size") {
    Copy larger(2 * kSize);
    CHECK_FAILS(Take(larger), kFailedPrecondition, "expected");
    CHECK_FALSE(larger.finished);
  }
  SECTION("the source's node is not there") {
    summons = Unavailable("node 'n1' is not connected");
    CHECK_FAILS(Take(copy), kUnavailable, "node 'n1' is not connected");
  }
  CHECK_FALSE(copy.finished);
  Await([&] { return relay.CountTransfers() == 0; });
}

TEST_CASE_METHOD(Fixture, "a ticket admits its two nodes once") {
  Copy copy;
  CHECK_FAILS(Take(copy, "n3"), kPermissionDenied, "void");
  // A source cannot push what nobody has asked for.
  CHECK_FAILS(Take(copy, "n1"), kPermissionDenied, "void");
  CHECK_FAILS(TakeContent(Peer("n2"), "a guess", copy), kPermissionDenied, "void");
  belief.objects = true;
  CHECK_FAILS(Take(copy), kPermissionDenied, "another node");
  belief.objects = false;
  const std::string ticket = relay.Issue(kOrder);
  REQUIRE_OK(TakeContent(Peer("n2"), ticket, copy));
  CHECK_FAILS(TakeContent(Peer("n2"), ticket, copy), kPermissionDenied, "void");
  CHECK_FAILS(SendContent(Peer("n1"), ticket, snapshot), kPermissionDenied, "void");
}

TEST_CASE("a ticket that is not used in time is void") {
  Fixture fixture({.ticket = milliseconds(0)});
  const std::string unused = fixture.relay.Issue(kOrder);
  fixture.relay.EndOverdue();
  Copy copy;
  CHECK_FAILS(TakeContent(fixture.Peer("n2"), unused, copy), kPermissionDenied, "void");
}

TEST_CASE("a target whose source does not come is sent away") {
  Fixture fixture({.joining = milliseconds(0)});
  std::atomic<bool> summoned = false;
  fixture.relay.SetSummon([&](const auto&, const auto&) {
    summoned = true;
    return absl::OkStatus();
  });
  Copy copy;
  auto taken = std::async(std::launch::async, [&] { return fixture.Take(copy); });
  // Before, the target itself would be the end that is late.
  Await([&] { return summoned.load(); });
  Await([&] {
    fixture.relay.EndOverdue();
    return taken.wait_for(milliseconds(1)) == std::future_status::ready;
  });
  CHECK_FAILS(taken.get(), kUnavailable, "node 'n1' has not opened the transfer");
}

TEST_CASE_METHOD(Fixture, "no more transfers are open at once than the memory has room for") {
  std::atomic<std::size_t> summoned = 0;
  relay.SetSummon([&](const auto&, const auto&) {
    ++summoned;
    return absl::OkStatus();
  });
  std::vector<Copy> copies(TransferRelay::kMostTransfers);
  std::vector<std::future<absl::Status>> taken;
  for (Copy& copy : copies) {
    taken.push_back(std::async(std::launch::async, [&] { return Take(copy); }));
  }
  Await([&] { return summoned == TransferRelay::kMostTransfers; });
  Copy last;
  CHECK_FAILS(Take(last), kUnavailable, "as many as it can");
  calls->CancelAll();
  for (auto& copy : taken) CHECK_FALSE(copy.get().ok());
}

TEST_CASE_METHOD(Fixture, "transfers end with their process") {
  relay.SetSummon([](const auto&, const auto&) { return absl::OkStatus(); });
  Copy copy;
  auto taken = std::async(std::launch::async, [&] { return Take(copy); });
  calls->CancelAll();
  CHECK_FALSE(taken.get().ok());
  CHECK_FALSE(Take(copy).ok());
}

// A controller whose memory is damaged, or one that does what it must not.
class FalseRelay final : public v1::Transfer::Service {
 public:
  explicit FalseRelay(v1::Part sends) : sends_(std::move(sends)) {}
  grpc::Status Join(grpc::ServerContext*,
                    grpc::ServerReaderWriter<v1::Part, v1::Part>* stream) override {
    for (v1::Part part; stream->Read(&part);) {
      if (part.has_start()) stream->Write(sends_);
    }
    return grpc::Status::OK;
  }

 private:
  const v1::Part sends_;
};

absl::Status TakeFrom(const v1::Part& part) {
  FalseRelay relay(part);
  const test::InProcessServer server{&relay};
  Copy copy;
  const TransferPeer peer{.channel = [&] { return server.NewChannel(); },
                          .describe = [] { return test::RegisterOf("n2"); },
                          .calls = std::make_shared<TransferCalls>()};
  const absl::Status taken = TakeContent(peer, "ticket", copy);
  CHECK(copy.pieces.empty());
  CHECK_FALSE(copy.finished);
  return taken;
}

v1::Part PartOf(Bytes offset, const std::string& bytes, const std::string& xxh3) {
  v1::Part part;
  part.mutable_data()->set_offset(offset);
  part.mutable_data()->set_bytes(bytes);
  part.mutable_data()->set_xxh3(xxh3);
  return part;
}

TEST_CASE("what is not what the source read is not written") {
  CHECK_FAILS(TakeFrom(PartOf(0, "abc", std::string(16, 'x'))), kDataLoss, "altered");
  CHECK_FAILS(TakeFrom(PartOf(0, "abc", "")), kDataLoss, "altered");
  CHECK_FAILS(TakeFrom(PartOf(kSize - 2, "abc", "")), kInvalidArgument, "3 bytes at");
  CHECK_FAILS(TakeFrom(PartOf(-1, "abc", "")), kInvalidArgument, "3 bytes at");
  CHECK_FAILS(TakeFrom(PartOf(0, "", "")), kInvalidArgument, "0 bytes at");
  CHECK_FAILS(TakeFrom(PartOf(0, std::string(kContentPiece + 1, 'x'), "")), kInvalidArgument,
              "bytes at");
  CHECK_FAILS(TakeFrom(v1::Part()), kInvalidArgument, "out of order");
}

}  // namespace transfer_test
}  // namespace holdfast::link
