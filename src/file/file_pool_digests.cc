// SPDX-License-Identifier: Apache-2.0
// The tables of digests of a file pool: made in the background for snapshots whose blocks were
// asked for, kept when these are deleted (docs/adr/0031).
#include <algorithm>

#include "core/disk_names.h"
#include "core/log.h"
#include "file/digest_making.h"
#include "file/file_pool.h"
#include "file/image_copy.h"
#include "file/kept_digests.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

TableOwner OwnerOf(const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  return {.snapshot = volume.id.uuid,
          .volume = volume.source ? volume.source->id.uuid : "",
          .capacity = volume.capacity_bytes};
}

}  // namespace

// A snapshot of the same volume with a table, and perhaps many blocks in the same places.
struct FilePool::Donor {
  OpenSnapshot snapshot;
  DigestTable digests;
};

// One that is missing is made in the background, and the bytes are read until it is there.
absl::StatusOr<std::optional<DigestTable>> FilePool::OpenDigests(const VerifiedPool& pool,
                                                                 const OpenSnapshot& snapshot) {
  const std::string& uuid = snapshot.record.volume.id.uuid;
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  if (absl::IsNotFound(directory.status())) return std::nullopt;  // deleted just now
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(auto table, DigestTable::Open(directory->get(), snapshot.image.get(),
                                                 OwnerOf(snapshot.record)));
  if (!table) wanted_digests_.Add(uuid);
  return table;
}

void FilePool::ReplaceIfDamaged(const VerifiedPool& pool, const OpenSnapshot& snapshot,
                                const std::optional<DigestTable>& table) {
  if (!table || !table->is_damaged()) return;
  const std::string& uuid = snapshot.record.volume.id.uuid;
  LogWarning("the table of digests of snapshot {} is damaged, and made again", uuid);
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  if (directory.ok()) (void)os::RemoveFileAt(directory->get(), kDigestsName);
  wanted_digests_.Add(uuid);
}

// The snapshot that was made last has most in common with it.
std::optional<FilePool::Donor> FilePool::FindDonor(const VerifiedPool& pool,
                                                   const OpenSnapshot& snapshot) {
  const Volume& own = snapshot.record.volume;
  std::vector<Volume> others = records_.List(VolumeRole::kSnapshot, "", 0);
  std::erase_if(others, [&](const Volume& other) {
    return other.id.uuid == own.id.uuid || other.source != own.source ||
           other.provisioning != Provisioning::kThin || other.created_at > own.created_at;
  });
  std::ranges::sort(others, std::ranges::greater(), &Volume::created_at);
  for (const Volume& other : others) {
    auto opened = Open(other.id);
    const auto directory = os::OpenDirectoryAt(pool.volumes, other.id.uuid);
    if (!opened.ok() || !directory.ok()) continue;
    auto table = DigestTable::Open(directory->get(), opened->image.get(), OwnerOf(opened->record));
    if (table.ok() && *table) return Donor{*std::move(opened), **std::move(table)};
  }
  return std::nullopt;
}

// Not while a thick image gets blocks of its own: that changes what a table is bound to.
absl::StatusOr<bool> FilePool::ContinueDigests(const VerifiedPool& pool, const VolumeId& snapshot,
                                               Bytes& reached) {
  ASSIGN_OR_RETURN(const OpenSnapshot opened, Open(snapshot));
  ASSIGN_OR_RETURN(const bool shares, IsUnfinishedCopy(opened.image.get()));
  if (shares && opened.record.volume.provisioning == Provisioning::kThick) return false;
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(pool.volumes, snapshot.uuid));
  std::optional<Donor> donor;
  if (shares) donor = FindDonor(pool, opened);
  TableDonor donated;
  if (donor) donated = {.image_fd = donor->snapshot.image.get(), .digests = &donor->digests};
  return MakeDigestTable(directory.get(), opened.image.get(), OwnerOf(opened.record),
                         donor ? &donated : nullptr, reached);
}

absl::StatusOr<bool> FilePool::MakeDigests(const VerifiedPool& pool, const VolumeId& snapshot) {
  Bytes reached = wanted_digests_.Find(snapshot.uuid).value_or(0);
  const auto made = ContinueDigests(pool, snapshot, reached);
  if (made.ok() && !*made) {
    wanted_digests_.Note(snapshot.uuid, reached);
    return false;
  }
  wanted_digests_.Remove(snapshot.uuid);
  // Without a table the bytes are read. The next question about the snapshot asks for one again.
  if (!made.ok() && !absl::IsNotFound(made.status())) {
    LogWarning("snapshot {} gets no table of digests: {}", snapshot.uuid, MessageOf(made.status()));
  }
  return true;
}

absl::StatusOr<bool> FilePool::RemoveUnneededTables(const VerifiedPool& pool) {
  ASSIGN_OR_RETURN(const auto unneeded, FindUnneededTables(pool.root, records_.VolumesOfAnyUse()));
  for (const KeptTable& table : unneeded) {
    RETURN_IF_ERROR(RemoveKeptTable(pool.root, table));
  }
  const bool is_empty = HasEmptyTableDirectory(pool.root);
  if (is_empty) RemoveEmptyTableDirectory(pool.root);
  return !unneeded.empty() || is_empty;
}

}  // namespace holdfast::file
