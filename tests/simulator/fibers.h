// SPDX-License-Identifier: Apache-2.0
// Concurrent calls on one thread: at each Yield a seeded scheduler chooses the fiber that
// continues, so that a seed determines the order of steps.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace holdfast::simulator {

using Random = std::mt19937_64;

class Fibers final {
 public:
  explicit Fibers(Random& random) : random_(random) {}
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  // `body` starts when the scheduler chooses it. It must not throw.
  void Add(std::function<void()> body);

  // Runs all fibers to their end.
  void Run();

  // Called by a fiber: may let another fiber continue.
  void Yield();

 private:
  struct Fiber {
    ucontext_t context{};
    std::function<void()> body;
    char* stack = nullptr;
    bool done = false;
  };
  static void Enter(unsigned high, unsigned low);

  Random& random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  ucontext_t scheduler_{};
};

}  // namespace holdfast::simulator
