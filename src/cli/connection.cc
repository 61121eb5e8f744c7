// SPDX-License-Identifier: Apache-2.0
#include "cli/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "core/config.h"
#include "os/unique_fd.h"

namespace holdfast::cli {
namespace {

constexpr char kRemedy[] =
    "start `holdfast serve`, or name its socket by --endpoint or CSI_ENDPOINT";

absl::Status Explain(int error, const std::string& path) {
  switch (error) {
    case ENOENT:
      return NotFound("there is no socket '{}'; {}", path, kRemedy);
    case ECONNREFUSED:
      return Unavailable("no server answers on '{}' (it has ended); {}", path, kRemedy);
    case EACCES:
    case EPERM:
      return MakeStatus(absl::StatusCode::kPermissionDenied,
                        fmt::format("socket '{}' may not be opened; run this as root", path));
    case ENOTSOCK:
    case EPROTOTYPE:
      return FailedPrecondition("'{}' is not a socket of this kind; {}", path, kRemedy);
    default:
      return OsError(error, fmt::format("connect to '{}'", path));
  }
}

}  // namespace

absl::Status CheckListener(const std::string& path) {
  const os::UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.valid()) return OsError(errno, "make a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("'{}' is too long", path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(client.get(), generic, sizeof(address)) == 0) return absl::OkStatus();
  struct stat facts {};
  const int error = errno;
  // connect(2) also answers ECONNREFUSED for a file that is not a socket.
  const bool other = error == ECONNREFUSED && ::lstat(path.c_str(), &facts) == 0;
  return Explain(other && !S_ISSOCK(facts.st_mode) ? ENOTSOCK : error, path);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const std::string& endpoint) {
  ASSIGN_OR_RETURN(const std::string path, SocketPath(endpoint));
  RETURN_IF_ERROR(CheckListener(path));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return MakeStatus(absl::StatusCode::kUnimplemented,
                      "the server on this socket does not know the call: is it another CSI "
                      "driver, or another version of Holdfast?");
  }
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace holdfast::cli
