// SPDX-License-Identifier: Apache-2.0
#include "support/run_tests.h"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

namespace holdfast::test {

int RunTests(int argc, char** argv) { return Catch::Session().run(argc, argv); }

}  // namespace holdfast::test
