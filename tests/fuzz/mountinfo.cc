// SPDX-License-Identifier: Apache-2.0
// The mount table: any program that mounts something chooses names in it. The first byte decides
// whether the rest is the table's text, or a list of mounts, which are formatted as the kernel
// does.
#include <fmt/format.h>

#include <set>

#include "input.h"
#include "os/mount_table.h"

namespace holdfast::fuzz {
namespace {

constexpr int kMaxMounts = 16;

struct Mount {
  int id = 0;
  int parent_id = 0;
  std::string root;
  std::string target;
  std::string source;
};

// A text of the kernel's: never empty and without NUL.
std::string Name(Input& input, std::string text) {
  text += input.Piece();
  std::erase(text, '\0');
  return text;
}

// As the kernel's seq_path_root does: it escapes only what would end the field.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool ends_field = c == ' ' || c == '\t' || c == '\n' || c == '\\';
    escaped += ends_field ? fmt::format("\\{:03o}", c) : std::string(1, c);
  }
  return escaped;
}

std::vector<Mount> TakeMounts(Input& input) {
  std::vector<Mount> mounts;
  while (!input.empty() && mounts.size() < kMaxMounts) {
    Mount mount;
    mount.id = input.Byte();
    mount.parent_id = input.Byte();
    mount.root = Name(input, "/");
    mount.target = Name(input, "/");
    mount.source = Name(input, "s");
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::string TextOf(const std::vector<Mount>& mounts) {
  std::string text;
  for (const Mount& mount : mounts) {
    text +=
        fmt::format("{} {} 7:3 {} {} rw,noatime shared:1 - ext4 {} rw\n", mount.id, mount.parent_id,
                    Escaped(mount.root), Escaped(mount.target), Escaped(mount.source));
  }
  return text;
}

void Search(const os::MountTable& table) {
  for (const os::MountEntry& entry : table.entries()) {
    const os::MountEntry* const seen = table.At(entry.target);
    Require(seen == nullptr || seen->target == entry.target, "a mount is where it is");
    const os::MountEntry* const same = table.WithId(entry.id);
    Require(same != nullptr && same->id == entry.id, "a mount is found by its id");
    const bool counts = entry.device != 0;
    Require(counts != table.OfDevice(entry.device).empty(), "a mount is found by its device");
    for (const os::MountEntry* const node : table.OfDeviceNode("loop3")) {
      Require(node->root.find("/loop3") != std::string::npos,
              "a device node is the one that was asked for");
    }
  }
}

void ReadBack(const std::vector<Mount>& mounts) {
  const auto table = os::MountTable::Parse(TextOf(mounts));
  Require(table.ok() && table->entries().size() == mounts.size(), "every mount is in the table");
  std::set<int> ids;
  for (const Mount& mount : mounts) ids.insert(mount.id);
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const os::MountEntry& entry = table->entries()[i];
    const bool known = ids.contains(mounts[i].parent_id) && mounts[i].parent_id != mounts[i].id;
    Require(entry.id == mounts[i].id && entry.parent_id == (known ? mounts[i].parent_id : 0),
            "ids are the kernel's");
    Require(entry.target == mounts[i].target, "a mount is where the kernel has it");
    Require(entry.root == mounts[i].root, "a mount shows what the kernel says");
    Require(entry.source == mounts[i].source, "a mount comes from where the kernel says");
    Require(
        !entry.read_only && entry.mount_options == "rw,noatime" && entry.filesystem_options == "rw",
        "options are the kernel's");
  }
  Search(*table);
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  fuzz::Input input(data, size);
  if (input.Byte() % 2 == 0) {
    fuzz::ReadBack(fuzz::TakeMounts(input));
    return 0;
  }
  const auto table = os::MountTable::Parse(input.Rest());
  if (table.ok()) fuzz::Search(*table);
  return 0;
}
