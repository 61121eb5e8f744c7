// SPDX-License-Identifier: Apache-2.0
// The command line of both sides, equal so that the same words make the same work.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct Options {
  std::string scenario;
  std::string directory;  // raw: holds volumes and mounts; driver: holds mounts
  std::string socket;     // driver only: path of the CSI socket
  std::string filesystem = "ext4";
  std::string prefix = "bench";  // of volume names
  bool block = false;            // raw block instead of a filesystem
  bool thick = true;
  bool guarded = false;  // raw only: first stage with the look at the ends and the two records
  std::int64_t size = std::int64_t{64} << 20;  // bytes
  int volumes = 32;
  int workers = 1;
  int page = 100;         // entries of a ListVolumes page
  int sector_size = 512;  // raw only: of loop devices
  int writers = 4;        // in a volume while its snapshot is made
  std::int64_t fill = 0;  // bytes that are written to each volume before it is copied

  [[nodiscard]] std::string NameOf(int volume) const {
    return prefix + "-" + std::to_string(volume);
  }
};

// Throws CLI::ParseError.
Options ParseOptions(int argc, char** argv);

}  // namespace bench
