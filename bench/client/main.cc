// SPDX-License-Identifier: Apache-2.0
// bench-driver: the driver under the same load as bench-raw (scenarios storage, phases, lives,
// copies, frozen) and bench-raw-rbd (images, image_copies, storage), and scenarios without a raw
// counterpart: reads (calls that change nothing), create (leaves the volumes), hold (leaves them
// staged and published), release (removes those), ready (waits for the driver).
#include <sys/stat.h>

#include <deque>
#include <iostream>

#include "client/connection.h"
#include "client/scale.h"
#include "client/volume.h"
#include "common/options.h"
#include "common/workload.h"

namespace {

using bench::Connection;
using bench::DriverVolume;
using bench::Options;
using bench::Phase;

// One connection per worker, and the volumes.
class Load final {
 public:
  explicit Load(const Options& options) : options_(options) {
    for (int number = 0; number < options.workers; ++number) {
      connections_.emplace_back(options.socket, number);
    }
    for (int number = 0; number < options.volumes; ++number) {
      volumes_.emplace_back(options, options.NameOf(number));
      restored_.emplace_back(options, options.NameOf(number) + "-restored");
    }
  }

  // Opens the connections, so that no timed call has to open one.
  void Connect() {
    for (Connection& connection : connections_) bench::Probe(connection);
  }

  Connection& connection(int worker) { return connections_[static_cast<std::size_t>(worker)]; }
  DriverVolume& volume(int number) { return volumes_[static_cast<std::size_t>(number)]; }
  DriverVolume& restored(int number) { return restored_[static_cast<std::size_t>(number)]; }

  Phase On(const std::string& name, void (DriverVolume::*step)(Connection&)) {
    return {name,
            [this, step](int worker, int number) { (volume(number).*step)(connection(worker)); }};
  }

  Phase OnRestored(const std::string& name, void (DriverVolume::*step)(Connection&)) {
    return {name,
            [this, step](int worker, int number) { (restored(number).*step)(connection(worker)); }};
  }

  std::vector<Phase> Phases() {
    const std::string& scenario = options_.scenario;
    if (scenario == "storage") return Join({Creation(), Deletion()});
    if (scenario == "images") return Join({Creation(), Growth(), Deletion()});
    if (scenario == "phases") return AllPhases();
    if (scenario == "lives") return Lives();
    if (scenario == "copies") return Copies();
    if (scenario == "frozen") return Frozen();
    if (scenario == "image_copies") return ImageCopies();
    if (scenario == "reads") return Reads();
    if (scenario == "create") return Creation();
    if (scenario == "hold") return Join({Creation(), Staging(), Publication()});
    if (scenario == "release") return Join({Creation(), Withdrawal(), Deletion()});
    throw std::runtime_error("unknown scenario " + scenario);
  }

 private:
  using Steps = std::vector<Phase>;

  static Steps Join(const std::vector<Steps>& parts) {
    Steps joined;
    for (const Steps& part : parts) joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }

  Steps Creation() { return {On("create", &DriverVolume::Create)}; }
  Steps Deletion() { return {On("delete", &DriverVolume::Delete)}; }
  Steps Growth() { return {On("controller_expand", &DriverVolume::ExpandController)}; }
  Steps Staging() {
    return {On("first_stage", &DriverVolume::Stage), On("stage_repeat", &DriverVolume::Stage)};
  }
  Steps Publication() {
    return {On("publish", &DriverVolume::Publish), On("publish_repeat", &DriverVolume::Publish),
            On("stats", &DriverVolume::Stats)};
  }
  Steps Expansion() {
    if (options_.block || options_.filesystem != "xfs") return {};
    return Join({Growth(), {On("node_expand", &DriverVolume::ExpandNode)}});
  }
  Steps Withdrawal() {
    return {On("unpublish", &DriverVolume::Unpublish), On("unstage", &DriverVolume::Unstage)};
  }
  Steps StagingAgain() {
    return {On("stage", &DriverVolume::Stage), On("unstage", &DriverVolume::Unstage)};
  }

  Steps AllPhases() {
    return Join({Creation(), Staging(), Publication(), Expansion(), Withdrawal(), StagingAgain(),
                 Deletion()});
  }

  Steps Copies() {
    return Join({{On("create", &DriverVolume::Create), On("first_stage", &DriverVolume::Stage),
                  On("fill", &DriverVolume::Fill), On("unstage", &DriverVolume::Unstage)},
                 SnapshotAndRestore(),
                 {OnRestored("stage_restored", &DriverVolume::Stage),
                  OnRestored("unstage", &DriverVolume::Unstage)},
                 RemovalOfCopies(),
                 Deletion()});
  }
  Steps ImageCopies() {
    return Join({Creation(), SnapshotAndRestore(), RemovalOfCopies(), Deletion()});
  }
  Steps Frozen() {
    return {On("create", &DriverVolume::Create),
            On("first_stage", &DriverVolume::Stage),
            On("snapshot", &DriverVolume::CreateSnapshotOfWritten),
            On("unstage", &DriverVolume::Unstage),
            On("delete_snapshot", &DriverVolume::DeleteSnapshot),
            On("delete", &DriverVolume::Delete)};
  }
  Steps SnapshotAndRestore() {
    return {On("snapshot", &DriverVolume::CreateSnapshot),
            {"restore", [this](int worker, int number) {
               restored(number).Restore(connection(worker), volume(number));
             }}};
  }
  Steps RemovalOfCopies() {
    return {OnRestored("delete_restored", &DriverVolume::Delete),
            On("delete_snapshot", &DriverVolume::DeleteSnapshot)};
  }

  Steps Reads() {
    return {
        {"probe", [this](int worker, int) { bench::Probe(connection(worker)); }},
        {"capacity", [this](int worker, int) { bench::GetCapacity(connection(worker)); }},
        {"list", [this](int worker, int) { bench::ListPage(connection(worker), options_.page); }}};
  }

  Steps Lives() {
    return {{"life", [this](int worker, int number) {
               Connection& driver = connection(worker);
               DriverVolume& one = volume(number);
               one.Create(driver);
               one.Stage(driver);
               one.Publish(driver);
               one.Stats(driver);
               one.Unpublish(driver);
               one.Unstage(driver);
               one.Delete(driver);
             }}};
  }

  const Options& options_;
  std::deque<Connection> connections_;
  std::deque<DriverVolume> volumes_;
  std::deque<DriverVolume> restored_;
};

void Run(const Options& options) {
  if (options.scenario == "ready") {
    std::cout << std::fixed << bench::AwaitReady(options) << std::endl;
    return;
  }
  for (const char* name : {"/staging", "/pods"}) {
    ::mkdir((options.directory + name).c_str(), 0700);
  }
  Load load(options);
  load.Connect();
  bench::Result result = bench::RunPhases(load.Phases(), options.volumes, options.workers);
  result.refusals = bench::refusals;
  bench::Print(result);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(bench::ParseOptions(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench-driver: " << error.what() << "\n";
    return 1;
  }
}
