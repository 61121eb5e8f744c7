// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <iostream>

#include "cli/demo_life.h"
#include "cli/exit_code.h"
#include "cli/host_checks.h"
#include "cli/terminal.h"
#include "core/version.h"
#include "server/pool_kinds.h"

namespace holdfast::cli {
namespace {

constexpr char kDemoFooter[] = R"(Example:

  holdfast demo

Starts a driver of its own in a temporary directory below $TMPDIR (/var/tmp), talks to it over its
socket as Kubernetes does, kills it on the way, and removes everything again, also when interrupted.
Needs root, loop devices and 1 GiB there. No other instance, volume or mount is touched.
Exit code: 0 if every step worked, 1 if one failed, 128 + the signal's number when interrupted.)";

constexpr int kExitBySignal = 128;

// xfs and btrfs first, because they grow while mounted without CAP_SYS_RESOURCE, which containers
// often lack.
constexpr std::array<const char*, 3> kFilesystems = {"xfs", "btrfs", "ext4"};

absl::Status CheckHost() {
  std::vector<Finding> findings = {CheckMountRights(), CheckKernel(KernelRelease())};
  std::ranges::move(server::PoolKinds().front().examine_host(), std::back_inserter(findings));
  for (const Finding& finding : findings) {
    if (finding.level != FindingLevel::kMissing) continue;
    return FailedPrecondition("the demo needs {}: {}; {}", finding.what, finding.found,
                              finding.remedy);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ChooseFilesystem() {
  const auto lacking = [](const Finding& finding) {
    return finding.level == FindingLevel::kMissing;
  };
  for (const std::string filesystem : kFilesystems) {
    const auto findings = CheckFilesystem(filesystem, true, KernelRelease());
    if (std::ranges::none_of(findings, lacking)) return filesystem;
  }
  return FailedPrecondition("the demo needs a filesystem to make; apt-get install xfsprogs");
}

// Prints the step that takes everything away; a life that was led to its end has left nothing.
absl::Status CleanUp(const DemoWorkspace& workspace, DemoDriver& driver, DemoSteps& steps,
                     bool complete) {
  return steps.RunAnyway("clean up", [&]() -> absl::StatusOr<std::string> {
    // Not killed: a program that it has started may still have the device open.
    const absl::Status stopped = driver.Stop();
    ASSIGN_OR_RETURN(const DemoWorkspace::Remains remains, workspace.Remove());
    const bool clean = remains.mounts + remains.loop_devices == 0;
    const std::string text =
        fmt::format("{} mounts and {} loop devices", remains.mounts, remains.loop_devices);
    if (complete && !clean) return Internal("the driver had left {}; taken away", text);
    if (complete) return "no mount or loop device was left; temporary directory removed";
    return fmt::format("took away {} and the temporary directory{}", text,
                       stopped.ok() ? "" : "; " + MessageOf(stopped));
  });
}

absl::Status Demonstrate(Interruption& interruption) {
  RETURN_IF_ERROR(CheckHost());
  ASSIGN_OR_RETURN(const std::string filesystem, ChooseFilesystem());
  ASSIGN_OR_RETURN(const DemoWorkspace workspace, DemoWorkspace::Make());
  std::cout << fmt::format("Holdfast {}: the life of a volume with {}, in {}\n\n", kVersion,
                           filesystem, workspace.path())
            << std::flush;
  DemoDriver driver(
      workspace.socket(), workspace.log(),
      {"--node-id=demo", "--state-dir=" + workspace.state(),
       fmt::format("--pool=demo=file:{},fs={},reserve=0", workspace.pool(), filesystem)});
  DemoSteps steps(interruption, WantsColours());
  const absl::Status life = DemoLife(workspace, driver, steps, filesystem).Run();
  const absl::Status cleaned = CleanUp(workspace, driver, steps, life.ok());
  return life.ok() ? cleaned : life;
}

int Run() {
  Interruption interruption;
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = Demonstrate(interruption);
  if (interruption.Signal() != 0) {
    std::cerr << "holdfast: interrupted\n";
    return kExitBySignal + interruption.Signal();
  }
  if (!status.ok()) return ExitCode(status);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format("\nAll of it worked, in {:.1f} s.\n", time.count());
  return 0;
}

}  // namespace

void AddDemoCommand(CLI::App& app, Action& run) {
  CLI::App& demo =
      *app.add_subcommand("demo", "Show a volume's whole life on real loop devices and mounts");
  demo.footer(kDemoFooter);
  demo.callback([&run] { run = Run; });
}

}  // namespace holdfast::cli
