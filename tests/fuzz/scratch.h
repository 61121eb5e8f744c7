// SPDX-License-Identifier: Apache-2.0
// A directory that is thrown away.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "input.h"

namespace holdfast::fuzz {

// A new directory below $TMPDIR; tests/fuzz/run sets it to one in memory and removes that. Whatever
// the fuzzer does, it must not do as root.
inline std::string MakeScratch() {
  Require(::geteuid() != 0, "tests/fuzz/run starts this, as nobody");
  const char* const base = std::getenv("TMPDIR");
  std::string path = std::string(base == nullptr ? "/tmp" : base) + "/fuzz-XXXXXX";
  Require(::mkdtemp(path.data()) != nullptr, "there is a directory to work in");
  return path;
}

}  // namespace holdfast::fuzz
