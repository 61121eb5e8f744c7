// SPDX-License-Identifier: Apache-2.0
// Short texts from requests, flags and records: ids, sizes, addresses, pools, mount and mkfs
// options, paths. The first byte chooses.
#include <libmount.h>

#include <algorithm>

#include "core/host_port.h"
#include "core/message_text.h"
#include "core/pool_config.h"
#include "core/retention.h"
#include "core/trash_id.h"
#include "core/volume.h"
#include "fs/filesystem.h"
#include "os/mount_flags.h"
#include "os/request_path.h"
#include "valid_config.h"

namespace holdfast::fuzz {
namespace {

void FuzzVolumeId(const std::string& text) {
  const auto id = VolumeId::Parse(text);
  if (!id) return;
  Require(id->ToString() == text, "an id that is understood is one that was made");
  Require(text.size() <= 128, "an id fits into CSI's limit");
  Require(text.find_first_of(std::string_view("/\0\n ", 4)) == text.npos,
          "an id is a safe file name");
}

void FuzzSnapshotId(const std::string& text) {
  const auto id = ParseSnapshotId(text);
  if (!id) return;
  Require(ToSnapshotId(*id) == text, "an id that is understood is one that was made");
  Require(text.size() <= 128, "an id fits into CSI's limit");
  Require(!VolumeId::Parse(text), "no text is a volume's id and a snapshot's");
}

void FuzzTrashId(const std::string& text) {
  const auto id = TrashId::Parse(text);
  if (!id) return;
  Require(id->ToString() == text, "an id that is understood is one that was made");
  Require(TrashKey(id->place().uuid, TimeOfTrashKey(id->key)) == id->key, "a key is a safe name");
  Require(!VolumeId::Parse(text) && !ParseSnapshotId(text), "no text is two kinds of ids");
}

void FuzzRetention(const std::string& text) {
  const auto time = ParseRetention(text);
  if (!time.ok()) return;
  const auto again = ParseRetention(FormatRetention(*time));
  Require(time->count() >= 0 && again.ok() && *again == *time, "a time is written as it is read");
}

void FuzzSize(const std::string& text) {
  const auto bytes = ParseBytes(text);
  if (bytes.ok()) Require(*bytes >= 0, "a size is not negative");
  if (bytes.ok()) Require(!FormatBytes(*bytes).empty(), "a size can be written");
}

void FuzzCapacity(Input input) {
  const auto number = [&] {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | input.Byte();
    return static_cast<Bytes>(value >> 1);
  };
  const Bytes required = number();
  const Bytes limit = number();
  const Bytes minimum = number();
  const auto chosen = ChooseCapacity({required, limit}, minimum);
  if (!chosen.ok()) return;
  Require(*chosen >= required && *chosen >= minimum, "a capacity is what was asked for, or more");
  Require(limit == 0 || *chosen <= limit, "a capacity is not above the limit");
  Require(*chosen % kVolumeGranularity == 0, "a capacity is a multiple of 4096");
}

void FuzzHostPort(const std::string& text) {
  const auto parsed = ParseHostPort(text);
  if (parsed.ok()) Require(parsed->port > 0 && parsed->port < 65536, "a port is one");
}

void FuzzPool(const std::string& text) {
  const auto pool = ParsePool(text, Kinds());
  if (pool.ok()) RequireSound(*pool);
}

void FuzzMountFlags(Input input) {
  std::vector<std::string> flags;
  while (!input.empty() && flags.size() < 64) flags.push_back(input.Piece());
  if (!os::ValidateMountFlags(flags, "mount_flags").ok()) return;
  const std::string joined = os::JoinMountFlags(flags);
  Require(joined.size() < 4096, "mount(2) takes the options");
  // libmount splits them exactly as they were checked, one by one.
  std::string copy = joined;
  char* rest = copy.data();
  char* name = nullptr;
  std::size_t name_size = 0;
  std::size_t seen = 0;
  while (mnt_optstr_next_option(&rest, &name, &name_size, nullptr, nullptr) == 0) {
    Require(seen < flags.size(), "no option has become two");
    const std::string_view found(name, name_size);
    Require(flags[seen].starts_with(found), "options keep their order and names");
    Require(!found.starts_with("x-") && !found.starts_with("X-") && found != "remount" &&
                found != "bind" && found != "loop",
            "no option makes another mount of it");
    ++seen;
  }
  Require(seen == flags.size(), "no option is lost");
}

void FuzzMkfsOptions(Input input) {
  const std::vector<std::string> names = fs::SupportedFilesystems();
  const fs::Filesystem* const filesystem = fs::FindFilesystem(names[input.Byte() % names.size()]);
  const auto words = filesystem->ParseMkfsOptions(input.Rest());
  if (!words.ok()) return;
  for (const std::string& word : *words) {
    Require(word.find_first_of(std::string_view("/\0\n \"'\\", 7)) == word.npos,
            "an argument is neither a path nor two");
  }
}

void FuzzPath(const std::string& text) {
  if (!os::CheckPathText(text, "target_path").ok()) return;
  Require(text.starts_with('/') && text.size() > 1 && text.size() < 4096, "a path is absolute");
  Require(text.find("//") == text.npos && (text + "/").find("/../") == text.npos &&
              (text + "/").find("/./") == text.npos,
          "a path is in normal form");
  const auto steers = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  Require(std::ranges::none_of(text, steers), "a path has no control characters");
}

void FuzzMessage(const std::string& text) {
  const std::string message = MessageText(text);
  Require(message.size() <= kMaxMessageText, "a message is short");
  Require(std::ranges::none_of(message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
          "a message is one line");
}

void FuzzEndpoint(const std::string& text) {
  const auto path = SocketPath(text);
  if (path.ok()) Require(path->starts_with('/') && path->size() < 108, "bind(2) takes the path");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  Input input(data, size);
  switch (input.Byte() % 13) {
    case 0:
      FuzzVolumeId(input.Rest());
      break;
    case 1:
      FuzzSize(input.Rest());
      break;
    case 2:
      FuzzCapacity(input);
      break;
    case 3:
      FuzzHostPort(input.Rest());
      break;
    case 4:
      FuzzPool(input.Rest());
      break;
    case 5:
      FuzzMountFlags(input);
      break;
    case 6:
      FuzzMkfsOptions(input);
      break;
    case 7:
      FuzzPath(input.Rest());
      break;
    case 8:
      FuzzMessage(input.Rest());
      break;
    case 9:
      FuzzEndpoint(input.Rest());
      break;
    case 10:
      FuzzSnapshotId(input.Rest());
      break;
    case 11:
      FuzzTrashId(input.Rest());
      break;
    default:
      FuzzRetention(input.Rest());
  }
  return 0;
}
