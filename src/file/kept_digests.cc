// SPDX-License-Identifier: Apache-2.0
// What a kill leaves: before the rename, a table in the trash, which the next look at the trash
// keeps; after it, a table in its place, beside an image that the next look removes. Neither is
// believed before the trash is empty.
#include "file/kept_digests.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>

#include "core/disk_names.h"
#include "core/log.h"
#include "core/volume_id.h"
#include "file/image_file.h"
#include "os/file.h"
#include "pool/volume_record.h"

namespace holdfast::file {
namespace {

constexpr int kTablesMode = 0700;
constexpr char kSeparator = '.';
constexpr int kMostAttempts = 5;

std::string NameOf(const KeptTable& table) { return table.snapshot + kSeparator + table.volume; }

std::optional<KeptTable> ParseName(const std::string& name) {
  const auto at = name.find(kSeparator);
  if (at == name.npos) return std::nullopt;
  KeptTable table{.snapshot = name.substr(0, at), .volume = name.substr(at + 1)};
  if (!IsUuid(table.snapshot) || !IsUuid(table.volume)) return std::nullopt;
  return table;
}

// Nothing if no table was ever kept.
absl::StatusOr<std::optional<os::UniqueFd>> OpenKept(int root_fd) {
  auto directory = os::OpenDirectoryAt(root_fd, kKeptDigestsName);
  if (absl::IsNotFound(directory.status())) return std::nullopt;
  RETURN_IF_ERROR(directory.status());
  return *std::move(directory);
}

absl::StatusOr<std::vector<KeptTable>> List(int kept_fd) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(kept_fd));
  std::vector<KeptTable> tables;
  for (const std::string& name : names) {
    if (auto table = ParseName(name)) tables.push_back(*std::move(table));
  }
  return tables;
}

absl::StatusOr<std::vector<KeptTable>> ListOf(int kept_fd, const std::string& snapshot) {
  ASSIGN_OR_RETURN(std::vector<KeptTable> tables, List(kept_fd));
  std::erase_if(tables, [&](const KeptTable& table) { return table.snapshot != snapshot; });
  return tables;
}

// The one in a file of that name, if it is what the name says.
absl::StatusOr<std::optional<DigestTable>> Open(int kept_fd, const KeptTable& named) {
  auto table = DigestTable::OpenFile(kept_fd, NameOf(named));
  if (absl::IsNotFound(table.status())) return std::nullopt;
  if (absl::IsDataLoss(table.status())) {
    LogWarning("kept for deleted snapshot {}: {}", named.snapshot, MessageOf(table.status()));
    return std::nullopt;
  }
  RETURN_IF_ERROR(table.status());
  const DigestHeader& header = table->header();
  if (header.snapshot != named.snapshot || header.volume != named.volume) return std::nullopt;
  return *std::move(table);
}

// What the table of the deleted snapshot has to say; nothing if no table can be its own.
std::optional<DigestHeader> HeaderOfDeleted(const absl::StatusOr<pool::VolumeRecord>& record,
                                            int image_fd, const std::string& snapshot) {
  if (!record.ok() || record->volume.id.uuid != snapshot || !record->volume.source) {
    return std::nullopt;
  }
  auto header = HeaderFor({.snapshot = snapshot,
                           .volume = record->volume.source->id.uuid,
                           .capacity = record->volume.capacity_bytes},
                          image_fd);
  return header.ok() ? std::optional(*std::move(header)) : std::nullopt;
}

absl::StatusOr<pool::VolumeRecord> ReadRecord(int directory_fd) {
  ASSIGN_OR_RETURN(const std::string text, os::ReadFileAt(directory_fd, kRecordName));
  return pool::DecodeRecord(text);
}

bool IsTableOf(const DigestHeader& header, int directory_fd, const std::string& name) {
  const auto table = DigestTable::OpenFile(directory_fd, name);
  return table.ok() && table->header() == header;
}

// Meanwhile another call may remove the directory, because its last table has gone.
absl::Status MoveTable(int root_fd, int directory_fd, const KeptTable& table) {
  const std::string name = NameOf(table);
  for (int attempt = 1;; ++attempt) {
    RETURN_IF_ERROR(os::MakeDirectoryAt(root_fd, kKeptDigestsName, kTablesMode));
    const auto kept = os::OpenDirectoryAt(root_fd, kKeptDigestsName);
    if (absl::IsNotFound(kept.status()) && attempt < kMostAttempts) continue;
    RETURN_IF_ERROR(kept.status());
    if (::renameat(directory_fd, kDigestsName, kept->get(), name.c_str()) == 0) {
      return os::Sync(root_fd, "pool directory");
    }
    const int error = errno;
    if (error != ENOENT || attempt == kMostAttempts) {
      return OsError(error, "cannot move the table of digests");
    }
  }
}

// Leaves the one that is kept for this very snapshot, if there is one. Syncs in any case: an
// earlier process may have been killed before it did.
absl::Status RemoveOthers(int root_fd, const std::string& snapshot, const DigestHeader* own) {
  ASSIGN_OR_RETURN(const auto kept, OpenKept(root_fd));
  if (!kept) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<KeptTable> tables, ListOf(kept->get(), snapshot));
  for (const KeptTable& table : tables) {
    if (own != nullptr && IsTableOf(*own, kept->get(), NameOf(table))) continue;
    RETURN_IF_ERROR(os::RemoveFileAt(kept->get(), NameOf(table)));
  }
  RETURN_IF_ERROR(os::Sync(kept->get(), "directory of kept tables of digests"));
  RemoveEmptyTableDirectory(root_fd);
  return absl::OkStatus();
}

