/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a pod or of a node: holds its name spaces and reaps orphans. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int number) {
  (void)number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

static void end(int number) {
  (void)number;
  _exit(0);
}

int main(void) {
  struct sigaction action = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGCHLD, &action, NULL);
  action.sa_handler = end;
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  for (;;) pause();
}
