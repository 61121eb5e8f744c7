// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_superblock.h"

#include <catch2/catch.hpp>

namespace holdfast::fs {
namespace ext_superblock_test {

constexpr std::uint32_t kGroup = 32768;  // blocks of one group, 128 MiB
constexpr std::uint32_t kMetadata = 600;
constexpr std::uint32_t kSmallest = 650;  // metadata and 50 blocks of space
constexpr Bytes kBlock = 4096;

ExtSuperblock Superblock(std::uint64_t blocks) {
  return {.blocks = blocks,
          .block_size = kBlock,
          .first_block = 0,
          .blocks_per_group = kGroup,
          .metadata_blocks = kMetadata,
          .block_numbers_64bit = true,
          .has_errors = false};
}

TEST_CASE("ext grows to its device except for a last group without room") {
  struct Case {
    std::uint64_t blocks, device_blocks, reachable;
  };
  const Case c = GENERATE(values<Case>({
      {kGroup, kGroup, kGroup},
      {kGroup, kGroup - 1, kGroup},  // never shrinks
      {kGroup, kGroup + 1, kGroup},
      {kGroup, kGroup + kSmallest - 1, kGroup},
      {kGroup, kGroup + kSmallest, kGroup + kSmallest},
      {kGroup, 2 * kGroup, 2 * kGroup},
      {kGroup, 2 * kGroup + 1, 2 * kGroup},
      // A last group that is there already grows by any amount.
      {4096, 4097, 4097},
      {kGroup + 500, kGroup + 501, kGroup + 501},
      {kGroup - 1, kGroup + 1, kGroup},
  }));
  CAPTURE(c.blocks, c.device_blocks);
  const Bytes size = static_cast<Bytes>(c.device_blocks) * kBlock;
  CHECK(ReachableBlocks(Superblock(c.blocks), size) == c.reachable);
  CHECK(ReachableBlocks(Superblock(c.blocks), size + kBlock - 512) == c.reachable);
  CHECK(ReachableBlocks(Superblock(c.reachable), size) == c.reachable);
}

TEST_CASE("ext without 64-bit block numbers stops at 16 TiB") {
  ExtSuperblock superblock = Superblock(kGroup);
  superblock.block_numbers_64bit = false;
  CHECK(ReachableBlocks(superblock, 20 * kTiB) == 0xFFFFFFFF);
}

TEST_CASE("ext groups of 1 KiB blocks start at block 1") {
  ExtSuperblock superblock = Superblock(8193);
  superblock.block_size = 1024;
  superblock.first_block = 1;
  superblock.blocks_per_group = 8192;
  CHECK(ReachableBlocks(superblock, (8193 + 7) * 1024) == 8193);
  CHECK(ReachableBlocks(superblock, (8193 + 8192 + 3) * 1024) == 8193 + 8192);
}

}  // namespace ext_superblock_test
}  // namespace holdfast::fs
