// SPDX-License-Identifier: Apache-2.0
// The requirements for every kind of pool that the volume state machine works on: the contract of
// pool/volume_backend.h, and whole lives of volumes with a fault at each primitive. A new kind
// supplies a PoolUnderTest and must pass both before anything else is written for it.
#pragma once

#include <memory>
#include <string>

#include "pool/volume_backend.h"

namespace holdfast::conformance {

// The objects of one call, as a process that has just started makes them.
class CallObjects {
 public:
  virtual ~CallObjects() = default;
  virtual pool::VolumeRecords& records() = 0;
  virtual pool::VolumeBackend& backend() = 0;
  virtual pool::VolumeSpace& space() = 0;
};

// An empty pool with space for a few volumes of some MiB.
class PoolUnderTest {
 public:
  virtual ~PoolUnderTest() = default;
  virtual std::unique_ptr<CallObjects> NewCall() = 0;
  // Of a volume that does not exist, and that this pool could have.
  virtual std::string NewUuid() = 0;
  // The state that dies with a process: lists, space accounting.
  virtual void RestartProcess() = 0;
  [[nodiscard]] virtual Provisioning provisioning() const = 0;
  // Whether volumes can be made devices here.
  [[nodiscard]] virtual bool HasDevices() const = 0;
  // Puts a byte that is not zero at `offset`, as a user does through a device.
  virtual void WriteByte(const pool::VolumeRecord& record, Bytes offset) = 0;
  // Remains of volumes, by name: records, bytes, devices; empty for an empty pool.
  virtual std::string Remains() = 0;
};

// Each fails the running test case (Catch2) where the pool does not conform.
void CheckContract(PoolUnderTest& pool);
void CheckLivesWithFaults(PoolUnderTest& pool);

}  // namespace holdfast::conformance
