// SPDX-License-Identifier: Apache-2.0
// The conformance suite on a pool in Ceph; tests/ceph/test_conformance.py starts it. The guest of
// tests/ceph/guest covers what needs the kernel's client.
#include "conformance/conformance.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "core/volume_id.h"
#include "os/file.h"
#include "rbd/format_mark.h"
#include "rbd/rbd_volumes.h"
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
    for (const auto& record : test::Value(RecordTable::List(*ceph_, "", 0)).records) {
      names += " record " + record.volume.id.uuid;
    }
    return names;
  }

 private:
  const test::TempDirectory root_;
  std::optional<state::UndoFiles> undo_files_;
  std::unique_ptr<RbdPool> pool_;
  std::shared_ptr<CephPool> ceph_;
};

// A node that was cut off while formatting must not mark an image that its successor has zeroed.
TEST_CASE("a mark that was refused is not set any more") {
  RbdUnderTest pool;
  const auto call = pool.NewCall();
  pool::VolumeRecord record;
  record.volume.id.uuid = pool.NewUuid();
  record.volume.capacity_bytes = kMiB;
  record.volume.filesystem = "ext4";
  record.volume.filesystem_uuid = RandomUuid();
  record.image_name = call->backend().NewName(record.volume.id.uuid);
  record.image_id = test::Value(call->backend().Make(record));
  const std::string mark = MarkOf(record.volume);
  const std::string later = "ext4 " + RandomUuid();
  REQUIRE_OK(RefuseFormatMark(pool.ceph(), record.image_id, mark));
  CHECK_FAILS(SetFormatMark(pool.ceph(), record.image_id, mark), kAborted, "taken over and zeroed");
  CHECK_FALSE(test::Value(ReadFormatMark(pool.ceph(), record.image_id)).has_value());
  REQUIRE_OK(SetFormatMark(pool.ceph(), record.image_id, later));
  CHECK(test::Value(ReadFormatMark(pool.ceph(), record.image_id)) == later);
  CHECK_FAILS(RefuseFormatMark(pool.ceph(), record.image_id, later), kFailedPrecondition,
              "was marked as formatted meanwhile");
  record.volume.state = VolumeState::kDeleting;
  REQUIRE_OK(call->backend().Discard(record));
  CHECK_FALSE(SetFormatMark(pool.ceph(), record.image_id, later).ok());
}

TEST_CASE("a pool in Ceph conforms") {
  RbdUnderTest pool;
  CheckContract(pool);
  CheckLivesWithFaults(pool);
}

}  // namespace holdfast::rbd
