// SPDX-License-Identifier: Apache-2.0
// Preloaded into the driver: kills it at its N-th call into Ceph's libraries.
//
// The driver finds these functions with dlsym. This dlsym returns small routines instead, which
// count first. The orders are in a file that the test maps too (struct orders): "when" counts down
// from N, and the process is killed "microseconds" after the start of the N-th call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct orders {
  volatile int32_t when;  // 0: no kill
  volatile int32_t microseconds;
  char victim[64];  // the call that was hit
};

static struct orders* orders;
static unsigned char* next_routine;

// The functions that talk to the cluster; the others only build arguments and parse answers.
static const char* const counted[] = {"rados_write_op_operate2",
                                      "rados_read_op_operate",
                                      "rados_exec",
                                      "rados_mon_command",
                                      "rados_blocklist_add",
                                      "rbd_create4",
                                      "rbd_diff_iterate2",
                                      "rbd_clone3",
                                      "rbd_flatten_with_progress",
                                      "rbd_list_children3",
                                      "rbd_snap_create2",
                                      "rbd_snap_remove_by_id",
                                      "rbd_read2",
                                      "rbd_write2",
                                      "rbd_flush",
                                      "rbd_open",
                                      "rbd_open_read_only",
                                      "rbd_close",
                                      "rbd_remove",
                                      "rbd_resize2",
                                      "rbd_watchers_list"};

static void* kill_later(void* unused) {
  (void)unused;
  usleep((useconds_t)orders->microseconds);
  kill(getpid(), SIGKILL);
  return NULL;
}

static void before_call(const char* name) {
  if (orders->when <= 0 || __atomic_sub_fetch(&orders->when, 1, __ATOMIC_SEQ_CST) != 0) return;
  strncpy(orders->victim, name, sizeof(orders->victim) - 1);
  if (orders->microseconds == 0) kill(getpid(), SIGKILL);
  pthread_t thread;
  pthread_create(&thread, NULL, kill_later, NULL);
}

__attribute__((constructor)) static void prepare(void) {
  const int file = open(getenv("HOLDFAST_KILL_ORDERS"), O_RDWR | O_CLOEXEC);
  orders = mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  next_routine =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (file < 0 || orders == MAP_FAILED || next_routine == MAP_FAILED) abort();
}

static void emit(const void* bytes, size_t size) {
  memcpy(next_routine, bytes, size);
  next_routine += size;
}

static void emit_load_rax(const void* value) {
  emit("\x48\xb8", 2);
  emit(&value, sizeof(value));
}

// Saves the arguments, calls before_call(name), continues with the real function (x86-64, System
// V).
static void* make_routine(const char* name, void* real) {
  void* const routine = next_routine;
  emit("\x57\x56\x52\x51\x41\x50\x41\x51\x48\x83\xec\x08", 12);  // push 6 registers, align
  emit("\x48\xbf", 2);                                           // rdi = name
  emit(&name, sizeof(name));
  emit_load_rax((const void*)(uintptr_t)&before_call);
  emit("\xff\xd0", 2);                                           // call rax
  emit("\x48\x83\xc4\x08\x41\x59\x41\x58\x59\x5a\x5e\x5f", 12);  // and back
  emit_load_rax(real);
  emit("\xff\xe0", 2);  // jmp rax
  return routine;
}

void* dlsym(void* handle, const char* name) {
  static void* (*real)(void*, const char*);
  if (real == NULL) real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); ++i) {
    if (strcmp(name, counted[i]) == 0) return make_routine(counted[i], real(handle, name));
  }
  // A jump, not a call: RTLD_NEXT means the object after the caller.
  return real(handle, name);
}
