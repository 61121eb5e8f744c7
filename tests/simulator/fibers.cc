// SPDX-License-Identifier: Apache-2.0
#include "simulator/fibers.h"

#include <cstdint>
#include <cstdlib>

namespace holdfast::simulator {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;

// Stacks are used again: schedules are many and short.
std::vector<char*>& FreeStacks() {
  static std::vector<char*> stacks;
  return stacks;
}

char* TakeStack() {
  std::vector<char*>& stacks = FreeStacks();
  if (stacks.empty()) return static_cast<char*>(std::malloc(kStackBytes));
  char* const stack = stacks.back();
  stacks.pop_back();
  return stack;
}

}  // namespace

Fibers::~Fibers() {
  for (const auto& fiber : fibers_) FreeStacks().push_back(fiber->stack);
}

void Fibers::Enter(unsigned high, unsigned low) {
  auto* const self =
      reinterpret_cast<Fibers*>(static_cast<std::uintptr_t>((std::uint64_t{high} << 32) | low));
  self->current_->body();
  self->current_->done = true;
  ::swapcontext(&self->current_->context, &self->scheduler_);
}

void Fibers::Add(std::function<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->body = std::move(body);
  fiber->stack = TakeStack();
  ::getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  const auto self = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
  ::makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Fibers::Enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  fibers_.push_back(std::move(fiber));
}

void Fibers::Run() {
  std::vector<Fiber*> ready;
  for (const auto& fiber : fibers_) ready.push_back(fiber.get());
  while (!ready.empty()) {
    const std::size_t chosen = random_() % ready.size();
    current_ = ready[chosen];
    ::swapcontext(&scheduler_, &current_->context);
    if (current_->done) ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    current_ = nullptr;
  }
}

void Fibers::Yield() {
  if (current_ != nullptr) ::swapcontext(&current_->context, &scheduler_);
}

}  // namespace holdfast::simulator