// The tables of one volume but for those that were made last.
std::vector<KeptTable> Oldest(int kept_fd, const std::vector<KeptTable>& tables) {
  std::vector<std::pair<timespec, KeptTable>> by_age;
  for (const KeptTable& table : tables) {
    struct stat facts {};
    (void)::fstatat(kept_fd, NameOf(table).c_str(), &facts, AT_SYMLINK_NOFOLLOW);
    by_age.emplace_back(facts.st_mtim, table);
  }
  std::ranges::sort(by_age, [](const auto& one, const auto& other) {
    return std::pair(one.first.tv_sec, one.first.tv_nsec) >
           std::pair(other.first.tv_sec, other.first.tv_nsec);
  });
  std::vector<KeptTable> oldest;
  for (std::size_t i = kMostKeptTables; i < by_age.size(); ++i) oldest.push_back(by_age[i].second);
  return oldest;
}

}  // namespace

absl::StatusOr<std::vector<KeptTable>> ListKeptTables(int root_fd) {
  ASSIGN_OR_RETURN(const auto kept, OpenKept(root_fd));
  return kept ? List(kept->get()) : std::vector<KeptTable>();
}

absl::StatusOr<std::optional<DigestTable>> OpenKeptTable(int root_fd, const std::string& snapshot) {
  ASSIGN_OR_RETURN(const auto kept, OpenKept(root_fd));
  if (!kept) return std::nullopt;
  ASSIGN_OR_RETURN(const std::vector<KeptTable> tables, ListOf(kept->get(), snapshot));
  if (tables.size() != 1) return std::nullopt;  // of two nothing says which one is the last
  return Open(kept->get(), tables.front());
}

absl::Status KeepTable(int root_fd, int directory_fd, const std::string& snapshot) {
  const auto record = ReadRecord(directory_fd);
  if (record.ok() && record->volume.role != VolumeRole::kSnapshot) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory_fd));
  if (!image) return absl::OkStatus();
  const auto own = HeaderOfDeleted(record, image->get(), snapshot);
  if (own && IsTableOf(*own, directory_fd, kDigestsName)) {
    const absl::Status moved =
        MoveTable(root_fd, directory_fd, {.snapshot = snapshot, .volume = own->volume});
    if (!moved.ok()) {
      LogWarning("the table of digests of deleted snapshot {} is not kept: {}", snapshot,
                 MessageOf(moved));
    }
  }
  return RemoveOthers(root_fd, snapshot, own ? &*own : nullptr);
}

absl::StatusOr<bool> IsOfWhatIsInTrash(const DigestTable& kept, int trash_fd) {
  const DigestHeader& header = kept.header();
  const auto directory = os::OpenDirectoryAt(trash_fd, header.snapshot);
  if (absl::IsNotFound(directory.status())) return true;
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const auto image, OpenImageReadOnly(directory->get()));
  if (!image) return true;
  ASSIGN_OR_RETURN(
      const DigestHeader own,
      HeaderFor({.snapshot = header.snapshot, .volume = header.volume, .capacity = header.capacity},
                image->get()));
  return header == own;
}

absl::Status RemoveKeptTablesOf(int root_fd, const std::string& snapshot) {
  return RemoveOthers(root_fd, snapshot, nullptr);
}

absl::StatusOr<std::vector<KeptTable>> FindUnneededTables(int root_fd,
                                                          const std::set<std::string>& volumes) {
  ASSIGN_OR_RETURN(const auto kept, OpenKept(root_fd));
  if (!kept) return std::vector<KeptTable>();
  ASSIGN_OR_RETURN(const std::vector<KeptTable> tables, List(kept->get()));
  std::map<std::string, std::vector<KeptTable>> by_volume;
  for (const KeptTable& table : tables) by_volume[table.volume].push_back(table);
  std::vector<KeptTable> unneeded;
  for (const auto& [volume, of_volume] : by_volume) {
    if (volumes.contains(volume) && of_volume.size() <= kMostKeptTables) continue;
    const auto removable = volumes.contains(volume) ? Oldest(kept->get(), of_volume) : of_volume;
    unneeded.insert(unneeded.end(), removable.begin(), removable.end());
  }
  return unneeded;
}

absl::Status RemoveKeptTable(int root_fd, const KeptTable& table) {
  ASSIGN_OR_RETURN(const auto kept, OpenKept(root_fd));
  if (!kept) return absl::OkStatus();
  RETURN_IF_ERROR(os::RemoveFileAt(kept->get(), NameOf(table)));
  RemoveEmptyTableDirectory(root_fd);
  return absl::OkStatus();
}

bool HasEmptyTableDirectory(int root_fd) {
  const auto kept = OpenKept(root_fd);
  if (!kept.ok() || !*kept) return false;
  const auto left = os::ListDirectory((*kept)->get());
  return left.ok() && left->empty();
}

// If that fails, the directory is an unneeded leftover.
void RemoveEmptyTableDirectory(int root_fd) {
  if (HasEmptyTableDirectory(root_fd)) (void)os::RemoveEmptyDirectoryAt(root_fd, kKeptDigestsName);
}

}  // namespace holdfast::file
