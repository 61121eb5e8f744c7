// SPDX-License-Identifier: Apache-2.0
#include "fs/format_programs.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace holdfast::fs {
namespace {

constexpr std::chrono::minutes kMaxWait{1};
constexpr std::chrono::minutes kMkfsDeadline{10};
constexpr std::chrono::minutes kMaintenanceDeadline{60};

// Not std::counting_semaphore: that of libstdc++ before 13.3 can lose a wake-up (GCC bug 104928).
class Places final {
 public:
  bool Take() {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, kMaxWait, [this] { return free_ > 0; })) return false;
    --free_;
    return true;
  }
  void Give() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned free_ = 2 + std::max(1U, std::thread::hardware_concurrency());
};

Places& AllPlaces() {
  static Places places;
  return places;
}

class Place final {
 public:
  Place() : taken_(AllPlaces().Take()) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (taken_) AllPlaces().Give();
  }

  [[nodiscard]] absl::Status status() const {
    if (taken_) return absl::OkStatus();
    return Unavailable("too many filesystems are being made or checked now; try again later");
  }

 private:
  bool taken_;
};

}  // namespace

absl::Status RunMkfs(std::vector<std::string> argv, const os::BlockDevice& device) {
  const Place place;
  RETURN_IF_ERROR(place.status());
  argv.push_back(device.path);
  RETURN_IF_ERROR(os::RunCommandOrFail(argv, kMkfsDeadline));
  return os::FlushBlockDevice(device);
}

absl::StatusOr<os::CommandResult> RunMaintenance(const std::vector<std::string>& argv) {
  const Place place;
  RETURN_IF_ERROR(place.status());
  return os::RunCommand(argv, kMaintenanceDeadline);
}

}  // namespace holdfast::fs
