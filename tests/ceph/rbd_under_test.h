// SPDX-License-Identifier: Apache-2.0
// A pool in Ceph as one controller has it, for the tests of tests/ceph/test_conformance.py.
#pragma once

#include <dlfcn.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "conformance/conformance.h"
#include "core/volume_id.h"
#include "os/file.h"
#include "rbd/rbd_volumes.h"
#include "rbd/retained.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::rbd {

// Gives access to a pool's private parts.
class RbdUnderTest final : public conformance::PoolUnderTest {
 public:
  RbdUnderTest() {
    const os::UniqueFd state = test::Value(os::OpenDirectory(root_.path()));
    undo_files_.emplace(
        test::Value(state::UndoFiles::Open(test::Value(os::OpenDirectory(root_.path())))));
    const pool::Process process{.node_id = "",
                                .is_controller = true,
                                .has_devices = false,
                                .attach = false,
                                .state_directory_fd = state.get(),
                                .boot_id = "boot",
                                .undo_files = *undo_files_,
                                .quiesce = nullptr};
    const char* const config = std::getenv("HOLDFAST_CONFORMANCE_POOL");
    REQUIRE(config != nullptr);
    const std::array<const PoolSyntax*, 1> kinds{&RbdSyntax()};
    pool_ = test::Value(RbdPool::Open(test::Value(ParsePool(config, kinds)), process,
                                      std::make_shared<Clusters>()));
    ceph_ = test::Value(pool_->Connect());
  }

  std::unique_ptr<conformance::CallObjects> NewCall() override {
    struct Objects final : conformance::CallObjects {
      explicit Objects(RbdUnderTest& pool) : call(*pool.pool_, *pool.ceph_) {}
      pool::VolumeRecords& records() override { return call.records; }
      pool::VolumeBackend& backend() override { return call.images; }
      pool::VolumeSpace& space() override { return call.space; }
      RbdPool::Call call;
    };
    return std::make_unique<Objects>(*this);
  }
  std::string NewUuid() override { return pool_->IdForName(RandomUuid()).uuid; }
  void RestartProcess() override {}
  [[nodiscard]] const CephPool& ceph() const { return *ceph_; }
  [[nodiscard]] RbdPool& pool() const { return *pool_; }
  [[nodiscard]] Provisioning provisioning() const override { return Provisioning::kThin; }
  [[nodiscard]] bool HasDevices() const override { return false; }
  void WriteByte(const pool::VolumeRecord& record, Bytes offset) override {
    void* const library = ::dlopen("librbd.so.1", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    const auto write = reinterpret_cast<decltype(&::rbd_write)>(::dlsym(library, "rbd_write"));
    REQUIRE(write != nullptr);
    rbd_image_t image = nullptr;
    const CephLibrary& calls = ceph_->library();
    REQUIRE(calls.rbd_open(ceph_->io(), record.image_name.c_str(), &image, nullptr) == 0);
    CHECK(write(image, static_cast<std::uint64_t>(offset), 1, "x") == 1);
    REQUIRE(calls.rbd_close(image) == 0);
    ::dlclose(library);
  }
  std::string Remains() override {
    std::string names;
    for (const std::string& image : test::Value(ListImages(*ceph_))) names += " image " + image;
    const RecordTable::Page page = test::Value(RecordTable::List(*ceph_, "", 0));
    for (const auto& record : page.records) names += " record " + record.volume.id.uuid;
    for (const auto& record : page.trashed) names += " entry " + record.trashed->key;
    for (const auto& [name, id] : test::Value(ListRetained(*ceph_))) names += " note of " + name;
    return names;
  }

 private:
  const test::TempDirectory root_;
  std::optional<state::UndoFiles> undo_files_;
  std::unique_ptr<RbdPool> pool_;
  std::shared_ptr<CephPool> ceph_;
};

// A raw block volume in the pool, made from `source` if there is one.
inline VolumeId MakeVolume(RbdPool& pool, const std::optional<ContentSource>& source = std::nullopt,
                           std::chrono::seconds keep = std::chrono::seconds(0)) {
  VolumeSpec spec;
  spec.keep_deleted = keep;
  spec.name = RandomUuid();
  spec.capacity.required = 16 * kMiB;
  spec.provisioning = Provisioning::kThin;
  spec.access_type = AccessType::kBlock;
  spec.source = source;
  return test::Value(pool.Create(spec)).id;
}

}  // namespace holdfast::rbd
