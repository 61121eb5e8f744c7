// SPDX-License-Identifier: Apache-2.0
#include "fs/filesystem.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "core/volume_id.h"
#include "fs/ext_superblock.h"
#include "fs/probe.h"
#include "os/capabilities.h"
#include "support/loop_image.h"

namespace holdfast::fs {
namespace {

using test::AttachedLoop;
using test::ImageFile;
using test::TempDirectory;

constexpr Bytes kPage = 4 * kKiB;

// A volume as the rest of the driver would handle it: an image, its device, a mount point.
class Volume final {
 public:
  Volume(const std::string& type, Bytes size)
      : filesystem_(FindFilesystem(type)),
        image_(directory_.path("image"), size),
        loop_(image_.fd()),
        device_(loop_->block) {
    REQUIRE(::mkdir(path().c_str(), 0700) == 0);
  }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  ~Volume() { Unmount(); }

  void Make(FormatOptions options = {.uuid = "", .extra = {}}) {
    options.uuid = uuid_;
    const absl::Status made = filesystem_->Make(device_, options);
    INFO(made);
    REQUIRE(made.ok());
  }
  void Mount() {
    INFO("mount of " << filesystem_->name() << " of " << device_.size << " bytes");
    REQUIRE(::mount(device_.path.c_str(), path().c_str(), std::string(filesystem_->name()).c_str(),
                    0, nullptr) == 0);
  }
  void Unmount() {
    if (::umount2(path().c_str(), UMOUNT_NOFOLLOW) != 0 && errno != EINVAL) {
      WARN("left mounted: " << path() << ": " << std::strerror(errno));
    }
  }
  // Makes image and device larger.
  void Enlarge(Bytes size) {
    REQUIRE(::ftruncate(image_.fd(), size) == 0);
    const auto seen = os::RefreshLoop(loop_.get());
    REQUIRE(seen.ok());
    REQUIRE(*seen == size);
    device_.size = size;
  }

  [[nodiscard]] bool CanGrow() const {
    const auto can = filesystem_->CanGrow(device_, path());
    INFO(can.status());
    REQUIRE(can.ok());
    return *can;
  }
  // What the filesystem says it has, its own bookkeeping included where it shows it.
  [[nodiscard]] Bytes Size() const {
    struct statvfs facts {};
    REQUIRE(::statvfs(path().c_str(), &facts) == 0);
    return static_cast<Bytes>(facts.f_blocks * facts.f_frsize);
  }
  [[nodiscard]] std::string ReadDevice(Bytes offset, std::size_t length) const {
    const os::UniqueFd fd(::open(device_.path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(length, '\0');
    REQUIRE(::pread(fd.get(), bytes.data(), length, offset) == static_cast<ssize_t>(length));
    return bytes;
  }
  void WriteDevice(Bytes offset, std::string_view bytes) const {
    const os::UniqueFd fd(::open(device_.path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), offset) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // A change by debugfs(8), which keeps checksums right.
  void Debugfs(const std::string& request) const {
    const absl::Status status = os::RunCommandOrFail({"debugfs", "-w", "-R", request, device_.path},
                                                     std::chrono::minutes(1));
    INFO(status);
    REQUIRE(status.ok());
  }

  [[nodiscard]] std::string path() const { return directory_.path("mount"); }
  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] const Filesystem& filesystem() const { return *filesystem_; }
  [[nodiscard]] const os::BlockDevice& device() const { return device_; }
  [[nodiscard]] const ImageFile& image() const { return image_; }

 private:
  TempDirectory directory_;
  const Filesystem* filesystem_;
  ImageFile image_;
  AttachedLoop loop_;
  os::BlockDevice device_;
  // Each its own: mkfs.btrfs looks for the UUID on every device, also on recently detached ones.
  std::string uuid_ = RandomUuid();
};

unsigned LittleEndian16(const std::string& bytes) {
  return static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8U;
}

void WriteFile(const std::string& path, const std::string& content) {
  const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(fd.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
  REQUIRE(::fsync(fd.get()) == 0);
}

std::string ReadFile(const std::string& path) {
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content(1 << 20, '\0');
  const ssize_t length = ::read(fd.get(), content.data(), content.size());
  REQUIRE(length >= 0);
  content.resize(static_cast<std::size_t>(length));
  return content;
}

// Offline growth of ext is for processes that may not grow it online.
bool GrowsBeforeMount(const Volume& volume) {
  return volume.filesystem().name().starts_with("ext") && !os::HasCapSysResource();
}

TEST_CASE("filesystems are found by name") {
  CHECK(SupportedFilesystems() == std::vector<std::string>{"ext4", "ext3", "xfs", "btrfs"});
  for (const std::string& name : SupportedFilesystems()) {
    REQUIRE(FindFilesystem(name) != nullptr);
    CHECK(FindFilesystem(name)->name() == name);
    CHECK(FindFilesystem(name)->programs().front() == "mkfs." + name);
  }
  CHECK(FindFilesystem("ext2") == nullptr);
  CHECK(FindFilesystem("") == nullptr);
}

TEST_CASE("the smallest device is formatted, mounted and written") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  const bool keep_allocation = GENERATE(true, false);
  CAPTURE(type, keep_allocation);
  Volume volume(type, FindFilesystem(type)->min_size());
  volume.Make({.uuid = "", .keep_allocation = keep_allocation, .extra = {}});
  CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
  CHECK(volume.filesystem().PrepareMount(volume.device()).ok());
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  CHECK_FALSE(volume.CanGrow());
  volume.Unmount();
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
}

TEST_CASE("the smallest ext has a journal, blocks of 4 KiB and no reserve for root") {
  const std::string type = GENERATE("ext4", "ext3");
  Volume volume(type, FindFilesystem(type)->min_size());
  volume.Make();
  CHECK((LittleEndian16(volume.ReadDevice(1024 + 0x5C, 2)) & 4) != 0);   // has_journal
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x18, 2)) == 2);         // 1 KiB << 2
  CHECK(volume.ReadDevice(1024 + 0x08, 4) == std::string(4, '\0'));      // reserved blocks
}

TEST_CASE("formatting a thick volume keeps every block") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  const Bytes size = 320 * kMiB;
  Volume volume(type, size);
  REQUIRE(::fallocate(volume.image().fd(), 0, 0, size) == 0);
  REQUIRE(volume.image().AllocatedBytes() >= size);
  SECTION("as asked") {
    volume.Make({.uuid = "", .keep_allocation = true, .extra = {}});
    CHECK(volume.image().AllocatedBytes() >= size);
  }
  SECTION("also with the user's own options") {
    const std::string text = type.starts_with("ext") ? "-E stride=4" : "-s 4096";
    const auto extra = volume.filesystem().ParseMkfsOptions(type == "xfs" ? "-m rmapbt=1" : text);
    REQUIRE(extra.ok());
    volume.Make({.uuid = "", .keep_allocation = true, .extra = *extra});
    CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
    CHECK(volume.image().AllocatedBytes() >= size);
  }
  SECTION("and a thin one gives blocks back, so the check can fail") {
    volume.Make({.uuid = "", .keep_allocation = false, .extra = {}});
    CHECK(volume.image().AllocatedBytes() < size / 2);
  }
}

