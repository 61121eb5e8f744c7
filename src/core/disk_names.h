// SPDX-License-Identifier: Apache-2.0
// The names of the files that Holdfast keeps on disk; docs/on-disk.md describes their contents. If
// a name changes, existing pools of image files are no longer recognised.
#pragma once

namespace holdfast {

// ---- in the directory of a pool

inline constexpr char kPoolMarkerName[] = "holdfast-pool.json";
inline constexpr char kTemporaryMarkerName[] = "holdfast-pool.json.tmp";
inline constexpr char kPoolLockName[] = "lock";
inline constexpr char kVolumesName[] = "volumes";      // a directory for each volume, by UUID
inline constexpr char kTrashName[] = "trash";          // the same, of deleted volumes
inline constexpr char kKeptDigestsName[] = "digests";  // a table for each deleted snapshot

// ---- in the directory of a volume

inline constexpr char kRecordName[] = "record.json";
inline constexpr char kTemporaryRecordName[] = "record.json.tmp";  // while it is written
inline constexpr char kImageName[] = "image";
inline constexpr char kDigestsName[] = "digests";  // of a snapshot's image
inline constexpr char kTemporaryDigestsName[] = "digests.tmp";

// ---- in the state directory

inline constexpr char kStateLockName[] = "lock";
inline constexpr char kKnownPoolsName[] = "pools";  // <pool>.json: the storage that it had
inline constexpr char kStagesName[] = "stages";     // <volume id>.json, .undo, ...
inline constexpr char kStageSuffix[] = ".json";
inline constexpr char kUndoSuffix[] = ".undo";
inline constexpr char kUsedUndoSuffix[] = ".undo.used";      // while it is written back
inline constexpr char kTemporaryUndoSuffix[] = ".undo.tmp";  // while it is made

}  // namespace holdfast
