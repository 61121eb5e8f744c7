// SPDX-License-Identifier: Apache-2.0
// A temporary directory in which volumes live and are mounted, and its complete removal.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::cli {

class DemoWorkspace final {
 public:
  // Moves this process into a mount name space of its own, from which no mount reaches the host and
  // whose mounts end with its last process, and makes a directory below $TMPDIR (/var/tmp).
  // INTERNAL when the system refuses. Call before any other thread exists (unshare(2)).
  [[nodiscard]] static absl::StatusOr<DemoWorkspace> Make();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string pool() const { return path_ + "/pool"; }
  [[nodiscard]] std::string state() const { return path_ + "/state"; }
  [[nodiscard]] std::string socket() const { return path_ + "/csi.sock"; }
  [[nodiscard]] std::string log() const { return path_ + "/serve.log"; }
  [[nodiscard]] std::string staging() const { return path_ + "/staging"; }
  [[nodiscard]] std::string target() const { return path_ + "/target"; }

  // What another step should have removed.
  struct Remains {
    int mounts = 0;
    int loop_devices = 0;
  };

  // Unmounts what is mounted below the directory, detaches the loop devices of files in it, and
  // removes it. No process may work in it any more. The error of the first thing that cannot be
  // taken away; the directory then stays, and repeating is safe.
  [[nodiscard]] absl::StatusOr<Remains> Remove() const;

 private:
  explicit DemoWorkspace(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace holdfast::cli
