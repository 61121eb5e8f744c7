// SPDX-License-Identifier: Apache-2.0
// Runs the root tests in a private mount namespace, so that no mount of a test reaches the machine,
// even when a test dies.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/run_tests.h"

namespace {

bool EnterPrivateMountNamespace() {
  if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
    return true;
  }
  std::fprintf(stderr, "root tests need a mount name space of their own: %s\n",
               std::strerror(errno));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (geteuid() != 0 || access("/dev/loop-control", R_OK | W_OK) != 0) {
    std::puts(
        "SKIPPED: the root tests need root and /dev/loop-control; run them with sudo on a machine "
        "with the loop driver (modprobe loop)");
    return 0;
  }
  if (!EnterPrivateMountNamespace()) return 1;
  return holdfast::test::RunTests(argc, argv);
}
