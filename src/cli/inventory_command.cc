// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "core/bytes.h"
#include "core/config.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;

constexpr char kVolumesFooter[] = R"(Examples:

  holdfast volumes
  holdfast volumes --output wide     with creation time, mount points and condition
  holdfast volumes --output json     every field, sizes in bytes, for scripts

STATE: ready (not formatted yet), formatting, formatted, inherited (a copy whose filesystem gets its own
UUID when it is first staged). USE: idle, attached, staged, or published and
on how many paths. An abnormal volume is red; --output wide says what is wrong with it.)";

constexpr char kSnapshotsFooter[] = R"(Examples:

  holdfast snapshots
  holdfast snapshots --output wide   with what they occupy and share, and their volumes' ids
  holdfast snapshots --output json   every field, sizes in bytes, for scripts

STATE: ready, or how much is copied where the pool cannot share blocks. BLOCKS: own, or shared with the
volume and with copies; a thick snapshot gets its own in the background. CREATED is the instant that it
shows.)";

constexpr char kPoolsFooter[] = R"(Examples:

  holdfast pools
  holdfast pools --endpoint unix:///var/lib/kubelet/plugins/csi.holdfast.dev/csi.sock
  holdfast pools --output json       every field, sizes in bytes, for scripts

FREE is what the storage has left; THICK and THIN are the largest volumes of each kind that could be
made now, after what is provisioned already and the reserve. A pool with a problem is red.)";

struct Flags {
  std::string endpoint = Config().endpoint;
  std::string output = "table";
};