TEST_CASE("the user's mkfs options win over the defaults") {
  Volume volume("ext4", 64 * kMiB);
  const auto extra = volume.filesystem().ParseMkfsOptions("-b 1024 -E stride=4 -m 5");
  REQUIRE(extra.ok());
  volume.Make({.uuid = "", .extra = *extra});
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x18, 2)) == 0);           // blocks of 1 KiB
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x164, 2)) == 4);          // stride
  CHECK(LittleEndian16(volume.ReadDevice(1024 + 0x08, 2)) == 65536 / 20);  // reserved blocks
}

TEST_CASE("mkfs takes every option that is allowed") {
  const auto [type, text] = GENERATE(table<std::string, std::string>({
      {"ext4", "-b 4096 -e remount-ro -i 8192 -I 512 -m 1 -G 32 -J size=8 -T news"},
      {"ext4", "-N 20000 -O ^dir_index,^metadata_csum,^huge_file,^dir_nlink,^flex_bg,^64bit"},
      {"ext4", "-O quota,project,inline_data,large_dir,ea_inode,fast_commit,stable_inodes"},
      {"ext4", "-O orphan_file,metadata_csum_seed,encrypt,verity -J fast_commit_size=1,size=8"},
      {"ext4", "-E stride=4,stripe_width=8,packed_meta_blocks=1,root_owner=7:7,lazy_itable_init=0"},
      {"ext4", "-O casefold -E encoding=utf8,encoding_flags=strict"},
      {"ext4", "-O quota -E quotatype=usrquota,stripe-width=8,lazy_journal_init=0 -T largefile4"},
      {"ext3", "-b 2048 -O ^dir_index,large_file -T small"},
      {"xfs", "-b size=4096 -d agcount=2,su=64k,sw=2 -i size=1024,maxpct=10,sparse=0 -n size=8k"},
      {"xfs", "-d agsize=80m,sunit=128,swidth=256 -i perblock=4 -l size=64m,sunit=8"},
      {"xfs", "-d noalign -i nrext64=1 -l su=32k"},
      {"xfs", "-m finobt=0,reflink=0,rmapbt=1,bigtime=0,inobtcount=0 -s size=4096"},
      {"btrfs", "-n 8192 -s 4096 -m single -d single --csum sha256 -R quota"},
      {"btrfs", "--nodesize 4096 --sectorsize 4096 --metadata dup --data dup --mixed"},
      {"btrfs", "-M -O extref,skinny-metadata,^no-holes -R ^free-space-tree"},
      {"btrfs", "-O mixed-bg,no-holes -R free-space-tree -n 4k"},
  }));
  CAPTURE(type, text);
  Volume volume(type, 320 * kMiB);
  const auto extra = volume.filesystem().ParseMkfsOptions(text);
  CAPTURE(extra.status());
  REQUIRE(extra.ok());
  volume.Make({.uuid = "", .extra = *extra});
  CHECK(RequireFilesystem(volume.device(), type, volume.uuid()).ok());
}

