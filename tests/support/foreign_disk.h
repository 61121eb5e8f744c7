// SPDX-License-Identifier: Apache-2.0
// Disks that belong to other programs: the minimal bytes by which each format is recognised, at the
// places that its specification defines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"

namespace holdfast::test {

struct ForeignDisk {
  std::string type;     // as libblkid calls it
  std::string content;  // the whole disk
};

// Writes on a blank disk in memory.
class DiskBuilder final {
 public:
  explicit DiskBuilder(Bytes size) : content_(static_cast<std::size_t>(size), '\0') {}

  DiskBuilder& Text(Bytes offset, std::string_view text) {
    content_.replace(static_cast<std::size_t>(offset), text.size(), text);
    return *this;
  }
  // `width` bytes, least significant first.
  DiskBuilder& Number(Bytes offset, std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) {
      content_[static_cast<std::size_t>(offset + i)] = static_cast<char>(value >> (8 * i));
    }
    return *this;
  }
  [[nodiscard]] std::string_view Range(Bytes offset, Bytes length) const {
    return std::string_view(content_).substr(static_cast<std::size_t>(offset),
                                             static_cast<std::size_t>(length));
  }
  [[nodiscard]] ForeignDisk Build(std::string type) const { return {std::move(type), content_}; }

 private:
  std::string content_;
};

// CRC-32 as in GPT and zlib.
inline std::uint32_t Crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

inline ForeignDisk DosPartitions(Bytes size) {
  return DiskBuilder(size)
      .Number(446 + 4, 0x83, 1)  // the first entry: Linux, from sector 2048
      .Number(446 + 8, 2048, 4)
      .Number(446 + 12, 2048, 4)
      .Number(510, 0xAA55, 2)
      .Build("dos");
}

inline ForeignDisk GptPartitions(Bytes size) {
  constexpr Bytes kHeader = 512;
  constexpr Bytes kEntries = 1024;
  const auto last_sector = static_cast<std::uint64_t>(size / 512 - 1);
  DiskBuilder disk(size);
  disk.Number(446 + 4, 0xEE, 1).Number(446 + 8, 1, 4).Number(446 + 12, last_sector, 4);
  disk.Number(510, 0xAA55, 2);
  disk.Text(kHeader, "EFI PART").Number(kHeader + 8, 0x10000, 4).Number(kHeader + 12, 92, 4);
  disk.Number(kHeader + 24, 1, 8).Number(kHeader + 32, last_sector, 8);
  disk.Number(kHeader + 40, 34, 8).Number(kHeader + 48, last_sector - 33, 8);
  disk.Number(kHeader + 56, 0x1122334455667788, 8).Number(kHeader + 72, 2, 8);
  disk.Number(kHeader + 80, 128, 4).Number(kHeader + 84, 128, 4);
  disk.Number(kHeader + 88, Crc32(disk.Range(kEntries, 128 * 128)), 4);
  disk.Number(kHeader + 16, Crc32(disk.Range(kHeader, 92)), 4);
  return disk.Build("gpt");
}

inline ForeignDisk Luks(Bytes size, char version) {
  DiskBuilder disk(size);
  disk.Text(0, std::string_view("LUKS\xba\xbe\0", 7)).Number(7, static_cast<unsigned>(version), 1);
  if (version == 2) disk.Number(14, 0x40, 1);  // header size 16 KiB, most significant byte first
  return disk.Build("crypto_LUKS");
}

inline ForeignDisk LvmPhysicalVolume(Bytes size) {
  return DiskBuilder(size)
      .Text(512, "LABELONE")
      .Number(520, 1, 8)  // the label's own sector
      .Number(532, 32, 4)
      .Text(536, "LVM2 001")
      .Text(544, "0123456789abcdefghijklmnopqrstuv")
      .Build("LVM2_member");
}

// md superblock 1.0 (8 KiB before the end), 1.1 (start), 1.2 (4 KiB).
inline ForeignDisk MdRaid(Bytes size, Bytes superblock) {
  return DiskBuilder(size)
      .Number(superblock, 0xA92B4EFC, 4)
      .Number(superblock + 4, 1, 4)
      .Text(superblock + 16, "0123456789abcdef")
      .Number(superblock + 144, static_cast<std::uint64_t>(superblock / 512), 8)
      .Build("linux_raid_member");
}

