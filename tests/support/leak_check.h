// SPDX-License-Identifier: Apache-2.0
// Finds what a test leaves behind. Linked into a Catch2 test program it checks every test case
// (each run through its sections) by itself, and fails the one that leaks.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// What there is of this process's at one moment, as descriptions such as "descriptor 7
// (/dev/loop3)": open descriptors, mounts of its name space, loop devices on files below
// TempRoot(), child processes, threads, and files directly in TempRoot().
using Resources = std::set<std::string>;

[[nodiscard]] Resources ListResources();

// What is there now and was not there `before`. Threads and loop devices end a moment after the
// call that ends them, so "nothing" is awaited for as long as `patience`.
[[nodiscard]] std::vector<std::string> FindLeaks(const Resources& before,
                                                 std::chrono::milliseconds patience);

}  // namespace holdfast::test
