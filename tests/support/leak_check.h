// SPDX-License-Identifier: Apache-2.0
// Finds what a test leaves behind. Linked into a Catch2 test program, it checks every test case
// (each run through its sections) automatically, and fails the test case that leaks.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// The things that this process has at one moment, as descriptions such as "descriptor 7
// (/dev/loop3)": open descriptors, mounts of its namespace, loop devices on files below TempRoot(),
// child processes, threads, and files directly in TempRoot().
using Resources = std::set<std::string>;

[[nodiscard]] Resources ListResources();

// The things that exist now and did not exist `before`. Threads and loop devices end a moment after
// the call that ends them, so this waits up to `patience` until there are none.
[[nodiscard]] std::vector<std::string> FindLeaks(const Resources& before,
                                                 std::chrono::milliseconds patience);

}  // namespace holdfast::test
