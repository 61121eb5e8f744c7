// SPDX-License-Identifier: Apache-2.0
// A real file pool below a temporary directory, which can be stopped and started like a process.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "file/file_kind.h"
#include "file/file_pool.h"
#include "file/loop_label.h"
#include "os/file.h"
#include "pool/pools.h"
#include "pool/volume_record.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::test {

inline VolumeSpec BlockSpec(const std::string& name, Bytes size = kMiB,
                            Provisioning provisioning = Provisioning::kThick) {
  VolumeSpec spec;
  spec.name = name;
  spec.capacity.required = size;
  spec.provisioning = provisioning;
  spec.access_type = AccessType::kBlock;
  return spec;
}

inline constexpr AccessMode kWriter = AccessMode::kSingleNodeWriter;

inline VolumeSpec MountSpec(const std::string& name, const std::string& filesystem = "ext4",
                            Bytes size = 32 * kMiB,
                            Provisioning provisioning = Provisioning::kThin) {
  VolumeSpec spec = BlockSpec(name, size, provisioning);
  spec.access_type = AccessType::kMount;
  spec.filesystem = filesystem;
  return spec;
}

class FilePoolFixture {
 public:
  // The pool lies in `pool_path`, or below the temporary directory if that is empty.
  explicit FilePoolFixture(std::string pool_path = "", PoolKeys keys = {})
      : config_{.name = "default",
                .syntax = &file::FileSyntax(),
                .location = pool_path.empty() ? directory.path("pool") : std::move(pool_path),
                .default_filesystem = "ext4",
                .keys = std::move(keys),
                .accept_move = false} {
    std::filesystem::create_directory(directory.path("state"));
    std::filesystem::create_directory(config_.location);
    state = Value(os::OpenDirectory(directory.path("state")));
    Start();
  }
  FilePoolFixture(const FilePoolFixture&) = delete;
  FilePoolFixture& operator=(const FilePoolFixture&) = delete;
  ~FilePoolFixture() {
    // Only a failed test has anything left here.
    if (pools == nullptr) return;
    const auto left = pool->List("", 0);
    for (const Volume& volume : left.value_or(std::vector<Volume>())) {
      const absl::Status detached = pool->UnmapDevice(volume.id);
      if (!detached.ok()) WARN("left attached: " << detached);
    }
  }

  void Start() {
    auto opened = Value(file::FilePool::Open(config_, "n1", state.get(), quiesce));
    pool = opened.get();
    pools = std::make_unique<pool::Pools>(os::DeviceOwners({file::LoopProof()}));
    REQUIRE_OK(pools->Add(std::move(opened)));
    REQUIRE_OK(pool->Recover());
    SettleAll();
  }
  // One round of the reconciler; leftovers that it cannot repair remain.
  void SettleAll() const {
    for (const Leftover& leftover : Value(pool->FindLeftovers())) {
      if (const auto entry = TrashId::Parse(leftover.subject)) {
        (void)pool->TendTrash(*entry);
      } else {
        (void)pool->Repair(*VolumeId::Parse(leftover.subject));
      }
    }
  }
  void Stop() {
    pool = nullptr;
    pools.reset();
  }
  // A killed process and its successor.
  void Restart() {
    Stop();
    Start();
  }

  [[nodiscard]] Volume Create(const VolumeSpec& spec) const { return Value(pool->Create(spec)); }

  [[nodiscard]] const PoolConfig& config() const { return config_; }
  [[nodiscard]] const std::string& pool_path() const { return config_.location; }
  [[nodiscard]] std::string PathOf(const VolumeId& id, const std::string& file = "") const {
    return pool_path() + "/volumes/" + id.uuid + (file.empty() ? "" : "/" + file);
  }
  [[nodiscard]] std::string ImageOf(const VolumeId& id) const { return PathOf(id, "image"); }
  [[nodiscard]] std::string TrashOf(const VolumeId& id) const {
    return pool_path() + "/trash/" + id.uuid;
  }

  [[nodiscard]] pool::VolumeRecord ReadRecord(const VolumeId& id) const {
    const auto volume_directory = Value(os::OpenDirectory(PathOf(id)));
    return Value(pool::DecodeRecord(Value(os::ReadFileAt(volume_directory.get(), "record.json"))));
  }
  void WriteRecord(const VolumeId& id, const pool::VolumeRecord& record) const {
    WriteFile(PathOf(id, "record.json"), pool::EncodeRecord(record));
  }
  // Rewrites the record as another process may have left it.
  template <typename Change>
  void ChangeRecord(const VolumeId& id, Change change) const {
    pool::VolumeRecord record = ReadRecord(id);
    change(record);
    WriteRecord(id, record);
  }
  void SetState(const VolumeId& id, VolumeState state_on_disk) const {
    ChangeRecord(id, [&](pool::VolumeRecord& record) { record.volume.state = state_on_disk; });
  }

  static void WriteFile(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    REQUIRE(file.good());
  }
  // Long values must be compared as CHECK((a == b)): Catch2 takes minutes to print megabytes.
  [[nodiscard]] static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.good());
    // Compares everything at once: byte by byte takes a minute for an image under AddressSanitizer.
    std::string content(std::filesystem::file_size(path), '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));
    return content;
  }

  [[nodiscard]] bool IsAttached(const VolumeId& id) const {
    return Value(pool->FindDevice(id)).has_value();
  }

  TempDirectory directory;
  os::UniqueFd state;
  pool::Quiesce quiesce;  // from the next start on
  std::unique_ptr<pool::Pools> pools;
  file::FilePool* pool = nullptr;  // the one in `pools`

 private:
  const PoolConfig config_;
};

}  // namespace holdfast::test
