// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory_volumes.h"

namespace holdfast::simulator {
namespace {

class LedgerReservation final : public pool::Reservation {
 public:
  explicit LedgerReservation(pool::Ledger::Reservation reservation)
      : reservation_(std::move(reservation)) {}
  void Commit() override { reservation_.Commit(); }

 private:
  pool::Ledger::Reservation reservation_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<pool::Reservation>> MemorySpace::Reserve(const std::string& uuid,
                                                                        Provisioning provisioning,
                                                                        Bytes increment) {
  const auto room = [this]() -> absl::StatusOr<pool::Room> {
    return pool::Room{.total = machine_.total, .available = machine_.Available()};
  };
  const auto allocated = [this](const std::string& volume) -> std::optional<Bytes> {
    const auto found = machine_.volumes.find(volume);
    if (found == machine_.volumes.end() || !found->second->now.image) return std::nullopt;
    return found->second->now.image->allocated;
  };
  ASSIGN_OR_RETURN(pool::Ledger::Reservation reservation,
                   ledger_.Reserve(uuid, provisioning, increment, room, allocated));
  return std::make_unique<LedgerReservation>(std::move(reservation));
}

}  // namespace holdfast::simulator
