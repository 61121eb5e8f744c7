// SPDX-License-Identifier: Apache-2.0
#include "server/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::server {
namespace socket_test {

// Binds a socket at `path` and, if wanted, listens on it.
os::UniqueFd BindSocket(const std::string& path, bool listening) {
  os::UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(server.valid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  if (listening) REQUIRE(::listen(server.get(), 1) == 0);
  return server;
}

bool Exists(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0;
}

TEST_CASE("the socket's directory is made") {
  const test::TempDirectory directory;
  REQUIRE_OK(PrepareSocket(directory.path("a/b/csi.sock")));
  CHECK(Exists(directory.path("a/b")));
  CHECK_FALSE(Exists(directory.path("a/b/csi.sock")));
}

TEST_CASE("a socket on which somebody answers is left to them") {
  const test::TempDirectory directory;
  const os::UniqueFd server = BindSocket(directory.path("csi.sock"), true);
  CHECK_FAILS(PrepareSocket(directory.path("csi.sock")), kFailedPrecondition, "another process");
  CHECK(Exists(directory.path("csi.sock")));
}

TEST_CASE("a stale socket is no obstacle") {
  const test::TempDirectory directory;
  { const os::UniqueFd dead = BindSocket(directory.path("csi.sock"), true); }
  REQUIRE_OK(PrepareSocket(directory.path("csi.sock")));
}

TEST_CASE("what is no socket is left alone") {
  const test::TempDirectory directory;
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "csi.sock", "precious"));
  CHECK_FAILS(PrepareSocket(directory.path("csi.sock")), kFailedPrecondition, "is not a socket");
  CHECK(test::Value(os::ReadFileAt(directory.fd(), "csi.sock")) == "precious");
  REQUIRE(::symlink("/nowhere", directory.path("link.sock").c_str()) == 0);
  CHECK_FAILS(PrepareSocket(directory.path("link.sock")), kFailedPrecondition, "is not a socket");
}

TEST_CASE("a directory that cannot be made is an error") {
  const test::TempDirectory directory;
  REQUIRE_OK(os::WriteFileDurably(directory.fd(), "file", ""));
  CHECK_FAILS(PrepareSocket(directory.path("file/sub/csi.sock")), kInternal, "directory of socket");
}

}  // namespace socket_test
}  // namespace holdfast::server
