// SPDX-License-Identifier: Apache-2.0
// Block devices for images of a Ceph cluster, created by the kernel's own client (krbd).
//
// The interface is sysfs (Documentation/ABI/testing/sysfs-bus-rbd in the kernel's sources): a line
// written to add_single_major maps an image, a number written to remove_single_major unmaps it, and
// every mapped device shows which image it is. Needs root, the module rbd, and Linux 5.3 for the
// features that Holdfast's images have. All functions are thread-safe; failures are INTERNAL unless
// stated otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/long_work.h"
#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::rbd {

// The name of an image, as the kernel spells it.
struct RbdImageName {
  std::string pool;
  std::string name_space;  // empty: the pool's default one
  std::string image;
};

struct RbdDevice {
  int index = -1;     // N of /dev/rbdN
  std::string image;  // its name
  os::BlockDevice block;
  std::string cluster;         // fsid
  std::int64_t pool_id = -1;   // number of the pool in its cluster
  std::string image_id;        // permanent: another one means another image of the same name
  std::string client_address;  // of the client that this device is, "10.0.0.7:0/3489572340"
};

struct RbdMapping {
  RbdImageName image;
  std::vector<std::string> monitors;  // addresses with ports
  bool messenger_v2 = false;          // they accept only the second protocol
  std::string user;                   // without "client."
  std::string key;                    // base64 text; passed to the kernel only by its keyring
  bool read_only = false;
};

// FAILED_PRECONDITION, with the remedy, when this kernel has no rbd module loaded or lacks one of
// the image features (bits of RBD_FEATURE_*).
[[nodiscard]] absl::Status RequireRbdFeatures(std::uint64_t features);

// The devices of the heads of all images of that pool and name space whose names begin with the
// image's. None on a kernel without rbd.
[[nodiscard]] absl::StatusOr<std::vector<RbdDevice>> FindRbdDevices(const RbdImageName& prefix);

// Maps an image that FindRbdDevices did not find, with a separate client for this device, so
// fencing that client fences nothing else. Returns when the device exists. FAILED_PRECONDITION: no
// rbd module, or the cluster refuses the user; UNAVAILABLE: the cluster did not answer in time.
[[nodiscard]] absl::StatusOr<RbdDevice> MapRbdImage(const RbdMapping& mapping);

// Makes the kernel read the image's size again and returns it.
[[nodiscard]] absl::StatusOr<Bytes> RefreshRbdDevice(const RbdDevice& device);

// Unmaps; OK if it is not mapped any more. FAILED_PRECONDITION when a program has the device open
// for longer than a few seconds: it is left mapped.
[[nodiscard]] absl::Status UnmapRbdDevice(const RbdDevice& device);

// The name of the image that /dev/rbdN shows now, N being `index`. Nothing if none is mapped there.
[[nodiscard]] std::optional<std::string> RbdImageAt(int index);

// The functions above in bounded time, for the device of the volume of that UUID. The kernel's
// client waits for the cluster as long as it takes: an object store that stops during a mapping
// holds that up until it is back. While the kernel works on a volume's device, it is not known
// whether there is one. UNAVAILABLE when the caller's time has passed: the kernel's work continues.
// Thread-safe.
class DeviceCalls final {
 public:
  // A device that appears too late is unmapped again, because no call would claim it.
  [[nodiscard]] absl::StatusOr<RbdDevice> Map(const std::string& uuid, const RbdMapping& mapping);
  [[nodiscard]] absl::StatusOr<Bytes> Refresh(const std::string& uuid, const RbdDevice& device);
  [[nodiscard]] absl::Status Unmap(const std::string& uuid, const RbdDevice& device);

  // Waits until the kernel is at work on none of the volume's devices. UNAVAILABLE as above.
  [[nodiscard]] absl::Status Await(const std::string& uuid) { return calls_.Await(uuid); }
  [[nodiscard]] bool IsUnderWay(const std::string& uuid) const { return calls_.IsUnderWay(uuid); }

 private:
  LongWork calls_{std::chrono::seconds(30)};  // by UUID
};

}  // namespace holdfast::rbd
