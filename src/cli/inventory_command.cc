// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/inventory_selection.h"
#include "cli/inventory_tables.h"
#include "cli/inventory_text.h"
#include "cli/output.h"
#include "cli/unreachable.h"
#include "core/config.h"
#include "proto/admin.grpc.pb.h"

namespace holdfast::cli {
namespace {

using admin::v1::Admin;

constexpr std::chrono::seconds kWatchInterval{2};

struct InventoryFlags {
  std::string endpoint = Config().endpoint;
  std::string output = "table";
  bool watch = false;
  Selection selection;
};

template <typename Response>
struct List {
  using Method = std::unique_ptr<grpc::ClientReader<Response>> (Admin::Stub::*)(
      grpc::ClientContext*, const admin::v1::ListRequest&);
  Method method;
  const char* entries;  // the field's name, and what they are
  int (Response::*count)() const;
};

template <typename Response>
int Show(const List<Response>& list, const InventoryFlags& flags) {
  const auto channel = Connect(flags.endpoint);
  if (!channel.ok()) return ExitCode(channel.status());
  const auto stub = Admin::NewStub(*channel);
  admin::v1::ListRequest request;
  request.set_node(flags.selection.node);
  auto response = CallForParts(*stub, list.method, request);
  if (!response.ok()) return ExitCode(response.status());
  Select(flags.selection, *response);
  if (flags.watch && WantsColours()) std::cout << kClearScreen;
  if (flags.output == "json") {
    std::cout << AsJson(*response, {list.entries, "unreachable"});
  } else if (((*response).*list.count)() == 0) {
    std::cerr << "no " << list.entries << "\n";
  } else {
    std::cout << TableOf(*response, flags.output == "wide").Text(WantsColours());
  }
  std::cout << std::flush;
  return ReportUnreachable(response->unreachable());
}

// Until it is interrupted; what does not answer now may do so the next time.
template <typename Response>
int Watch(const List<Response>& list, const InventoryFlags& flags) {
  while (true) {
    const int code = Show(list, flags);
    if (!flags.watch || code == kExitUsage) return code;
    std::this_thread::sleep_for(kWatchInterval);
  }
}

// Adds the verb and the flags that all lists have.
template <typename Response>
std::pair<CLI::App*, std::shared_ptr<InventoryFlags>> AddVerb(CLI::App& app, Action& run,
                                                              const char* help, const char* footer,
                                                              List<Response> list) {
  CLI::App& verb = *app.add_subcommand(list.entries, help);
  verb.footer(footer);
  const auto flags = std::make_shared<InventoryFlags>();
  verb.add_option("--endpoint", flags->endpoint, "Unix socket of the running Holdfast")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  verb.add_option("-o,--output", flags->output, "How to show it")
      ->check(CLI::IsMember({"table", "wide", "json"}))
      ->capture_default_str();
  verb.add_flag("--watch", flags->watch, "Show it again every two seconds");
  verb.add_option("--node", flags->selection.node, "Only what this node has")->type_name("NODE");
  verb.callback([flags, list, &run] { run = [flags, list] { return Watch(list, *flags); }; });
  return {&verb, flags};
}

void AddPool(CLI::App& verb, InventoryFlags& flags) {
  verb.add_option("--pool", flags.selection.pool, "Only what is in pools of this name")
      ->type_name("POOL");
}

void AddNamespace(CLI::App& verb, InventoryFlags& flags) {
  verb.add_option("--namespace", flags.selection.name_space,
                  "Only what was made for this namespace of Kubernetes")
      ->type_name("NAMESPACE");
}

void AddAbnormal(CLI::App& verb, InventoryFlags& flags) {
  verb.add_flag("--abnormal", flags.selection.abnormal, "Only what has a problem");
}

}  // namespace

void AddVolumesCommand(CLI::App& app, Action& run) {
  using admin::v1::ListVolumesResponse;
  const auto [verb, flags] = AddVerb<ListVolumesResponse>(
      app, run, "List the volumes of a running Holdfast, or of all nodes of a controller",
      kVolumesFooter, {&Admin::Stub::ListVolumes, "volumes", &ListVolumesResponse::volumes_size});
  AddPool(*verb, *flags);
  AddNamespace(*verb, *flags);
  AddAbnormal(*verb, *flags);
}

void AddSnapshotsCommand(CLI::App& app, Action& run) {
  using admin::v1::ListSnapshotsResponse;
  const auto [verb, flags] = AddVerb<ListSnapshotsResponse>(
      app, run, "List the snapshots of a running Holdfast, or of all nodes of a controller",
      kSnapshotsFooter,
      {&Admin::Stub::ListSnapshots, "snapshots", &ListSnapshotsResponse::snapshots_size});
  AddPool(*verb, *flags);
  AddNamespace(*verb, *flags);
}

void AddPoolsCommand(CLI::App& app, Action& run) {
  using admin::v1::ListPoolsResponse;
  const auto [verb, flags] = AddVerb<ListPoolsResponse>(
      app, run, "List the pools of a running Holdfast, or of all nodes of a controller",
      kPoolsFooter, {&Admin::Stub::ListPools, "pools", &ListPoolsResponse::pools_size});
  AddPool(*verb, *flags);
  AddAbnormal(*verb, *flags);
}

void AddNodesCommand(CLI::App& app, Action& run) {
  using admin::v1::ListNodesResponse;
  const auto [verb, flags] = AddVerb<ListNodesResponse>(
      app, run, "List the nodes of a controller", kNodesFooter,
      {&Admin::Stub::ListNodes, "nodes", &ListNodesResponse::nodes_size});
  AddAbnormal(*verb, *flags);
}

void AddLeftoversCommand(CLI::App& app, Action& run) {
  using admin::v1::ListLeftoversResponse;
  const auto [verb, flags] = AddVerb<ListLeftoversResponse>(
      app, run, "List what Holdfast could not clean up by itself", kLeftoversFooter,
      {&Admin::Stub::ListLeftovers, "leftovers", &ListLeftoversResponse::leftovers_size});
  AddPool(*verb, *flags);
}

}  // namespace holdfast::cli
