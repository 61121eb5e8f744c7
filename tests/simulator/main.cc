// SPDX-License-Identifier: Apache-2.0
// Runs the volume state machine through random schedules in memory until the time is over or a
// promise is broken.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "core/log.h"
#include "simulator/cluster_world.h"
#include "simulator/world.h"

namespace holdfast::simulator {
namespace {

// Every second schedule is one of a pool that two processes share.
bool IsOfCluster(std::uint64_t seed) { return seed % 2 == 1; }

template <typename AnyWorld>
bool Run(std::uint64_t seed, bool trace, std::uint64_t& calls) {
  AnyWorld world(seed, trace);
  const bool kept = world.Run();
  calls += world.calls();
  if (!kept) fmt::print("schedule {} broke a promise: {}\n", seed, world.problem());
  return kept;
}

bool RunAny(std::uint64_t seed, bool trace, std::uint64_t& calls) {
  return IsOfCluster(seed) ? Run<ClusterWorld>(seed, trace, calls) : Run<World>(seed, trace, calls);
}

int RunOne(std::uint64_t seed) {
  std::uint64_t calls = 0;
  if (!RunAny(seed, /*trace=*/true, calls)) return 1;
  fmt::print("schedule {}: every promise was kept\n", seed);
  return 0;
}

int RunMany(std::uint64_t first, std::chrono::seconds time) {
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t schedules = 0;
  std::uint64_t calls = 0;
  for (std::uint64_t seed = first; std::chrono::steady_clock::now() - start < time; ++seed) {
    ++schedules;
    if (RunAny(seed, /*trace=*/false, calls)) continue;
    fmt::print("see every step with: build/release/tests/simulator --seed {}\n", seed);
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("simulator: {} schedules from seed {}, {} calls ({:.0f}/s), every promise was kept\n",
             schedules, first, calls, static_cast<double>(calls) / took.count());
  return 0;
}

}  // namespace
}  // namespace holdfast::simulator

int main(int argc, char** argv) {
  CLI::App app{"Volume lives in memory, with errors, kills, power cuts and restored backups"};
  std::optional<std::uint64_t> seed;
  std::uint64_t first =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  int seconds = 60;
  app.add_option("--seed", seed, "Run one schedule and show every step");
  app.add_option("--seed-from", first, "The first seed; by default the time");
  app.add_option("--seconds", seconds, "How long to run");
  CLI11_PARSE(app, argc, argv);
  holdfast::StartLog(holdfast::LogLevel::kError);
  return seed ? holdfast::simulator::RunOne(*seed)
              : holdfast::simulator::RunMany(first, std::chrono::seconds(seconds));
}
