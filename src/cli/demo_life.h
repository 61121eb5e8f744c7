// SPDX-License-Identifier: Apache-2.0
// A volume's whole life over the CSI socket, as a CO leads it, with a crash of the driver in it.
#pragma once

#include <string>

#include "cli/demo_driver.h"
#include "cli/demo_steps.h"
#include "cli/demo_workspace.h"
#include "core/bytes.h"

namespace holdfast::cli {

class DemoLife final {
 public:
  DemoLife(const DemoWorkspace& workspace, DemoDriver& driver, DemoSteps& steps,
           std::string filesystem)
      : workspace_(workspace), driver_(driver), steps_(steps), filesystem_(std::move(filesystem)) {}

  // From the driver's start to its stop. Ends with the first step that fails, or with CANCELLED
  // when a signal came; what was made by then is left for the workspace to take away.
  [[nodiscard]] absl::Status Run();

 private:
  using What = absl::StatusOr<std::string>;

  [[nodiscard]] absl::Status RunBeforeCrash();
  [[nodiscard]] absl::Status RunCrash();
  [[nodiscard]] absl::Status RunOffline();
  [[nodiscard]] absl::Status RunEnd();

  [[nodiscard]] What StartDriver();
  [[nodiscard]] What Create();
  [[nodiscard]] What Stage();
  [[nodiscard]] What Publish();
  [[nodiscard]] What Write();
  [[nodiscard]] What ExpandMounted();
  [[nodiscard]] What KillDriver();
  [[nodiscard]] What Compare();
  [[nodiscard]] What Statistics();
  [[nodiscard]] What Unpublish();
  [[nodiscard]] What Unstage();
  [[nodiscard]] What ExpandUnmounted();
  [[nodiscard]] What StageAgain();
  [[nodiscard]] What Delete();
  [[nodiscard]] What StopDriver();

  [[nodiscard]] csi::v1::VolumeCapability Capability() const;
  [[nodiscard]] absl::StatusOr<bool> ExpandController(Bytes size);
  [[nodiscard]] std::string DataPath() const { return workspace_.target() + "/data"; }

  const DemoWorkspace& workspace_;
  DemoDriver& driver_;
  DemoSteps& steps_;
  std::string filesystem_;
  std::string volume_id_;
  std::string checksum_;
};

}  // namespace holdfast::cli
