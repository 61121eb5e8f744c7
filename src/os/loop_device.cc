// SPDX-License-Identifier: Apache-2.0
#include "os/loop_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "os/descriptor_gates.h"
#include "os/device_use.h"
#include "os/loop_number.h"
#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

constexpr const char* kControl = "/dev/loop-control";
constexpr int kOfferAttempts = 64;  // each failed one means that another caller got a device
constexpr std::chrono::milliseconds kDetachWait{500};
constexpr std::chrono::milliseconds kDetachPoll{1};

absl::StatusOr<LoopDevice> Describe(int node_fd, int index, const loop_info64& info) {
  ASSIGN_OR_RETURN(BlockDevice block, InspectBlockDevice(node_fd, LoopPath(index)));
  return LoopDevice{.index = index,
                    .block = std::move(block),
                    .direct_io = (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0,
                    .whole = info.lo_offset == 0 && info.lo_sizelimit == 0,
                    .label = LabelOf(info)};
}

// ---- find

// True only if `image_fd` is the only open file description of its file, so that no loop device can
// hold it: exactly then a write lease is granted (fcntl(2), "Leases"). It costs the same however
// many loop devices there are. False also where leases are not supported.
bool IsOnlyOpener(int image_fd) {
  // Opening the file while it is leased signals the holder; the default, SIGIO, would end the
  // process, while SIGURG is ignored unless a handler is set.
  if (::fcntl(image_fd, F_SETSIG, SIGURG) != 0) return false;
  return ::fcntl(image_fd, F_SETLEASE, F_WRLCK) == 0 && ::fcntl(image_fd, F_SETLEASE, F_UNLCK) == 0;
}

// The loop device `index` if its backing file is `image`.
absl::StatusOr<std::optional<LoopDevice>> MatchLoop(int index, const struct stat& image) {
  const UniqueFd node = OpenLoop(index, O_RDONLY);
  loop_info64 info{};
  if (!node.valid() || ::ioctl(node.get(), LOOP_GET_STATUS64, &info) != 0) {
    // Unbound, removed, or about to be.
    if (errno == ENXIO || errno == ENOENT || errno == ENODEV) return std::nullopt;
    // Our image was inspected a moment ago, so this device has another one.
    if (IsOutOfReach(errno)) return std::nullopt;
    return OsError(errno, fmt::format("cannot inspect '{}'", LoopPath(index)));
  }
  // The kernel reports stat's device number, in the encoding that stat itself uses.
  if (info.lo_device != image.st_dev || info.lo_inode != image.st_ino) return std::nullopt;
  ASSIGN_OR_RETURN(LoopDevice loop, Describe(node.get(), index, info));
  return loop;
}

bool IsOwn(const LoopDevice& loop, const std::string& label) {
  return loop.whole && loop.label == label;
}

absl::StatusOr<LoopsOfImage> ScanLoops(const struct stat& image, const std::string& label) {
  LoopsOfImage loops;
  for (const int index : LoopNumbers()) {
    if (!IsBound(index)) continue;
    ASSIGN_OR_RETURN(std::optional<LoopDevice> loop, MatchLoop(index, image));
    if (!loop) continue;
    const bool own = IsOwn(*loop, label);
    if (own && loops.own) {
      return FailedPrecondition(
          "the image is attached twice, to '{}' and '{}', whose caches are not coherent; "
          "detach the one that is not in use with losetup -d",
          loops.own->block.path, loop->block.path);
    }
    (own ? loops.own : loops.other) = std::move(loop);
  }
  return loops;
}

// Unbound numbers that this process left with discard off: the next such attachment saves the time
// of switching it off. Only hints; a number may have been taken or removed by now.
class IdleNumbers final {
 public:
  void Put(int index) {
    const MutexLock lock(mutex_);
    numbers_.push_back(index);
  }
  std::optional<int> Take() {
    const MutexLock lock(mutex_);
    if (numbers_.empty()) return std::nullopt;
    const int index = numbers_.back();
    numbers_.pop_back();
    return index;
  }

 private:
  Mutex mutex_;
  std::vector<int> numbers_ ABSL_GUARDED_BY(mutex_);
};

IdleNumbers& IdleWithoutDiscard() {
  static IdleNumbers numbers;
  return numbers;
}

// ---- attach

loop_config ConfigOf(int backing_fd, const LoopOptions& options) {
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(backing_fd);
  config.block_size = options.sector_size;
  if (options.direct_io) config.info.lo_flags |= LO_FLAGS_DIRECT_IO;
  if (options.read_only) config.info.lo_flags |= LO_FLAGS_READ_ONLY;
  static_assert(sizeof(config.info.lo_file_name) == kMaxLoopLabel + 1);
  options.label.copy(reinterpret_cast<char*>(config.info.lo_file_name), kMaxLoopLabel);
  return config;
}

// Sets up the newly bound device as requested; nothing if its number cannot be used.
absl::StatusOr<std::optional<LoopDevice>> SetUp(int node_fd, int index,
                                                const LoopOptions& options) {
  loop_info64 info{};
  if (::ioctl(node_fd, LOOP_GET_STATUS64, &info) != 0) {
    return OsError(errno, fmt::format("cannot inspect '{}'", LoopPath(index)));
  }
  if (options.discard && DiscardIsSwitchedOff(index)) return std::nullopt;
  if (IsSetReadOnly(node_fd, info) && !SetWritable(node_fd)) return std::nullopt;
  if (!options.discard) RETURN_IF_ERROR(SwitchDiscardOff(index));
  ASSIGN_OR_RETURN(LoopDevice loop, Describe(node_fd, index, info));
  return loop;
}

struct Wanted {
  int backing_fd;
  const LoopOptions& options;
  const BoundNodes& bound_nodes;
};

// A number that no binding may use: an unbound device whose node is still mounted in a pod would
// show the pod another volume's bytes; and discard that was switched off cannot be switched on
// again.
bool IsSpoiled(int index, const Wanted& wanted) {
  return wanted.bound_nodes.Has(fmt::format("loop{}", index)) ||
         (wanted.options.discard && DiscardIsSwitchedOff(index));
}

// Nothing when another number must be tried.
absl::StatusOr<std::optional<LoopDevice>> TryAttach(int index, const Wanted& wanted) {
  const LoopOptions& options = wanted.options;
  const UniqueFd node = OpenLoop(index, options.read_only ? O_RDONLY : O_RDWR);
  if (!node.valid()) return std::nullopt;  // being removed, or write-protected
  const loop_config config = ConfigOf(wanted.backing_fd, options);
  if (::ioctl(node.get(), LOOP_CONFIGURE, &config) != 0) {
    if (errno == EBUSY || errno == EINTR) return std::nullopt;
    return OsError(errno, fmt::format("cannot attach the image to '{}'", LoopPath(index)));
  }
  absl::StatusOr<std::optional<LoopDevice>> loop = SetUp(node.get(), index, options);
  if (!loop.ok() || !loop->has_value()) ::ioctl(node.get(), LOOP_CLR_FD);
  return loop;
}

using Attempt = absl::StatusOr<std::optional<LoopDevice>>;

// Numbers that this process left with discard off.
Attempt TryIdleNumbers(const Wanted& wanted) {
  while (const std::optional<int> index = IdleWithoutDiscard().Take()) {
    if (IsSpoiled(*index, wanted)) continue;
    ASSIGN_OR_RETURN(std::optional<LoopDevice> loop, TryAttach(*index, wanted));
    if (loop) return loop;
  }
  return std::nullopt;
}

// Numbers from `command`: the lowest free one (LOOP_CTL_GET_FREE) or a new one (LOOP_CTL_ADD).
// Another program may take it first, so several attempts are made.
Attempt TryOfferedNumbers(int control_fd, unsigned long command, const Wanted& wanted) {
  for (int attempt = 0; attempt < kOfferAttempts; ++attempt) {
    const int index = ::ioctl(control_fd, command, -1);
    if (index < 0) return OsError(errno, "cannot get a free loop device");
    if (IsSpoiled(index, wanted)) {
      // The kernel would keep offering this one. A new one was taken and spoiled by another
      // program, or has the number of a device that was removed while a pod had it.
      if (command == LOOP_CTL_GET_FREE) return std::nullopt;
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<LoopDevice> loop, TryAttach(index, wanted));
    if (loop) return loop;
  }
  return std::nullopt;
}

// Every unbound number: the kernel keeps offering the lowest one even when it cannot be used,
// because a program holds it without binding it or because it is spoiled.
Attempt TryUnboundNumbers(const Wanted& wanted) {
  for (const int index : LoopNumbers()) {
    if (IsBound(index) || IsSpoiled(index, wanted)) continue;
    ASSIGN_OR_RETURN(std::optional<LoopDevice> loop, TryAttach(index, wanted));
    if (loop) return loop;
  }
  return std::nullopt;
}

// From the cheapest to the most reliable source of numbers.
Attempt TryAllNumbers(int control_fd, const Wanted& wanted) {
  Attempt loop = std::nullopt;
  if (!wanted.options.discard) loop = TryIdleNumbers(wanted);
  if (loop.ok() && !*loop) loop = TryOfferedNumbers(control_fd, LOOP_CTL_GET_FREE, wanted);
  if (loop.ok() && !*loop) loop = TryUnboundNumbers(wanted);
  if (loop.ok() && !*loop) loop = TryOfferedNumbers(control_fd, LOOP_CTL_ADD, wanted);
  return loop;
}

// ---- detach

bool SameImage(const loop_info64& a, const loop_info64& b) {
  return a.lo_device == b.lo_device && a.lo_inode == b.lo_inode;
}

enum class Binding { kBound, kEnding, kUnbound };

// Whether the device still holds the image of `before`; by now the number may serve another one.
Binding BindingOf(int index, const loop_info64& before) {
  const UniqueFd node = OpenLoop(index, O_RDONLY);
  if (!node.valid()) return errno == ENXIO ? Binding::kEnding : Binding::kUnbound;
  loop_info64 now{};
  if (::ioctl(node.get(), LOOP_GET_STATUS64, &now) != 0) {
    return IsOutOfReach(errno) ? Binding::kBound : Binding::kUnbound;
  }
  return SameImage(now, before) ? Binding::kBound : Binding::kUnbound;
}

Binding AwaitUnbound(int index, const loop_info64& before) {
  const auto end = std::chrono::steady_clock::now() + kDetachWait;
  while (true) {
    const Binding binding = BindingOf(index, before);
    if (binding == Binding::kUnbound || std::chrono::steady_clock::now() >= end) return binding;
    std::this_thread::sleep_for(kDetachPoll);
  }
}

// Clears the autoclear flag that LOOP_CLR_FD leaves behind while a program has the device open.
void ClearAutoclear(int index, const loop_info64& before) {
  const UniqueFd node = OpenLoop(index, O_RDONLY);
  loop_info64 info{};
  if (!node.valid() || ::ioctl(node.get(), LOOP_GET_STATUS64, &info) != 0) return;
  if (!SameImage(info, before)) return;
  info.lo_flags &= ~static_cast<std::uint32_t>(LO_FLAGS_AUTOCLEAR);
  ::ioctl(node.get(), LOOP_SET_STATUS64, &info);
}

absl::Status InUse(int index) {
  return FailedPrecondition(
      "'{}' is still mounted or open somewhere (another mount name space counts too); it stays "
      "attached until that ends",
      LoopPath(index));
}

}  // namespace

