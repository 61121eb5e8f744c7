// SPDX-License-Identifier: Apache-2.0
#include "fs/format_programs.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

namespace holdfast::fs {
namespace {

constexpr std::chrono::minutes kMaxWait{1};
constexpr std::chrono::minutes kMkfsDeadline{10};
constexpr std::chrono::minutes kMaintenanceDeadline{60};
constexpr std::size_t kOutputInError = 1024;

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
  // Formatting mostly waits for the disk, so more than one for each core.
  unsigned free_ = std::max(8U, 2 * std::thread::hardware_concurrency());  // guarded by mutex_
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
  ASSIGN_OR_RETURN(const os::CommandResult result, os::RunCommand(argv, kMkfsDeadline));
  if (result.exit_code == 0) return os::FlushBlockDevice(device);
  return Internal("{} on {} failed with {}", argv.front(), device.path, DescribeEnd(result));
}

absl::StatusOr<os::CommandResult> RunMaintenance(const std::vector<std::string>& argv) {
  const Place place;
  RETURN_IF_ERROR(place.status());
  return os::RunCommand(argv, kMaintenanceDeadline);
}

std::string DescribeEnd(const os::CommandResult& result) {
  std::string_view said = result.output;
  said = said.substr(0, said.find("\nUsage:"));
  while (said.ends_with('\n')) said.remove_suffix(1);
  said.remove_prefix(said.size() - std::min(said.size(), kOutputInError));
  if (result.signal != 0) return fmt::format("signal {}: {}", result.signal, said);
  return fmt::format("exit code {}: {}", result.exit_code, said);
}

}  // namespace holdfast::fs