TEST_CASE("a failing mkfs is reported with its words") {
  Volume volume("xfs", 64 * kMiB);
  const absl::Status status =
      volume.filesystem().Make(volume.device(), {.uuid = volume.uuid(), .extra = {}});
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("mkfs.xfs") && Catch::Contains("300MB"));
}

TEST_CASE("xfs and btrfs are not made over another filesystem") {
  const std::string type = GENERATE("xfs", "btrfs");
  Volume volume(type, 320 * kMiB);
  REQUIRE(FindFilesystem("ext4")->Make(volume.device(), {.uuid = volume.uuid(), .extra = {}}).ok());
  CHECK_FALSE(volume.filesystem().Make(volume.device(), {.uuid = volume.uuid(), .extra = {}}).ok());
  CHECK(RequireFilesystem(volume.device(), "ext4", volume.uuid()).ok());
}

// One enlargement: grown before the mount or while mounted, then CanGrow says no and the data is
// there. Returns the filesystem's size.
Bytes EnlargeAndGrow(Volume& volume, Bytes size) {
  INFO("to " << size << " bytes");
  volume.Unmount();
  volume.Enlarge(size);
  REQUIRE(volume.filesystem().PrepareMount(volume.device()).ok());
  volume.Mount();
  if (GrowsBeforeMount(volume)) CHECK_FALSE(volume.CanGrow());
  const absl::Status grown = volume.filesystem().Grow(volume.device(), volume.path());
  INFO(grown);
  REQUIRE(grown.ok());
  CHECK_FALSE(volume.CanGrow());
  CHECK(ReadFile(volume.path() + "/file") == "content");
  return volume.Size();
}

TEST_CASE("every filesystem grows to a much larger device") {
  const auto [type, from] = GENERATE(table<std::string, Bytes>({
      {"ext4", 16 * kMiB},
      {"ext3", 16 * kMiB},
      {"ext4", 300 * kMiB},
      {"xfs", 300 * kMiB},
      {"btrfs", 256 * kMiB},
  }));
  CAPTURE(type, from);
  Volume volume(type, from);
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  const Bytes before = volume.Size();
  const Bytes after = EnlargeAndGrow(volume, from + kGiB);
  CHECK(after - before > kGiB * 9 / 10);
  CHECK(after - before <= kGiB);
}

TEST_CASE("CanGrow and Grow agree for odd sizes") {
  const auto [type, from] = GENERATE(table<std::string, Bytes>({
      {"ext4", 128 * kMiB},
      {"ext3", 128 * kMiB},
      {"xfs", 300 * kMiB},
      {"btrfs", 256 * kMiB},
      {"ext4", 127 * kMiB + 3 * kPage},
      {"xfs", 301 * kMiB + 5 * kPage},
      {"btrfs", 257 * kMiB + 7 * kPage},
  }));
  CAPTURE(type, from);
  Volume volume(type, from);
  volume.Make();
  volume.Mount();
  CHECK_FALSE(volume.CanGrow());
  WriteFile(volume.path() + "/file", "content");
  Bytes size = from;
  for (const int pages : {1, 2, 15, 45, 1, 1, 63, 64, 300, 4000, 12288, 16383, 19137, 31999, 7}) {
    const Bytes before = volume.Size();
    size += pages * kPage;
    CHECK(EnlargeAndGrow(volume, size) >= before);
  }
}

TEST_CASE("an xfs remainder too small for an allocation group is not offered") {
  Volume volume("xfs", 300 * kMiB);  // groups of 75 MiB
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  volume.Enlarge(300 * kMiB + 63 * kPage);
  CHECK_FALSE(volume.CanGrow());
  volume.Enlarge(300 * kMiB + 64 * kPage);
  CHECK(volume.CanGrow());
  REQUIRE(volume.filesystem().Grow(volume.device(), volume.path()).ok());
  CHECK_FALSE(volume.CanGrow());
}