absl::StatusOr<LoopsOfImage> FindLoops(int image_fd, const std::string& label, int hint) {
  struct stat image {};
  if (::fstat(image_fd, &image) != 0) return OsError(errno, "cannot stat the image");
  if (hint >= 0) {
    ASSIGN_OR_RETURN(std::optional<LoopDevice> loop, MatchLoop(hint, image));
    if (loop && IsOwn(*loop, label)) return LoopsOfImage{.own = std::move(loop)};
  }
  if (IsOnlyOpener(image_fd)) return LoopsOfImage{};
  return ScanLoops(image, label);
}

absl::StatusOr<LoopDevice> AttachLoop(int image_fd, const LoopOptions& options) {
  const UniqueFd control(::open(kControl, O_RDWR | O_CLOEXEC));
  if (!control.valid()) {
    return OsError(errno, fmt::format("cannot open '{}' (is the loop driver loaded?)", kControl));
  }
  // The device gets an open file description of its own, so that FindLoops can distinguish it from
  // ours.
  const std::string image = fmt::format("/proc/self/fd/{}", image_fd);
  const UniqueFd backing(
      ::open(image.c_str(), (options.read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC));
  if (!backing.valid()) return OsError(errno, "cannot open the image again to attach it");
  ASSIGN_OR_RETURN(const BoundNodes bound_nodes, BoundNodes::Read());
  ASSIGN_OR_RETURN(const std::optional<LoopDevice> loop,
                   TryAllNumbers(control.get(), Wanted{.backing_fd = backing.get(),
                                                       .options = options,
                                                       .bound_nodes = bound_nodes}));
  if (loop) return *loop;
  return Internal("cannot attach the image: others took every loop device that was tried");
}

absl::Status RefuseDiscard(const LoopDevice& loop) { return SwitchDiscardOff(loop.index); }

absl::StatusOr<Bytes> RefreshLoop(const LoopDevice& loop) {
  const UniqueFd node = OpenLoop(loop.index, O_RDONLY);
  std::uint64_t size = 0;
  if (!node.valid() || ::ioctl(node.get(), LOOP_SET_CAPACITY) != 0 ||
      ::ioctl(node.get(), BLKGETSIZE64, &size) != 0) {
    return OsError(errno, fmt::format("cannot refresh the size of '{}'", LoopPath(loop.index)));
  }
  return static_cast<Bytes>(size);
}

absl::Status DetachLoop(const LoopDevice& loop) {
  const int index = loop.index;
  const auto gate = HoldBackSpawns();
  // O_EXCL is refused while the device is mounted or claimed otherwise, in any name space.
  UniqueFd node = OpenLoop(index, O_RDONLY | O_EXCL);
  loop_info64 info{};
  if (!node.valid() && errno == EBUSY) return InUse(index);
  if (!node.valid() || ::ioctl(node.get(), LOOP_GET_STATUS64, &info) != 0) {
    if (errno == ENXIO || errno == ENOENT) return absl::OkStatus();
    if (!node.valid() || !IsOutOfReach(errno)) {
      return OsError(errno, fmt::format("cannot inspect '{}'", LoopPath(index)));
    }
  } else if (LabelOf(info) != loop.label) {
    return absl::OkStatus();  // ours is gone, and another program has the number
  }
  const bool set_read_only = IsSetReadOnly(node.get(), info);
  if (::ioctl(node.get(), LOOP_CLR_FD) != 0 && errno != ENXIO) {
    return OsError(errno, fmt::format("cannot detach '{}'", LoopPath(index)));
  }
  node = UniqueFd();  // the kernel unbinds at the last close
  const Binding binding = AwaitUnbound(index, info);
  if (binding == Binding::kBound) {
    ClearAutoclear(index, info);
    return InUse(index);
  }
  if (binding == Binding::kEnding) {
    return Internal("'{}' is being detached and has not finished; try again later",
                    LoopPath(index));
  }
  if (set_read_only) ResetReadOnly(index);
  if (DiscardIsSwitchedOff(index)) IdleWithoutDiscard().Put(index);
  return absl::OkStatus();
}

void RetireIdleLoops() {
  const UniqueFd control(::open(kControl, O_RDWR | O_CLOEXEC));
  for (const int index : LoopNumbers()) {
    // EBUSY if it is bound again by now.
    if (!IsBound(index) && DiscardIsSwitchedOff(index)) {
      ::ioctl(control.get(), LOOP_CTL_REMOVE, index);
    }
  }
}

absl::Status RequireLoopDriver() {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (control.valid()) return absl::OkStatus();
  return FailedPrecondition(
      "/dev/loop-control cannot be opened ({}), without which no volume becomes a device: modprobe "
      "loop; in a container, give it the host's /dev and make it privileged",
      std::strerror(errno));
}

}  // namespace holdfast::os
