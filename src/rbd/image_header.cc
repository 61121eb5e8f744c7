// SPDX-License-Identifier: Apache-2.0
// The answers and keys are those of the class "rbd" of the object stores (src/cls/rbd in Ceph), as
// librbd asks it.
#include "rbd/image_header.h"

#include <absl/strings/numbers.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "rbd/ceph_encoding.h"
#include "rbd/format_mark.h"
#include "rbd/omap.h"

namespace holdfast::rbd {
namespace {

constexpr std::size_t kLongestHeaderAnswer = 4096;  // names have less than a hundred bytes
constexpr std::uint64_t kHead = LIBRADOS_SNAP_HEAD;

absl::Status NotParsed(const std::string& what) { return Internal("cannot parse: {}", what); }

// The answer of the object's class; nothing if it says that there is none (ENOENT).
absl::StatusOr<std::optional<std::string>> Ask(const CephPool& pool, const std::string& object,
                                               const char* method, const std::string& input,
                                               const std::string& what) {
  std::array<char, kLongestHeaderAnswer> answer{};
  int length = 0;
  const CallResult asked = pool.Try(what, [&] {
    length = pool.library().rados_exec(pool.io(), object.c_str(), "rbd", method, input.data(),
                                       input.size(), answer.data(), answer.size());
    return length;
  });
  if (asked.error == ENOENT) return std::optional<std::string>();
  RETURN_IF_ERROR(asked.status);
  return std::optional<std::string>(std::in_place, answer.data(), static_cast<std::size_t>(length));
}

ImageSnapshot::Kind KindOf(std::uint32_t type) {
  if (type == RBD_SNAP_NAMESPACE_TYPE_USER) return ImageSnapshot::Kind::kNamed;
  return type == RBD_SNAP_NAMESPACE_TYPE_TRASH ? ImageSnapshot::Kind::kTrashed
                                               : ImageSnapshot::Kind::kOther;
}

// Of a pool and an image's id and a snapshot's; an image without a parent has no pool there.
std::optional<SnapshotIds> DecodeParent(CephDecoder& answer) {
  constexpr std::uint64_t kNoPool = ~std::uint64_t{0};
  CephDecoder parent = answer.Structure();
  const std::uint64_t pool_id = parent.Number64();
  parent.Text();  // the name space
  SnapshotIds ids{.image = parent.Text(), .snapshot = parent.Number64()};
  if (!parent.ok() || pool_id == kNoPool) return std::nullopt;
  return ids;
}

// Of the answer to get_size; nothing if it cannot be parsed.
std::optional<Bytes> DecodeSize(std::string_view answer) {
  CephDecoder decoder(answer);
  decoder.Byte();  // the order of its objects' size
  const auto size = static_cast<Bytes>(decoder.Number64());
  return decoder.ok() ? std::optional(size) : std::nullopt;
}

}  // namespace

std::string SnapshotIds::ToString() const { return fmt::format("{}@{}", image, snapshot); }

std::optional<SnapshotIds> ParseSnapshotIds(const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) return std::nullopt;
  SnapshotIds ids{.image = text.substr(0, at), .snapshot = 0};
  if (!absl::SimpleAtoi(text.substr(at + 1), &ids.snapshot)) return std::nullopt;
  return ids;
}

absl::StatusOr<std::optional<std::string>> ReadImageId(const CephPool& pool,
                                                       const std::string& name) {
  const std::string what = fmt::format("read the id of image '{}'", name);
  ASSIGN_OR_RETURN(const auto answer, Ask(pool, "rbd_id." + name, "get_id", "", what));
  if (!answer) return std::optional<std::string>();
  CephDecoder decoder(*answer);
  std::string id = decoder.Text();
  if (!decoder.ok() || id.empty()) return NotParsed(what);
  return std::optional(std::move(id));
}

absl::StatusOr<std::optional<Bytes>> ReadImageSize(const CephPool& pool,
                                                   const std::string& image_id,
                                                   std::uint64_t snapshot) {
  const std::string what = fmt::format("read the size of image {}", image_id);
  ASSIGN_OR_RETURN(const auto answer,
                   Ask(pool, HeaderOf(image_id), "get_size", Encoded(snapshot), what));
  if (!answer) return std::optional<Bytes>();
  const auto size = DecodeSize(*answer);
  if (!size) return NotParsed(what);
  return size;
}

