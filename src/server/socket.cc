// SPDX-License-Identifier: Apache-2.0
#include "server/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "os/unique_fd.h"

namespace holdfast::server {
namespace {

constexpr int kBacklog = 128;

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("'{}' is too long", path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

absl::StatusOr<os::UniqueFd> MakeSocket() {
  os::UniqueFd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return OsError(errno, "make a socket");
  return made;
}

absl::StatusOr<bool> IsListening(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  ASSIGN_OR_RETURN(const os::UniqueFd client, MakeSocket());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  // EAGAIN: its queue is full, so a process listens.
  return ::connect(client.get(), generic, sizeof(address)) == 0 || errno == EAGAIN;
}

void RemoveSocket(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) ::unlink(path.c_str());
}

}  // namespace

absl::Status PrepareSocket(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return OsError(error.value(), fmt::format("make the directory of socket '{}'", path));
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return absl::OkStatus();
  if (!S_ISSOCK(facts.st_mode)) {
    return FailedPrecondition("'{}' exists and is not a socket", path);
  }
  ASSIGN_OR_RETURN(const bool answers, IsListening(path));
  if (!answers) return absl::OkStatus();
  return FailedPrecondition("another process serves '{}'; stop it first, or use another endpoint",
                            path);
}

absl::StatusOr<os::UniqueFd> ListenOnSocket(const std::string& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  ASSIGN_OR_RETURN(os::UniqueFd socket, MakeSocket());
  RemoveSocket(path);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), generic, sizeof(address)) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return OsError(errno, fmt::format("cannot listen on '{}'", path));
  }
  return socket;
}

void RemoveDeadSocket(const std::string& path) {
  const auto answers = IsListening(path);
  if (answers.ok() && !*answers) RemoveSocket(path);
}

SocketName::~SocketName() { RemoveSocket(path_); }

}  // namespace holdfast::server
