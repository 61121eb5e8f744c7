// SPDX-License-Identifier: Apache-2.0
// How both sides spread work over threads and time it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

// The work on one volume; the thread that does it has the number `worker`, from 0.
using Act = std::function<void(int worker, int volume)>;

struct Phase {
  std::string name;
  Act act;
};

struct Result {
  std::map<std::string, std::vector<double>> microseconds;  // by phase, one number per act
  std::map<std::string, double> seconds;  // by phase, from first start to last end
  int refusals = 0;                       // calls that had to be repeated; driver only
};

// Runs `act` once for every volume from 0 to volumes - 1. The workers process volumes in order;
// each one continues with the next volume when it has finished one. Returns microseconds per act.
// Rethrows the first exception after all threads have ended.
std::vector<double> RunOnAll(const Act& act, int volumes, int workers);

// One phase after the other; all workers do the same kind of work at the same time. Phases of the
// same name are collected together.
Result RunPhases(const std::vector<Phase>& phases, int volumes, int workers);

// One line of JSON on the standard output.
void Print(const Result& result);

// Throws std::runtime_error with the text of `errno`.
[[noreturn]] void Fail(const std::string& what);

}  // namespace bench
