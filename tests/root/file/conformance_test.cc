// SPDX-License-Identifier: Apache-2.0
#include "conformance/conformance.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/volume_id.h"
#include "file/file_space.h"
#include "file/file_volumes.h"
#include "file/loop_label.h"
#include "os/file.h"
#include "os/loop_number.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::conformance {
namespace conformance_test {

using file::VerifiedPool;

constexpr char kTag[] = "c0f0f0f0";

// A pool of image files, on whatever filesystem carries the tests.
class FilesUnderTest final : public PoolUnderTest {
 public:
  explicit FilesUnderTest(Provisioning provisioning) : provisioning_(provisioning) {
    std::filesystem::create_directory(root_.path("pool"));
    std::filesystem::create_directory(root_.path("state"));
    const os::UniqueFd state = test::Value(os::OpenDirectory(root_.path("state")));
    directory_ = std::make_unique<file::PoolDirectory>(test::Value(
        file::PoolDirectory::Open({.name = "p", .path = root_.path("pool")}, state.get())));
    verified_ = test::Value(directory_->Verify());
    RestartProcess();
  }

  std::unique_ptr<CallObjects> NewCall() override {
    struct Objects final : CallObjects {
      explicit Objects(FilesUnderTest& pool)
          : own_records(pool.process_->records, pool.verified_),
            own_backend(pool.process_->devices, pool.verified_,
                        {.quiesce = nullptr,
                         .rate = pool.process_->copy_rate,
                         .unshared = pool.process_->unshared,
                         .cut = {}},
                        false),
            own_space(pool.process_->space, pool.verified_) {}
      pool::VolumeRecords& records() override { return own_records; }
      pool::VolumeBackend& backend() override { return own_backend; }
      pool::VolumeSpace& space() override { return own_space; }
      file::FileRecords own_records;
      file::FileBackend own_backend;
      file::FileSpaceOfCall own_space;
    };
    return std::make_unique<Objects>(*this);
  }
  std::string NewUuid() override { return RandomUuid(); }
  void RestartProcess() override { process_ = std::make_unique<Process>(); }
  [[nodiscard]] Provisioning provisioning() const override { return provisioning_; }
  [[nodiscard]] bool HasDevices() const override { return true; }
  void WriteByte(const pool::VolumeRecord& record, Bytes offset) override {
    const std::string path = root_.path("pool") + file::ImagePathEnd(record.volume.id.uuid);
    const os::UniqueFd image(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(image.get(), "x", 1, offset) == 1);
    REQUIRE(::fsync(image.get()) == 0);
  }
  std::string Remains() override {
    std::string names;
    for (const char* directory : {"pool/volumes", "pool/trash"}) {
      for (const auto& entry : std::filesystem::directory_iterator(root_.path(directory))) {
        names += " " + entry.path().string();
      }
    }
    for (const os::LoopLabel& loop : os::LoopLabels(file::kLoopLabelPrefix)) {
      if (loop.label.ends_with(kTag)) names += fmt::format(" loop{}", loop.index);
    }
    if (process_->space.ledger().Provisioned(provisioning_) != 0) names += " space";
    if (process_->records.Count(VolumeRole::kVolume) != 0) names += " listed";
    return names;
  }

 private:
  struct Process {
    file::RecordStore records;
    file::ImageDevices devices{kTag, /*direct_io=*/false};
    file::FileSpace space{"p", pool::SpacePolicy{}};
    file::CopyRate copy_rate;
    std::atomic<Bytes> unshared{0};
  };
  const Provisioning provisioning_;
  const test::TempDirectory root_;
  std::unique_ptr<file::PoolDirectory> directory_;
  VerifiedPool verified_;
  std::unique_ptr<Process> process_;
};

TEST_CASE("a pool of image files conforms") {
  const auto provisioning = GENERATE(Provisioning::kThin, Provisioning::kThick);
  FilesUnderTest pool(provisioning);
  CheckContract(pool);
  CheckLivesWithFaults(pool);
}

}  // namespace conformance_test
}  // namespace holdfast::conformance
