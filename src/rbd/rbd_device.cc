// SPDX-License-Identifier: Apache-2.0
#include "rbd/rbd_device.h"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/log.h"
#include "os/file.h"

namespace holdfast::rbd {
namespace {

// A key of the kernel's Ceph client in this thread's keyring: a secret that no buffer, command line
// or sysfs file shows (keyrings(7)). Kept there until it is destroyed. Do not pass it to another
// thread: a process keyring belongs to the thread that made it.
class [[nodiscard]] CephKernelKey final {
 public:
  // `name` is the name by which the kernel looks it up; `base64` is the key as Ceph prints it.
  // FAILED_PRECONDITION if the text is no Ceph key, or this kernel knows no Ceph keys (module
  // libceph); INTERNAL if it refuses the key.
  [[nodiscard]] static absl::StatusOr<CephKernelKey> Add(const std::string& name,
                                                         const std::string& base64);

  CephKernelKey(CephKernelKey&& other) noexcept;
  CephKernelKey& operator=(CephKernelKey&&) = delete;
  ~CephKernelKey();

 private:
  explicit CephKernelKey(std::int32_t serial) : serial_(serial) {}
  std::int32_t serial_;  // 0: moved from
};

absl::StatusOr<CephKernelKey> CephKernelKey::Add(const std::string& name,
                                                 const std::string& base64) {
  std::string secret;
  if (!absl::Base64Unescape(base64, &secret) || secret.empty()) {
    return FailedPrecondition("the key of '{}' is not a Ceph key: it is not base64", name);
  }
  const long serial = ::syscall(SYS_add_key, "ceph", name.c_str(), secret.data(), secret.size(),
                                KEY_SPEC_PROCESS_KEYRING);
  const int error = errno;
  secret.assign(secret.size(), '\0');
  if (serial >= 0) return CephKernelKey(static_cast<std::int32_t>(serial));
  if (error == ENODEV) {
    return FailedPrecondition("this kernel knows no Ceph keys; load its module: modprobe rbd");
  }
  if (error == EINVAL) return FailedPrecondition("the key of '{}' is not a Ceph key", name);
  return OsError(error, fmt::format("give the kernel the key of '{}'", name));
}

CephKernelKey::CephKernelKey(CephKernelKey&& other) noexcept
    : serial_(std::exchange(other.serial_, 0)) {}

CephKernelKey::~CephKernelKey() {
  if (serial_ != 0) {
    ::syscall(SYS_keyctl, KEYCTL_UNLINK, serial_, KEY_SPEC_PROCESS_KEYRING);
  }
}

constexpr char kBus[] = "/sys/bus/rbd";
constexpr char kDevices[] = "/sys/bus/rbd/devices";
// Writes to sysfs are limited to a page.
constexpr std::size_t kMaxAttribute = 4096;
// How long the kernel may wait for the cluster before it gives up on a mapping (libceph's
// mount_timeout, in seconds); less than a CO waits for NodeStageVolume.
constexpr int kMapSeconds = 20;
constexpr std::chrono::seconds kBusyPatience{5};
constexpr std::chrono::milliseconds kBusyInterval{50};

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

absl::StatusOr<std::string> Attribute(int device_fd, const std::string& name) {
  ASSIGN_OR_RETURN(std::string text, os::ReadFileAt(device_fd, name, kMaxAttribute));
  return Trimmed(std::move(text));
}

template <typename Number>
absl::StatusOr<Number> NumberIn(const std::string& text, int base = 10) {
  Number number = 0;
  std::string_view digits = text;
  if (base == 16 && digits.starts_with("0x")) digits.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Internal("the kernel's rbd driver reports '{}', which is not a number", text);
  }
  return number;
}

absl::Status WriteAttribute(const std::string& path, const std::string& text, int& error) {
  error = 0;
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) {
    error = errno;
    return OsError(error, fmt::format("open '{}'", path));
  }
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  error = errno;
  return OsError(error, fmt::format("write to '{}'", path));
}

// One major number for all devices, where the kernel can (since 3.14).
std::string BusFile(const std::string& name) {
  const std::string single = fmt::format("{}/{}_single_major", kBus, name);
  return ::access(single.c_str(), F_OK) == 0 ? single : fmt::format("{}/{}", kBus, name);
}

absl::Status NoModule() {
  return FailedPrecondition("this kernel has no rbd; load its module on the host: modprobe rbd");
}

bool IsLoaded() { return ::access(kDevices, F_OK) == 0; }