std::shared_ptr<Flags> AddFlags(CLI::App& verb, const std::vector<std::string>& outputs) {
  auto flags = std::make_shared<Flags>();
  verb.add_option("--endpoint", flags->endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  verb.add_option("--output", flags->output, "How to show it")
      ->check(CLI::IsMember(outputs))
      ->capture_default_str();
  return flags;
}

absl::StatusOr<std::unique_ptr<Admin::Stub>> ConnectAdmin(const std::string& endpoint) {
  ASSIGN_OR_RETURN(const auto channel, Connect(endpoint));
  return Admin::NewStub(channel);
}

std::string UseOf(const admin::v1::Volume& volume) {
  if (volume.target_paths_size() > 0)
    return fmt::format("published {}", volume.target_paths_size());
  if (!volume.staging_path().empty()) return "staged";
  return volume.device().empty() ? "idle" : "attached";
}

std::string MountPointsOf(const admin::v1::Volume& volume) {
  std::string text = volume.staging_path();
  for (const std::string& target : volume.target_paths())
    text += (text.empty() ? "" : ",") + target;
  return text;
}

Table VolumeTable(const admin::v1::ListVolumesResponse& response, bool wide) {
  std::vector<Column> columns = {{"ID"},           {"NAME"},       {"SIZE", true},
                                 {"PROVISIONING"}, {"FILESYSTEM"}, {"STATE"},
                                 {"USE"},          {"DEVICE"},     {"CONDITION"}};
  if (wide) columns.insert(columns.end(), {{"CREATED"}, {"SOURCE"}, {"MOUNT POINTS"}, {"MESSAGE"}});
  Table table(std::move(columns));
  for (const admin::v1::Volume& volume : response.volumes()) {
    const Colour colour = volume.abnormal() ? Colour::kRed : Colour::kNone;
    const bool block = volume.filesystem().empty();
    std::vector<Cell> cells = {{volume.id()},
                               {volume.name()},
                               {FormatBytes(volume.capacity_bytes())},
                               {volume.provisioning()},
                               {block ? "(block)" : volume.filesystem()},
                               {volume.state()},
                               {UseOf(volume)},
                               {volume.device()},
                               {volume.abnormal() ? "abnormal" : "ok", colour}};
    if (wide) {
      const std::vector<Cell> more = {{volume.created_at()},
                                      {volume.source().empty() ? "(none)" : volume.source()},
                                      {MountPointsOf(volume)},
                                      {volume.condition(), colour}};
      cells.insert(cells.end(), more.begin(), more.end());
    }
    table.AddRow(cells);
  }
  return table;
}

std::string StateOf(const admin::v1::Snapshot& snapshot) {
  if (snapshot.ready_to_use()) return "ready";
  const double part = static_cast<double>(snapshot.copied_bytes()) /
                      static_cast<double>(std::max<Bytes>(1, snapshot.size_bytes()));
  return fmt::format("copying {:.0f}%", 100 * part);
}

std::string BlocksOf(const admin::v1::Snapshot& snapshot) {
  if (snapshot.shared_bytes() < 0) return "";
  return snapshot.shared_bytes() == 0 ? "own" : "shared";
}

std::string BytesOf(Bytes value) { return value < 0 ? "" : FormatBytes(value); }

Table SnapshotTable(const admin::v1::ListSnapshotsResponse& response, bool wide) {
  std::vector<Column> columns = {{"ID"},    {"NAME"},   {"SIZE", true}, {"PROVISIONING"},
                                 {"STATE"}, {"BLOCKS"}, {"CREATED"}};
  if (wide) columns.insert(columns.end(), {{"OCCUPIED", true}, {"SHARED", true}, {"VOLUME"}});
  Table table(std::move(columns));
  for (const admin::v1::Snapshot& snapshot : response.snapshots()) {
    std::vector<Cell> cells = {
        {snapshot.id()},           {snapshot.name()},   {FormatBytes(snapshot.size_bytes())},
        {snapshot.provisioning()}, {StateOf(snapshot)}, {BlocksOf(snapshot)},
        {snapshot.created_at()}};
    if (wide) {
      const std::vector<Cell> more = {{BytesOf(snapshot.occupied_bytes())},
                                      {BytesOf(snapshot.shared_bytes())},
                                      {snapshot.source_volume_id()}};
      cells.insert(cells.end(), more.begin(), more.end());
    }
    table.AddRow(cells);
  }
  return table;
}

Table PoolTable(const admin::v1::ListPoolsResponse& response) {
  Table table({{"NAME"},
               {"KIND"},
               {"LOCATION"},
               {"NODE"},
               {"FILESYSTEM"},
               {"SIZE", true},
               {"FREE", true},
               {"PROVISIONED", true},
               {"THICK", true},
               {"THIN", true},
               {"VOLUMES", true},
               {"STATE"}});
  for (const admin::v1::Pool& pool : response.pools()) {
    const bool well = pool.problem().empty();
    const auto size = [&](Bytes value) {
      return Cell{well ? FormatBytes(value) : "", Colour::kNone};
    };
    table.AddRow({{pool.name()},
                  {pool.kind()},
                  {pool.location()},
                  {pool.node()},
                  {pool.default_filesystem()},
                  size(pool.total_bytes()),
                  size(pool.free_bytes()),
                  size(pool.thick_provisioned_bytes() + pool.thin_provisioned_bytes()),
                  size(pool.thick_available_bytes()),
                  size(pool.thin_available_bytes()),
                  {well ? fmt::to_string(pool.volumes()) : ""},
                  {well ? "ok" : pool.problem(), well ? Colour::kNone : Colour::kRed}});
  }
  return table;
}

absl::Status ShowVolumes(const Flags& flags) {
  ASSIGN_OR_RETURN(const auto stub, ConnectAdmin(flags.endpoint));
  ASSIGN_OR_RETURN(const auto response,
                   Call(*stub, &Admin::Stub::ListVolumes, admin::v1::ListVolumesRequest()));
  if (flags.output == "json") {
    std::cout << ArrayAsJson(response, "volumes");
  } else if (response.volumes().empty()) {
    std::cerr << "no volumes\n";
  } else {
    std::cout << VolumeTable(response, flags.output == "wide").Text(WantsColours());
  }
  return absl::OkStatus();
}

absl::Status ShowSnapshots(const Flags& flags) {
  ASSIGN_OR_RETURN(const auto stub, ConnectAdmin(flags.endpoint));
  ASSIGN_OR_RETURN(const auto response,
                   Call(*stub, &Admin::Stub::ListSnapshots, admin::v1::ListSnapshotsRequest()));
  if (flags.output == "json") {
    std::cout << ArrayAsJson(response, "snapshots");
  } else if (response.snapshots().empty()) {
    std::cerr << "no snapshots\n";
  } else {
    std::cout << SnapshotTable(response, flags.output == "wide").Text(WantsColours());
  }
  return absl::OkStatus();
}

absl::Status ShowPools(const Flags& flags) {
  ASSIGN_OR_RETURN(const auto stub, ConnectAdmin(flags.endpoint));
  ASSIGN_OR_RETURN(const auto response,
                   Call(*stub, &Admin::Stub::ListPools, admin::v1::ListPoolsRequest()));
  std::cout << (flags.output == "json" ? ArrayAsJson(response, "pools")
                                       : PoolTable(response).Text(WantsColours()));
  return absl::OkStatus();
}

}  // namespace

void AddVolumesCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand("volumes", "List the volumes of a running Holdfast");
  verb.footer(kVolumesFooter);
  const auto flags = AddFlags(verb, {"table", "wide", "json"});
  verb.callback([flags, &run] { run = [flags] { return ExitCode(ShowVolumes(*flags)); }; });
}

void AddSnapshotsCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand("snapshots", "List the snapshots of a running Holdfast");
  verb.footer(kSnapshotsFooter);
  const auto flags = AddFlags(verb, {"table", "wide", "json"});
  verb.callback([flags, &run] { run = [flags] { return ExitCode(ShowSnapshots(*flags)); }; });
}

void AddPoolsCommand(CLI::App& app, Action& run) {
  CLI::App& verb = *app.add_subcommand("pools", "List the pools of a running Holdfast");
  verb.footer(kPoolsFooter);
  const auto flags = AddFlags(verb, {"table", "json"});
  verb.callback([flags, &run] { run = [flags] { return ExitCode(ShowPools(*flags)); }; });
}

}  // namespace holdfast::cli
