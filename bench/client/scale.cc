// SPDX-License-Identifier: Apache-2.0
#include "client/scale.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC in libstdc++

constexpr std::chrono::minutes kLongest{1};
constexpr std::chrono::microseconds kPause{200};

// gRPC's own attempts to connect would be a second apart.
bool Accepts(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool accepted =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return accepted;
}

bool IsReady(Connection& driver) {
  const auto response =
      Call(driver.identity(), &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest());
  return !response.has_ready() || response.ready().value();
}

void Await(const std::function<bool()>& condition, Clock::time_point end) {
  while (!condition()) {
    if (Clock::now() > end) throw std::runtime_error("the driver does not become ready");
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void Probe(Connection& driver) {
  Call(driver.identity(), &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest());
}

void GetCapacity(Connection& driver) {
  Call(driver.controller(), &csi::v1::Controller::Stub::GetCapacity, csi::v1::GetCapacityRequest());
}

void ListPage(Connection& driver, int entries) {
  csi::v1::ListVolumesRequest request;
  request.set_max_entries(entries);
  Call(driver.controller(), &csi::v1::Controller::Stub::ListVolumes, request);
}

double AwaitReady(const Options& options) {
  const auto end = Clock::now() + kLongest;
  Await([&] { return Accepts(options.socket); }, end);
  Connection driver(options.socket, 0);
  Await([&] { return IsReady(driver); }, end);
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace bench