inline ForeignDisk Swap(Bytes size) {
  return DiskBuilder(size)
      .Number(1024, 1, 4)
      .Number(1028, static_cast<std::uint64_t>(size / 4096 - 1), 4)
      .Text(4096 - 10, "SWAPSPACE2")
      .Build("swap");
}

inline ForeignDisk Vfat(Bytes size) {
  return DiskBuilder(size)
      .Text(0, std::string_view("\xEB\x3C\x90mkfs.fat", 11))
      .Number(11, 512, 2)  // bytes of a sector
      .Number(13, 4, 1)    // sectors of a cluster
      .Number(14, 4, 2)    // reserved sectors
      .Number(16, 2, 1)    // FATs
      .Number(17, 512, 2)  // root entries
      .Number(19, static_cast<std::uint64_t>(size / 512 - 1), 2)
      .Number(21, 0xF8, 1)
      .Number(22, 32, 2)  // sectors of a FAT
      .Number(38, 0x29, 1)
      .Text(54, "FAT16   ")
      .Number(510, 0xAA55, 2)
      .Build("vfat");
}

inline ForeignDisk Ntfs(Bytes size) {
  constexpr Bytes kTable = 4 * 4096;
  DiskBuilder disk(size);
  disk.Text(3, "NTFS    ").Number(11, 512, 2).Number(13, 8, 1).Number(21, 0xF8, 1);
  disk.Number(40, static_cast<std::uint64_t>(size / 512 - 1), 8).Number(48, 4, 8);
  disk.Number(56, 100, 8).Number(64, 0xF6, 1).Number(68, 1, 1).Number(72, 0x1234567890, 8);
  disk.Number(510, 0xAA55, 2);
  for (int record = 0; record < 4; ++record) {
    const Bytes at = kTable + record * 1024;
    disk.Text(at, "FILE").Number(at + 20, 56, 2).Number(at + 24, 416, 4).Number(at + 28, 1024, 4);
    disk.Number(at + 56, 0xFFFFFFFF, 4);
  }
  return disk.Build("ntfs");
}

inline ForeignDisk Exfat(Bytes size) {
  return DiskBuilder(size)
      .Text(0, std::string_view("\xEB\x76\x90"
                                "EXFAT   ",
                                11))
      .Number(72, static_cast<std::uint64_t>(size / 512), 8)
      .Number(80, 128, 4)   // FAT offset
      .Number(84, 64, 4)    // FAT length
      .Number(88, 256, 4)   // cluster heap
      .Number(92, 1000, 4)  // clusters
      .Number(96, 4, 4)     // root cluster
      .Number(104, 0x100, 2)
      .Number(108, 9, 1)
      .Number(109, 3, 1)
      .Number(110, 1, 1)
      .Number(510, 0xAA55, 2)
      .Build("exfat");
}

// libblkid looks for it on disks of 64 MiB and more.
inline ForeignDisk Zfs() {
  DiskBuilder disk(64 * kMiB);
  for (int i = 0; i < 4; ++i) disk.Number(128 * kKiB + i * kKiB, 0x00BAB10C, 8);
  return disk.Build("zfs_member");
}

inline std::vector<ForeignDisk> ForeignDisks(Bytes size) {
  return {
      DosPartitions(size),
      GptPartitions(size),
      Luks(size, 1),
      Luks(size, 2),
      LvmPhysicalVolume(size),
      MdRaid(size, 0),
      MdRaid(size, 4096),
      MdRaid(size, size - 8192),
      Swap(size),
      Vfat(size),
      Ntfs(size),
      Exfat(size),
      Zfs(),
      DiskBuilder(size).Text(0, "hsqs").Number(28, 4, 2).Build("squashfs"),
      DiskBuilder(size).Text(32768, "\1CD001\1").Build("iso9660"),
      DiskBuilder(size).Text(0, "bluestore block device").Build("ceph_bluestore"),
      DiskBuilder(size).Number(1024, 0xF2F52010, 4).Number(1028, 1, 2).Build("f2fs"),
  };
}

}  // namespace holdfast::test
