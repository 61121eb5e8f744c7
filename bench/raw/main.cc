// SPDX-License-Identifier: Apache-2.0
// bench-raw: the raw limit. Scenarios: storage (create, delete), phases (every step of a life, all
// volumes one step at a time), lives (one volume's life after the other).
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <iostream>

#include "common/options.h"
#include "common/workload.h"
#include "raw/volume.h"

namespace {

using bench::Options;
using bench::Phase;
using bench::RawVolume;
using Volumes = std::deque<RawVolume>;

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

std::vector<Phase> PhasesOf(const Options& options, Volumes& volumes) {
  if (options.scenario == "storage") return StoragePhases(volumes);
  if (options.scenario == "phases") return AllPhases(options, volumes);
  if (options.scenario == "lives") return Lives(volumes);
  throw std::runtime_error("unknown scenario " + options.scenario);
}

void Run(const Options& options) {
  for (const char* name : {"/volumes", "/trash", "/staging", "/pods"}) {
    ::mkdir((options.directory + name).c_str(), 0700);
  }
  Volumes volumes;
  for (int number = 0; number < options.volumes; ++number) volumes.emplace_back(options, number);
  bench::Print(bench::RunPhases(PhasesOf(options, volumes), options.volumes, options.workers));
  for (int number = 0; number < options.volumes; ++number) {
    ::rmdir((options.directory + "/staging/" + options.NameOf(number)).c_str());
  }
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
