// SPDX-License-Identifier: Apache-2.0
// Runs the program's tests as Catch2's own main does. Catch2 is compiled in run_tests.cc alone,
// because that takes longer than any test.
#pragma once

namespace holdfast::test {

// Returns the program's exit code.
int RunTests(int argc, char** argv);

}  // namespace holdfast::test
