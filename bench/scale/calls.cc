// SPDX-License-Identifier: Apache-2.0
// bench-calls: the sidecars' calls to the controller of a large cluster. Scenarios: await (until
// all nodes are there), capacity (of one node after the other), volumes (creations and deletions on
// one node each), anywhere (the same, each allowing every node), list (all volumes by pages).
#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <thread>

#include "client/connection.h"
#include "common/workload.h"
#include "scale/names.h"

namespace {

using bench::Connection;
using csi::v1::Controller;

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr int kStride = 7919;  // prime: calls in a row ask of nodes far from each other

struct Options {
  std::string scenario;
  std::string socket;
  int nodes = 1000;
  int calls = 1000;
  int workers = 1;
  int page = 500;
  int seconds = 120;
};

Options Parse(int argc, char** argv) {
  Options options;
  CLI::App app("Callers of a large cluster's controller; bench/scale/run calls it");
  app.add_option("scenario", options.scenario)->required();
  app.add_option("--socket", options.socket)->required();
  app.add_option("--nodes", options.nodes);
  app.add_option("--calls", options.calls);
  app.add_option("--workers", options.workers);
  app.add_option("--page", options.page, "entries of a ListVolumes page");
  app.add_option("--seconds", options.seconds, "longest wait for the nodes");
  app.parse(argc, argv);
  return options;
}

void SetNode(int number, csi::v1::Topology& topology) {
  (*topology.mutable_segments())[bench::kTopologyKey] = bench::NodeName(number);
}

// As external-provisioner asks: with the parameters of the class, without capabilities.
csi::v1::GetCapacityResponse GetCapacity(Connection& driver, int node) {
  csi::v1::GetCapacityRequest request;
  (*request.mutable_parameters())["provisioning"] = "thick";
  (*request.mutable_parameters())["csi.storage.k8s.io/fstype"] = "ext4";
  if (node >= 0) SetNode(node, *request.mutable_accessible_topology());
  return bench::Call(driver.controller(), &Controller::Stub::GetCapacity, request);
}

int NodesThere(Connection& driver) {
  const std::int64_t sum = GetCapacity(driver, -1).available_capacity();
  return static_cast<int>((sum + bench::kPoolBytes - 1) / bench::kPoolBytes);
}

// Prints the seconds of CLOCK_MONOTONIC at the moment.
void AwaitNodes(const Options& options) {
  using Clock = std::chrono::steady_clock;
  Connection driver(options.socket, 0);
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  int there = NodesThere(driver);
  for (; there < options.nodes; there = NodesThere(driver)) {
    if (Clock::now() > end) {
      throw std::runtime_error(fmt::format("{} of {} nodes are linked after {} s", there,
                                           options.nodes, options.seconds));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  std::cout << std::fixed << std::chrono::duration<double>(Clock::now().time_since_epoch()).count()
            << std::endl;
}

std::string Create(Connection& driver, const Options& options, int number, bool anywhere) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(bench::VolumeName("calls", number));
  request.mutable_capacity_range()->set_required_bytes(bench::kVolumeBytes);
  auto& capability = *request.add_volume_capabilities();
  capability.mutable_mount()->set_fs_type("ext4");
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  (*request.mutable_parameters())["provisioning"] = "thick";
  auto& places = *request.mutable_accessibility_requirements();
  const int first = number * kStride % options.nodes;
  for (int step = 0; step < (anywhere ? options.nodes : 1); ++step) {
    SetNode((first + step) % options.nodes, *places.add_requisite());
    SetNode((first + step) % options.nodes, *places.add_preferred());
  }
  return bench::Call(driver.controller(), &Controller::Stub::CreateVolume, request)
      .volume()
      .volume_id();
}

void Delete(Connection& driver, const std::string& id) {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(id);
  bench::Call(driver.controller(), &Controller::Stub::DeleteVolume, request);
}

// The whole list; the time covers all pages.
void List(Connection& driver, const Options& options) {
  csi::v1::ListVolumesRequest request;
  request.set_max_entries(options.page);
  do {
    const auto page = bench::Call(driver.controller(), &Controller::Stub::ListVolumes, request);
    request.set_starting_token(page.next_token());
  } while (!request.starting_token().empty());
}

std::vector<bench::Phase> Phases(const Options& options, std::deque<Connection>& connections,
                                 std::vector<std::string>& ids) {
  const auto driver = [&](int worker) -> Connection& {
    return connections[static_cast<std::size_t>(worker)];
  };
  const auto id = [&](int number) -> std::string& { return ids[static_cast<std::size_t>(number)]; };
  if (options.scenario == "capacity") {
    return {{"capacity", [=, &options](int worker, int number) {
               GetCapacity(driver(worker), number * kStride % options.nodes);
             }}};
  }
  if (options.scenario == "list") {
    return {{"list", [=, &options](int worker, int) { List(driver(worker), options); }}};
  }
  if (options.scenario != "volumes" && options.scenario != "anywhere") {
    throw std::runtime_error("unknown scenario " + options.scenario);
  }
  const bool anywhere = options.scenario == "anywhere";
  return {{"create",
           [=, &options](int worker, int number) {
             id(number) = Create(driver(worker), options, number, anywhere);
           }},
          {"delete", [=](int worker, int number) { Delete(driver(worker), id(number)); }}};
}

void Run(const Options& options) {
  if (options.scenario == "await") return AwaitNodes(options);
  std::deque<Connection> connections;
  for (int number = 0; number < options.workers; ++number) {
    // Opens the connection, so that no timed call has to open it.
    NodesThere(connections.emplace_back(options.socket, number));
  }
  std::vector<std::string> ids(static_cast<std::size_t>(options.calls));
  bench::Result result =
      bench::RunPhases(Phases(options, connections, ids), options.calls, options.workers);
  result.refusals = bench::refusals;
  bench::Print(result);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(Parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench-calls: " << error.what() << "\n";
    return 1;
  }
}