// Whether the device directory describes the head of such an image. A device that disappears
// meanwhile does not count.
bool Shows(int device_fd, const RbdImageName& prefix) {
  const auto is = [&](const char* name, const std::string& wanted) {
    const auto found = Attribute(device_fd, name);
    return found.ok() && *found == wanted;
  };
  const auto name = Attribute(device_fd, "name");
  if (!name.ok() || !name->starts_with(prefix.image)) return false;
  if (!is("pool", prefix.pool) || !is("current_snap", "-")) return false;
  // Kernels before 4.19 have neither name spaces nor this file.
  return prefix.name_space.empty() ? !Attribute(device_fd, "pool_ns").ok() || is("pool_ns", "")
                                   : is("pool_ns", prefix.name_space);
}

absl::StatusOr<RbdDevice> Describe(int device_fd, int index) {
  RbdDevice device{.index = index,
                   .image = "",
                   .block = {},
                   .cluster = "",
                   .pool_id = -1,
                   .image_id = "",
                   .client_address = ""};
  ASSIGN_OR_RETURN(device.image, Attribute(device_fd, "name"));
  ASSIGN_OR_RETURN(device.cluster, Attribute(device_fd, "cluster_fsid"));
  ASSIGN_OR_RETURN(const std::string pool_id, Attribute(device_fd, "pool_id"));
  ASSIGN_OR_RETURN(device.pool_id, NumberIn<std::int64_t>(pool_id));
  ASSIGN_OR_RETURN(device.image_id, Attribute(device_fd, "image_id"));
  ASSIGN_OR_RETURN(device.client_address, Attribute(device_fd, "client_addr"));
  ASSIGN_OR_RETURN(const std::string major_text, Attribute(device_fd, "major"));
  ASSIGN_OR_RETURN(const std::string minor_text, Attribute(device_fd, "minor"));
  ASSIGN_OR_RETURN(const auto major_number, NumberIn<unsigned>(major_text));
  ASSIGN_OR_RETURN(const auto minor_number, NumberIn<unsigned>(minor_text));
  const std::string node = fmt::format("/dev/rbd{}", index);
  const auto block = os::InspectBlockDevice(node);
  if (absl::IsNotFound(block.status())) {
    return Internal("'{}' is not there; /dev must be the host's own (devtmpfs)", node);
  }
  RETURN_IF_ERROR(block.status());
  if (block->number != makedev(major_number, minor_number)) {
    return Internal("'{}' is not the device that the kernel's rbd made", node);
  }
  device.block = *block;
  return device;
}

std::string MappingLine(const RbdMapping& mapping, const std::string& key_name) {
  std::vector<std::string> options{fmt::format("name={}", mapping.user),
                                   fmt::format("key={}", key_name),
                                   fmt::format("mount_timeout={}", kMapSeconds), "noshare"};
  if (mapping.messenger_v2) options.emplace_back("ms_mode=prefer-crc");
  if (mapping.read_only) options.emplace_back("read_only");
  if (!mapping.image.name_space.empty()) {
    options.push_back(fmt::format("_pool_ns={}", mapping.image.name_space));
  }
  return fmt::format("{} {} {} {} -", fmt::join(mapping.monitors, ","), fmt::join(options, ","),
                     mapping.image.pool, mapping.image.image);
}

absl::Status MapError(int error, const absl::Status& status, const RbdMapping& mapping) {
  const std::string what = fmt::format("map image '{}' of pool '{}' as client.{}",
                                       mapping.image.image, mapping.image.pool, mapping.user);
  switch (error) {
    case EPERM:
    case EACCES:
    case EINVAL:  // libceph's answer to a wrong key
      return FailedPrecondition(
          "{}: the cluster or the kernel refuses it (errno {}); check user, key and caps", what,
          error);
    case ETIMEDOUT:
    case EIO:
      return Unavailable("{}: the cluster does not answer this node (errno {})", what, error);
    default:
      return Annotate(status, what);
  }
}

void UnmapLate(const absl::StatusOr<RbdDevice>& device) {
  if (!device.ok()) return;
  const std::string what = fmt::format("{} of image '{}'", device->block.path, device->image);
  const absl::Status unmapped = UnmapRbdDevice(*device);
  if (unmapped.ok()) {
    LogWarning("{} came when its call had ended, and was unmapped", what);
  } else {
    LogWarning("{} came when its call had ended, and stays: {}", what, MessageOf(unmapped));
  }
}

}  // namespace

absl::Status RequireRbdFeatures(std::uint64_t features) {
  const auto bus = os::OpenDirectory(kBus);
  if (!bus.ok()) return NoModule();
  ASSIGN_OR_RETURN(const std::string text, Attribute(bus->get(), "supported_features"));
  ASSIGN_OR_RETURN(const auto supported, NumberIn<std::uint64_t>(text, 16));
  const std::uint64_t missing = features & ~supported;
  if (missing == 0) return absl::OkStatus();
  return FailedPrecondition(
      "this kernel's rbd lacks image features {:#x}; it needs Linux 5.3 or newer", missing);
}

