// SPDX-License-Identifier: Apache-2.0
// What is read back from disk: volume records, stage records, pool markers. The first byte chooses
// the kind, and whether a correct checksum is added: otherwise only a collision would pass the
// check.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/checked_json.h"
#include "core/disk_names.h"
#include "file/pool_directory.h"
#include "os/file.h"
#include "pool/volume_record.h"
#include "scratch.h"
#include "state/node_state.h"

namespace holdfast::fuzz {
namespace {

constexpr char kVolume[] = "default:n1:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";

std::string WithChecksum(const std::string& text, const std::string& boot_id) {
  nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return text;
  object.erase("crc32");
  if (object.contains("boot_id")) object["boot_id"] = boot_id;
  try {
    return EncodeChecked(object, 1);
  } catch (const nlohmann::json::exception&) {  // text that is not UTF-8 cannot be written
    return text;
  }
}

// What newer versions add is read past, also within objects.
bool Contains(const nlohmann::json& read, const nlohmann::json& written) {
  if (!written.is_object()) return read.dump() == written.dump();
  return std::ranges::all_of(written.items(), [&](const auto& entry) {
    return read.contains(entry.key()) && Contains(read.at(entry.key()), entry.value());
  });
}

void FuzzVolumeRecord(const std::string& text) {
  const auto record = pool::DecodeRecord(text);
  if (!record.ok()) {
    Require(absl::IsInternal(record.status()), "a damaged record is INTERNAL");
    return;
  }
  Require(record->volume.capacity_bytes > 0, "a volume has a size");
  Require(IsUuid(record->volume.id.uuid), "a volume's uuid is one");
  nlohmann::json read = nlohmann::json::parse(text);
  nlohmann::json written = nlohmann::json::parse(pool::EncodeRecord(*record));
  read.erase("crc32");  // of all that was there
  written.erase("crc32");
  Require(Contains(read, written), "a record reads as it was written");
}

void WriteFile(int directory, const char* name, const std::string& text) {
  const int file = ::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  Require(file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "the scratch directory takes files");
  ::close(file);
}

struct State {
  State()
      : directory(::open(MakeScratch().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        node(*holdfast::state::NodeState::Open(directory.get())) {
    const int proc = ::open("/proc/sys/kernel/random", O_PATH);
    boot_id = os::ReadFileAt(proc, "boot_id")->substr(0, 36);
    ::close(proc);
  }
  os::UniqueFd directory;
  holdfast::state::NodeState node;
  std::string boot_id;
};

void FuzzStageRecord(State& state, const std::string& text) {
  const std::string name = std::string("stages/") + kVolume + ".json";
  WriteFile(state.directory.get(), name.c_str(), text);
  const auto record = state.node.stages.Find(kVolume);
  if (!record.ok()) {
    Require(absl::IsNotFound(record.status()), "a damaged stage record counts as none");
    return;
  }
  Require(record->volume_id == kVolume, "a stage record is of its volume");
  Require(state.node.stages.Write(*record).ok(), "what was read can be written");
  const auto again = state.node.stages.Find(kVolume);
  Require(again.ok() && again->staging_path == record->staging_path &&
              again->mount_flags == record->mount_flags &&
              again->publications == record->publications,
          "a stage record reads as it was written");
}

void FuzzMarker(State& state, const std::string& text) {
  WriteFile(state.directory.get(), kPoolMarkerName, text);
  const auto marker = file::ReadPoolMarker(state.directory.get());
  if (marker.ok()) Require(IsUuid(marker->pool_id), "a pool's id is a UUID");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  static State state;
  Input input(data, size);
  const std::uint8_t choice = input.Byte();
  const bool checksum = (choice & 1) != 0;
  const std::string text = checksum ? WithChecksum(input.Rest(), state.boot_id) : input.Rest();
  switch ((choice >> 1) % 3) {
    case 0:
      FuzzVolumeRecord(text);
      break;
    case 1:
      FuzzStageRecord(state, text);
      break;
    default:
      FuzzMarker(state, text);
  }
  return 0;
}
