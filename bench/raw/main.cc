// SPDX-License-Identifier: Apache-2.0
// bench-raw: the raw limit. Scenarios: storage (create, delete), phases (every step of a life, all
// volumes one step at a time), lives (one volume's life after the other), copies (snapshots of
// volumes that are not in use, and restores), frozen (snapshots while four writers write), unshare
// and data (blocks of its own for a snapshot: those that it shares, or a copy).
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <iostream>

#include "common/options.h"
#include "common/workload.h"
#include "common/writers.h"
#include "raw/volume.h"

namespace {

using bench::Options;
using bench::Phase;
using bench::RawVolume;
using Volumes = std::deque<RawVolume>;
using Copying = void (RawVolume::*)(const RawVolume& source);

Phase On(const std::string& name, Volumes& volumes, void (RawVolume::*step)()) {
  return {name, [&volumes, step](int, int volume) {
            (volumes[static_cast<std::size_t>(volume)].*step)();
          }};
}

Phase StatsOn(const Volumes& volumes) {
  return {"stats",
          [&volumes](int, int volume) { volumes[static_cast<std::size_t>(volume)].Stats(); }};
}

std::vector<Phase> StoragePhases(Volumes& volumes) {
  return {On("create", volumes, &RawVolume::Create), On("delete", volumes, &RawVolume::Delete)};
}

std::vector<Phase> AllPhases(const Options& options, Volumes& volumes) {
  std::vector<Phase> phases = {On("create", volumes, &RawVolume::Create),
                               On("first_stage", volumes, &RawVolume::FirstStage),
                               On("publish", volumes, &RawVolume::Publish), StatsOn(volumes)};
  if (options.filesystem == "xfs") {
    phases.push_back(On("controller_expand", volumes, &RawVolume::GrowImage));
    phases.push_back(On("node_expand", volumes, &RawVolume::GrowFilesystem));
  }
  phases.push_back(On("unpublish", volumes, &RawVolume::Unpublish));
  phases.push_back(On("unstage", volumes, &RawVolume::Unstage));
  phases.push_back(On("stage", volumes, &RawVolume::Stage));
  phases.push_back(On("unstage", volumes, &RawVolume::Unstage));
  phases.push_back(On("delete", volumes, &RawVolume::Delete));
  return phases;
}

std::vector<Phase> Lives(Volumes& volumes) {
  return {{"life", [&volumes](int, int number) {
             RawVolume& volume = volumes[static_cast<std::size_t>(number)];
             volume.Create();
             volume.FirstStage();
             volume.Publish();
             volume.Stats();
             volume.Unpublish();
             volume.Unstage();
             volume.Delete();
           }}};
}

Phase Copy(const std::string& name, Volumes& volumes, Copying step, const Volumes& sources) {
  return {name, [&volumes, step, &sources](int, int number) {
            const auto index = static_cast<std::size_t>(number);
            (volumes[index].*step)(sources[index]);
          }};
}

// A volume, its snapshot, and a volume that is restored from that.
struct Family {
  explicit Family(const Options& options) {
    for (int number = 0; number < options.volumes; ++number) {
      const std::string name = options.NameOf(number);
      volumes.emplace_back(options, name);
      snapshots.emplace_back(options, name + "-snapshot");
      restored.emplace_back(options, name + "-restored");
    }
  }
  Volumes volumes;
  Volumes snapshots;
  Volumes restored;
};

std::vector<Phase> Copies(Family& family) {
  return {On("create", family.volumes, &RawVolume::Create),
          On("first_stage", family.volumes, &RawVolume::FirstStage),
          On("fill", family.volumes, &RawVolume::Fill),
          On("unstage", family.volumes, &RawVolume::Unstage),
          Copy("snapshot", family.snapshots, &RawVolume::CutFrom, family.volumes),
          Copy("restore", family.restored, &RawVolume::RestoreFrom, family.snapshots),
          On("stage_restored", family.restored, &RawVolume::FirstStageOfCopy),
          On("unstage", family.restored, &RawVolume::Unstage),
          On("delete_restored", family.restored, &RawVolume::Delete),
          On("delete_snapshot", family.snapshots, &RawVolume::Delete),
          On("delete", family.volumes, &RawVolume::Delete)};
}

std::vector<Phase> Frozen(const Options& options, Family& family) {
  return {On("create", family.volumes, &RawVolume::Create),
          On("first_stage", family.volumes, &RawVolume::FirstStage),
          {"snapshot",
           [&](int, int number) {
             const auto index = static_cast<std::size_t>(number);
             const bench::Writers writers(options.directory + "/staging/" + options.NameOf(number),
                                          options.writers);
             family.snapshots[index].CutFromMounted(family.volumes[index]);
           }},
          On("unstage", family.volumes, &RawVolume::Unstage),
          On("delete_snapshot", family.snapshots, &RawVolume::Delete),
          On("delete", family.volumes, &RawVolume::Delete)};
}

std::vector<Phase> Data(Family& family) {
  return {On("create", family.volumes, &RawVolume::Create),
          On("fill", family.volumes, &RawVolume::FillImage),
          Copy("copy", family.snapshots, &RawVolume::CopyDataFrom, family.volumes),
          On("delete_snapshot", family.snapshots, &RawVolume::Delete),
          On("delete", family.volumes, &RawVolume::Delete)};
}

std::vector<Phase> PhasesOf(const Options& options, Family& family) {
  Volumes& volumes = family.volumes;
  if (options.scenario == "storage") return StoragePhases(volumes);
  if (options.scenario == "phases") return AllPhases(options, volumes);
  if (options.scenario == "lives") return Lives(volumes);
  if (options.scenario == "copies") return Copies(family);
  if (options.scenario == "frozen") return Frozen(options, family);
  if (options.scenario == "data") return Data(family);
  throw std::runtime_error("unknown scenario " + options.scenario);
}

void Run(const Options& options) {
  for (const char* name : {"/volumes", "/trash", "/staging", "/pods"}) {
    ::mkdir((options.directory + name).c_str(), 0700);
  }
  Family family(options);
  bench::Print(bench::RunPhases(PhasesOf(options, family), options.volumes, options.workers));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(bench::ParseOptions(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench-raw: " << error.what() << "\n";
    return 1;
  }
}
