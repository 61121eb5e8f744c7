// SPDX-License-Identifier: Apache-2.0
// bench-raw-rbd: the cost of librbd itself. Scenarios as in bench-driver: images (create, grow,
// delete), image_copies (snapshots and clones of them), storage (create, delete). --directory is
// the cluster's.
#include <iostream>

#include "common/options.h"
#include "common/workload.h"
#include "rbd/images.h"

namespace {

using bench::Options;
using bench::Phase;

std::vector<Phase> Phases(const Options& options, bench::RawImages& images) {
  const Phase create = {
      "create", [&](int, int volume) { images.Create(options.NameOf(volume), options.size); }};
  const Phase grow = {"controller_expand", [&](int, int volume) {
                        images.Resize(options.NameOf(volume), 2 * options.size);
                      }};
  const Phase remove = {"delete", [&](int, int volume) { images.Remove(options.NameOf(volume)); }};
  const auto on = [&](const std::string& name, void (*act)(bench::RawImages&, const std::string&)) {
    return Phase{name, [&, act](int, int volume) { act(images, options.NameOf(volume)); }};
  };
  if (options.scenario == "images") return {create, grow, remove};
  if (options.scenario == "image_copies") {
    return {
        create,
        on("snapshot", [](auto& of, const auto& name) { of.CreateSnapshot(name, "snap"); }),
        on("restore",
           [](auto& of, const auto& name) { of.Clone(name, "snap", name + "-restored"); }),
        on("delete_restored", [](auto& of, const auto& name) { of.Remove(name + "-restored"); }),
        on("delete_snapshot", [](auto& of, const auto& name) { of.RemoveSnapshot(name, "snap"); }),
        remove};
  }
  if (options.scenario == "storage") return {create, remove};
  throw std::runtime_error("unknown scenario " + options.scenario);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = bench::ParseOptions(argc, argv);
    bench::RawImages images(options.directory);
    bench::Print(bench::RunPhases(Phases(options, images), options.volumes, options.workers));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench-raw-rbd: " << error.what() << "\n";
    return 1;
  }
}
