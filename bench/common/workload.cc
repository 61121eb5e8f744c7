// SPDX-License-Identifier: Apache-2.0
#include "common/workload.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// The state that the threads of one phase share.
struct Shared {
  std::atomic<int> next = 0;
  std::mutex mutex;
  std::vector<double> times;     // guarded by mutex
  std::exception_ptr exception;  // guarded by mutex
};

void Work(const Act& act, int worker, int volumes, Shared& shared) {
  std::vector<double> times;
  std::exception_ptr exception;
  try {
    for (int volume = shared.next++; volume < volumes; volume = shared.next++) {
      const auto start = Clock::now();
      act(worker, volume);
      times.push_back(MicrosecondsSince(start));
    }
  } catch (...) {
    exception = std::current_exception();
    shared.next = volumes;
  }
  const std::lock_guard lock(shared.mutex);
  shared.times.insert(shared.times.end(), times.begin(), times.end());
  if (exception && !shared.exception) shared.exception = exception;
}

}  // namespace

std::vector<double> RunOnAll(const Act& act, int volumes, int workers) {
  Shared shared;
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] { Work(act, worker, volumes, shared); });
    }
  }
  if (shared.exception) std::rethrow_exception(shared.exception);
  return shared.times;
}

Result RunPhases(const std::vector<Phase>& phases, int volumes, int workers) {
  Result result;
  for (const Phase& phase : phases) {
    const auto start = Clock::now();
    const std::vector<double> times = RunOnAll(phase.act, volumes, workers);
    result.seconds[phase.name] += MicrosecondsSince(start) / 1e6;
    auto& collected = result.microseconds[phase.name];
    collected.insert(collected.end(), times.begin(), times.end());
  }
  return result;
}

void Print(const Result& result) {
  std::cout << nlohmann::json{{"microseconds", result.microseconds},
                              {"seconds", result.seconds},
                              {"refusals", result.refusals}}
            << std::endl;
}

void Fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace bench