absl::StatusOr<std::optional<HeaderSnapshot>> ReadHeaderSnapshot(const CephPool& pool,
                                                                 const SnapshotIds& ids) {
  const std::string what = fmt::format("read snapshot {} of an image", ids.ToString());
  ASSIGN_OR_RETURN(const auto answer,
                   Ask(pool, HeaderOf(ids.image), "snapshot_get", Encoded(ids.snapshot), what));
  if (!answer) return std::optional<HeaderSnapshot>();
  HeaderSnapshot found;
  CephDecoder whole(*answer);
  CephDecoder info = whole.Structure();
  found.snapshot.id = info.Number64();
  CephDecoder kind = info.Structure();
  found.snapshot.kind = KindOf(kind.Number32());
  found.snapshot.name = info.Text();
  found.snapshot.size = static_cast<Bytes>(info.Number64());
  info.Number64();  // when it was made
  found.clones = info.Number32();
  if (!info.ok() || !kind.ok()) return NotParsed(what);
  return found;
}

absl::StatusOr<std::optional<SnapshotIds>> ReadParentIds(const CephPool& pool,
                                                         const std::string& image_id) {
  const std::string what = fmt::format("read the parent of image {}", image_id);
  ASSIGN_OR_RETURN(const auto answer, Ask(pool, HeaderOf(image_id), "parent_get", "", what));
  if (!answer) return std::optional<SnapshotIds>();
  CephDecoder decoder(*answer);
  auto parent = DecodeParent(decoder);
  if (!decoder.ok()) return NotParsed(what);
  return parent;
}

absl::StatusOr<std::optional<std::string>> ReadImageName(const CephPool& pool,
                                                         const std::string& image_id) {
  const std::string what = fmt::format("read the name of image {}", image_id);
  ASSIGN_OR_RETURN(const auto answer,
                   Ask(pool, "rbd_directory", "dir_get_name", Encoded(image_id), what));
  if (!answer) return std::optional<std::string>();
  CephDecoder decoder(*answer);
  std::string name = decoder.Text();
  if (!decoder.ok()) return NotParsed(what);
  return std::optional(std::move(name));
}

absl::StatusOr<CloneFacts> ReadCloneFacts(const CephPool& pool, const std::string& image_id) {
  std::array<ClassCall, 2> calls{ClassCall{"parent_get", "", ""},
                                 ClassCall{"get_size", Encoded(kHead), ""}};
  ASSIGN_OR_RETURN(auto found, ReadOmap(pool, HeaderOf(image_id), {kFormatMarkKey}, calls));
  const auto& [parent, size] = calls;
  if (parent.answer.empty()) return Aborted("image {} was removed while it was made", image_id);
  CloneFacts facts;
  CephDecoder parent_answer(parent.answer);
  facts.parent = DecodeParent(parent_answer);
  const auto decoded_size = DecodeSize(size.answer);
  if (!parent_answer.ok() || !decoded_size) {
    return NotParsed(fmt::format("header of image {}", image_id));
  }
  facts.size = *decoded_size;
  if (found.contains(kFormatMarkKey)) facts.mark = std::move(found[kFormatMarkKey]);
  return facts;
}

absl::StatusOr<Trashing> TrashSnapshotWithoutClones(const CephPool& pool, const SnapshotIds& ids) {
  // The key of a snapshot's clones is there only while it has some.
  const std::string clones = fmt::format("snap_children_{:016x}", ids.snapshot);
  const std::string what = fmt::format("remove snapshot {} of an image", ids.ToString());
  const CallResult trashed = ChangeOmap(
      pool, HeaderOf(ids.image),
      {.guards = {{clones, ""}},
       .values = {},
       .removals = {},
       .call = {.method = "snapshot_trash_add", .input = Encoded(ids.snapshot), .answer = {}},
       .must_exist = true},
      what);
  switch (trashed.error) {
    case ECANCELED:
      return Trashing::kHasClones;
    case ENOENT:
      return Trashing::kIsGone;
    case EEXIST:
      return Trashing::kDone;
    case EBUSY:
      return FailedPrecondition("{}: it is protected; if it is not needed: rbd snap unprotect",
                                what);
    default:
      RETURN_IF_ERROR(trashed.status);
      return Trashing::kDone;
  }
}

}  // namespace holdfast::rbd