TEST_CASE("growth while mounted shows at once, or says what is missing") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  Volume volume(type, 300 * kMiB);
  volume.Make();
  volume.Mount();
  const Bytes before = volume.Size();
  volume.Enlarge(600 * kMiB);
  CHECK(volume.CanGrow());
  const absl::Status status = volume.filesystem().Grow(volume.device(), volume.path());
  INFO(status);
  if (GrowsBeforeMount(volume)) {
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(MessageOf(status), Catch::Contains("CAP_SYS_RESOURCE"));
    CHECK(volume.CanGrow());
    CHECK(volume.Size() == before);
  } else {
    CHECK(status.ok());
    CHECK_FALSE(volume.CanGrow());
    CHECK(volume.Size() > before + 250 * kMiB);
  }
}

TEST_CASE("recorded errors are named when ext cannot grow while mounted") {
  if (os::HasCapSysResource()) {
    WARN("skipped: a kernel that may grow ext4 has its own copy of the error flag");
    return;
  }
  Volume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Debugfs("set_super_value state 3");
  volume.Mount();
  volume.Enlarge(128 * kMiB);
  const absl::Status status = volume.filesystem().Grow(volume.device(), volume.path());
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("recorded errors"));
}

TEST_CASE("nothing is grown where the device is not mounted") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  CAPTURE(type);
  Volume volume(type, 300 * kMiB);
  volume.Make();
  volume.Enlarge(600 * kMiB);
  CHECK(volume.filesystem().CanGrow(volume.device(), volume.path()).status().code() ==
        absl::StatusCode::kInternal);
  const absl::Status status = volume.filesystem().Grow(volume.device(), volume.path());
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("not mounted"));
  CHECK(volume.filesystem().Grow(volume.device(), volume.path() + "/none").code() ==
        absl::StatusCode::kNotFound);
}

TEST_CASE("preparing a clean ext changes nothing") {
  Volume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Mount();
  volume.Unmount();
  const std::string before = volume.ReadDevice(0, 4 * kMiB);
  REQUIRE(volume.filesystem().PrepareMount(volume.device()).ok());
  const bool equal = volume.ReadDevice(0, 4 * kMiB) == before;
  CHECK(equal);
}

TEST_CASE("ext with recorded errors is checked before it is mounted") {
  const std::string type = GENERATE("ext4", "ext3");
  Volume volume(type, 64 * kMiB);
  volume.Make();
  volume.Debugfs("set_super_value state 3");
  REQUIRE(ReadExtSuperblock(volume.device(), Mounted::kNo)->has_errors);
  const absl::Status status = volume.filesystem().PrepareMount(volume.device());
  INFO(status);
  CHECK(status.ok());
  CHECK_FALSE(ReadExtSuperblock(volume.device(), Mounted::kNo)->has_errors);
}

TEST_CASE("ext that only a person can repair is refused with the program to run") {
  Volume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Debugfs("clri <2>");
  volume.Debugfs("set_super_value state 3");
  const absl::Status status = volume.filesystem().PrepareMount(volume.device());
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("e2fsck -f " + volume.device().path) &&
                                    Catch::Contains("UNEXPECTED INCONSISTENCY"));
}

TEST_CASE("ext without a usable superblock is refused with the program to run") {
  Volume volume("ext4", 64 * kMiB);
  volume.Make();
  SECTION("damaged") { volume.WriteDevice(1024 + 0x3FC, "\x13\x57\x9b\xdf"); }
  SECTION("wiped") { volume.WriteDevice(1024, std::string(1024, '\0')); }
  const absl::Status status = volume.filesystem().PrepareMount(volume.device());
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("e2fsck -f " + volume.device().path));
}

TEST_CASE("ext on a device that cannot be read is an error") {
  Volume volume("ext4", 64 * kMiB);
  REQUIRE(::ftruncate(volume.image().fd(), 0) == 0);
  CHECK(volume.filesystem().PrepareMount(volume.device()).code() == absl::StatusCode::kInternal);
}

TEST_CASE("the journal of an interrupted mount is replayed before offline growth") {
  Volume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  // A copy of the mounted device is what a power cut leaves.
  const std::string crashed = volume.ReadDevice(0, 64 * kMiB);
  volume.Unmount();
  volume.WriteDevice(0, crashed);
  EnlargeAndGrow(volume, 128 * kMiB);
}

}  // namespace
}  // namespace holdfast::fs
