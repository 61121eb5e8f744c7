// SPDX-License-Identifier: Apache-2.0
#include "server/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "os/unique_fd.h"

namespace holdfast::server {
namespace {

absl::StatusOr<bool> SomebodyAnswers(const std::string& path) {
  const os::UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.valid()) return OsError(errno, "make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("'{}' is too long", path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
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
  ASSIGN_OR_RETURN(const bool answers, SomebodyAnswers(path));
  if (!answers) return absl::OkStatus();
  return FailedPrecondition("another process serves '{}'; stop it first, or use another endpoint",
                            path);
}

}  // namespace holdfast::server
