// SPDX-License-Identifier: Apache-2.0
#include "support/run_tests.h"

int main(int argc, char** argv) { return holdfast::test::RunTests(argc, argv); }