absl::StatusOr<std::vector<RbdDevice>> FindRbdDevices(const RbdImageName& prefix) {
  std::vector<RbdDevice> found;
  const auto devices = os::OpenDirectory(kDevices);
  if (absl::IsNotFound(devices.status())) return found;
  RETURN_IF_ERROR(devices.status());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(devices->get()));
  for (const std::string& name : names) {
    // Its entries are symbolic links into /sys/devices/rbd.
    const auto directory = os::OpenDirectory(fmt::format("{}/{}", kDevices, name));
    if (!directory.ok() || !Shows(directory->get(), prefix)) continue;
    ASSIGN_OR_RETURN(const int index, NumberIn<int>(name));
    auto device = Describe(directory->get(), index);
    if (!Shows(directory->get(), prefix)) continue;
    RETURN_IF_ERROR(device.status());
    found.push_back(*std::move(device));
  }
  return found;
}

absl::StatusOr<RbdDevice> MapRbdImage(const RbdMapping& mapping) {
  if (!IsLoaded()) return NoModule();
  const std::string key_name = "client." + mapping.user;
  ASSIGN_OR_RETURN(const CephKernelKey key, CephKernelKey::Add(key_name, mapping.key));
  int error = 0;
  const absl::Status written =
      WriteAttribute(BusFile("add"), MappingLine(mapping, key_name), error);
  if (!written.ok()) return MapError(error, written, mapping);
  ASSIGN_OR_RETURN(const auto devices, FindRbdDevices(mapping.image));
  if (devices.size() == 1) return devices.front();
  return Internal("the kernel mapped image '{}' of pool '{}' but shows {} devices of it",
                  mapping.image.image, mapping.image.pool, devices.size());
}

absl::StatusOr<Bytes> RefreshRbdDevice(const RbdDevice& device) {
  int error = 0;
  RETURN_IF_ERROR(WriteAttribute(fmt::format("{}/{}/refresh", kDevices, device.index), "1", error));
  ASSIGN_OR_RETURN(const os::BlockDevice block, os::InspectBlockDevice(device.block.path));
  return block.size;
}

absl::Status UnmapRbdDevice(const RbdDevice& device) {
  const auto deadline = std::chrono::steady_clock::now() + kBusyPatience;
  while (true) {
    int error = 0;
    const absl::Status written =
        WriteAttribute(BusFile("remove"), fmt::format("{}", device.index), error);
    if (written.ok() || error == ENOENT) return absl::OkStatus();
    if (error != EBUSY) return Annotate(written, fmt::format("unmap {}", device.block.path));
    // udev opens every device that changes.
    if (std::chrono::steady_clock::now() > deadline) {
      return FailedPrecondition("{} is in use: a program has it open", device.block.path);
    }
    std::this_thread::sleep_for(kBusyInterval);
  }
}

std::optional<std::string> RbdImageAt(int index) {
  const auto directory = os::OpenDirectory(fmt::format("{}/{}", kDevices, index));
  if (!directory.ok()) return std::nullopt;
  auto name = Attribute(directory->get(), "name");
  return name.ok() ? std::optional(*std::move(name)) : std::nullopt;
}

absl::StatusOr<RbdDevice> DeviceCalls::Map(const std::string& uuid, const RbdMapping& mapping) {
  const auto device = std::make_shared<absl::StatusOr<RbdDevice>>();
  RETURN_IF_ERROR(calls_.Run(
      uuid, fmt::format("the kernel's mapping of image '{}'", mapping.image.image),
      [device, mapping] { *device = MapRbdImage(mapping); }, [device] { UnmapLate(*device); }));
  return *device;
}

absl::StatusOr<Bytes> DeviceCalls::Refresh(const std::string& uuid, const RbdDevice& device) {
  const auto size = std::make_shared<absl::StatusOr<Bytes>>(0);
  RETURN_IF_ERROR(calls_.Run(uuid,
                             fmt::format("the kernel's look at the size of {}", device.block.path),
                             [size, device] { *size = RefreshRbdDevice(device); }));
  return *size;
}

absl::Status DeviceCalls::Unmap(const std::string& uuid, const RbdDevice& device) {
  const auto unmapped = std::make_shared<absl::Status>();
  RETURN_IF_ERROR(calls_.Run(uuid, fmt::format("the kernel's unmapping of {}", device.block.path),
                             [unmapped, device] { *unmapped = UnmapRbdDevice(device); }));
  return *unmapped;
}

}  // namespace holdfast::rbd
