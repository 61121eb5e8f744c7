// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/inventory_selection.h"
#include "cli/inventory_tables.h"
#include "cli/io_rates.h"
#include "core/config.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr char kTopFooter[] = R"(Examples:

  holdfast top                        every second, until it is interrupted
  holdfast top --once --output json   once, for scripts

READ and WRITE are bytes, READS and WRITES requests per second of the volume's device, as the kernel counts
them. USED is what the storage has allocated. Volumes without a device do no I/O and are left out. Below
them is long-running work: copies of volumes and snapshots, and thick snapshots that get blocks of their own.)";

constexpr std::chrono::seconds kInterval{1};

struct TopFlags {
  std::string endpoint = Config().endpoint;
  std::string output = "table";
  bool once = false;
};

// What one look at the instance shows.
struct Look {
  Clock::time_point at;
  admin::v1::ListVolumesResponse volumes;
  admin::v1::ListSnapshotsResponse snapshots;
};

absl::StatusOr<Look> LookAt(Admin::Stub& stub) {
  Look look;
  const admin::v1::ListRequest all;
  ASSIGN_OR_RETURN(look.volumes, CallForParts(stub, &Admin::Stub::ListVolumes, all));
  look.at = Clock::now();
  ASSIGN_OR_RETURN(look.snapshots, CallForParts(stub, &Admin::Stub::ListSnapshots, all));
  Select({}, look.volumes);
  Select({}, look.snapshots);
  return look;
}

Table VolumeTable(const std::vector<BusyVolume>& volumes) {
  Table table({{"CLAIM"},
               {"NODE"},
               {"DEVICE"},
               {"READ/s", true},
               {"WRITE/s", true},
               {"READS/s", true},
               {"WRITES/s", true},
               {"USED", true},
               {"SIZE", true}});
  for (const auto& [volume, rates] : volumes) {
    table.AddRow({{ClaimText(volume)},
                  {volume.node()},
                  {volume.device()},
                  {FormatBytes(rates.read_bytes)},
                  {FormatBytes(rates.written_bytes)},
                  {fmt::to_string(rates.reads)},
                  {fmt::to_string(rates.writes)},
                  {BytesText(volume.allocated_bytes())},
                  {FormatBytes(volume.capacity_bytes())}});
  }
  return table;
}

Table WorkTable(const std::vector<LongWork>& work) {
  Table table({{"WORK"}, {"NODE"}, {"SUBJECT"}, {"NAME"}, {"DONE", true}, {"OF", true}});
  for (const LongWork& one : work) {
    table.AddRow({{one.what},
                  {one.node},
                  {one.subject},
                  {one.name},
                  {FormatBytes(one.done_bytes)},
                  {FormatBytes(one.all_bytes)}});
  }
  return table;
}

std::string LookAsJson(const std::vector<BusyVolume>& volumes, const std::vector<LongWork>& work) {
  ordered_json shown = {{"volumes", ordered_json::array()}, {"work", ordered_json::array()}};
  for (const auto& [volume, rates] : volumes) {
    shown["volumes"].push_back({{"id", volume.id()},
                                {"name", volume.name()},
                                {"node", volume.node()},
                                {"kubernetes_namespace", volume.kubernetes_namespace()},
                                {"claim", volume.claim()},
                                {"device", volume.device()},
                                {"read_bytes_per_second", rates.read_bytes},
                                {"written_bytes_per_second", rates.written_bytes},
                                {"reads_per_second", rates.reads},
                                {"writes_per_second", rates.writes},
                                {"allocated_bytes", volume.allocated_bytes()},
                                {"capacity_bytes", volume.capacity_bytes()}});
  }
  for (const LongWork& one : work) {
    shown["work"].push_back({{"what", one.what},
                             {"node", one.node},
                             {"subject", one.subject},
                             {"name", one.name},
                             {"done_bytes", one.done_bytes},
                             {"all_bytes", one.all_bytes}});
  }
  return shown.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void Show(const Look& before, const Look& now, const TopFlags& flags) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  const std::vector<BusyVolume> volumes = BusyVolumes(before.volumes, now.volumes, seconds);
  const std::vector<LongWork> work = LongWorkIn(now.volumes, now.snapshots);
  if (flags.output == "json") {
    std::cout << LookAsJson(volumes, work) << std::flush;
    return;
  }
  if (!flags.once && WantsColours()) std::cout << kClearScreen;
  std::cout << VolumeTable(volumes).Text(WantsColours());
  if (!work.empty()) std::cout << "\n" << WorkTable(work).Text(WantsColours());
  std::cout << std::flush;
}

absl::Status Run(const TopFlags& flags) {
  ASSIGN_OR_RETURN(const auto channel, Connect(flags.endpoint));
  const auto stub = Admin::NewStub(channel);
  ASSIGN_OR_RETURN(Look before, LookAt(*stub));
  do {
    std::this_thread::sleep_for(kInterval);
    ASSIGN_OR_RETURN(Look now, LookAt(*stub));
    Show(before, now, flags);
    before = std::move(now);
  } while (!flags.once);
  return absl::OkStatus();
}

}  // namespace

void AddTopCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand(
      "top", "Show the I/O and the space of volumes in use, and copies under way");
  verb.footer(kTopFooter);
  const auto flags = std::make_shared<TopFlags>();
  verb.add_option("--endpoint", flags->endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  verb.add_option("-o,--output", flags->output, "How to show it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  verb.add_flag("--once", flags->once, "Show it once");
  verb.callback([flags, &run] { run = [flags] { return ExitCode(Run(*flags)); }; });
}

}  // namespace holdfast::cli
