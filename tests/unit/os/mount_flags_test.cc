// SPDX-License-Identifier: Apache-2.0
#include "os/mount_flags.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace holdfast::os {
namespace mount_flags_test {

TEST_CASE("plain mount options are taken") {
  const std::string flag = GENERATE(
      "noatime", "nodev", "discard", "rw", "ro", "defaults", "_netdev", "data=ordered", "commit=30",
      "errors=remount-ro", "errors=continue", "subvol=data", "compress=zstd:3", "nouuid",
      "logbsize=256k", "usrquota", "group_id=4", "barrier=1", "context=system_u:object_r:x_t:s0",
      "context=\"system_u:object_r:container_file_t:s0:c1,c2\"",
      "rootcontext=\"system_u:object_r:container_file_t:s0:c0.c1023\"", "stripe=", "xattr");
  CAPTURE(flag);
  CHECK(ValidateMountFlags({flag}, "mount_flags").ok());
}

TEST_CASE("everything else is refused, naming the field, the place and the option") {
  struct Case {
    std::string flag;
    const char* named;
  };
  const Case c = GENERATE(
      Case{"bind", "'bind'"}, Case{"rbind", "'rbind'"}, Case{"remount", "'remount'"},
      Case{"move", "'move'"}, Case{"shared", "'shared'"}, Case{"rshared", "'rshared'"},
      Case{"private", "'private'"}, Case{"rprivate", "'rprivate'"}, Case{"slave", "'slave'"},
      Case{"rslave", "'rslave'"}, Case{"unbindable", "'unbindable'"},
      Case{"runbindable", "'runbindable'"}, Case{"loop", "'loop'"},
      Case{"loop=/dev/loop1", "'loop'"}, Case{"offset=512", "'offset'"},
      Case{"sizelimit=1", "'sizelimit'"}, Case{"encryption=aes", "'encryption'"},
      Case{"helper=sh", "'helper'"}, Case{"uhelper=sh", "'uhelper'"}, Case{"user", "'user'"},
      Case{"user=joe", "'user'"}, Case{"nofail", "'nofail'"}, Case{"noauto", "'noauto'"},
      Case{"x-systemd.automount", "'x-systemd.automount'"},
      Case{"X-mount.mkdir", "'X-mount.mkdir'"}, Case{"X-mount.subdir=a", "'X-mount.subdir'"},
      Case{"verity.hashdevice=/dev/sda", "'verity.hashdevice'"},
      Case{"device=/dev/sda", "'device'"}, Case{"source=/dev/sda", "'source'"},
      Case{"journal_path=/dev/sda", "'journal_path'"}, Case{"journal_dev=0x801", "'journal_dev'"},
      Case{"logdev=/dev/sda", "'logdev'"}, Case{"rtdev=/dev/sda", "'rtdev'"},
      Case{"errors=panic", "'errors'"}, Case{"fatal_errors=panic", "'fatal_errors'"});
  CAPTURE(c.flag);
  const absl::Status status = ValidateMountFlags({"noatime", c.flag}, "mount_flags");
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(MessageOf(status).find("mount_flags[1]") != std::string::npos);
  CHECK(MessageOf(status).find(c.named) != std::string::npos);
}

TEST_CASE("what is not one option is refused") {
  const std::string flag = GENERATE(
      as<std::string>(), "", "=", "=x", "noatime,bind", "noatime,", ",noatime", " noatime",
      "noatime ", "no atime", "noatime\n", "data=ordered\n", std::string("noatime\0bind", 12),
      "data=a\tb", "data=a\\,bind", "data=\"a,bind\"", "data=\"ordered\"",
      "usrjquota=\"a,errors=panic,grpjquota=b\"", "\"noatime\"", "context=\"a,errors=panic\"",
      "context=\"a,bind", "context=a,bind", "context=\"a\",bind", "context=\"a\"b\"", "context=\"",
      "data=\xc3\xa4", "n\xc3\xa4me", "noatime;bind");
  CAPTURE(flag);
  CHECK(ValidateMountFlags({flag}, "f").code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a message never holds the value of an option") {
  for (const char* flag : {"device=SECRET", "data=SECRET,x", "SECRET\n"}) {
    const std::string message = MessageOf(ValidateMountFlags({flag}, "f"));
    CHECK(message.find("SECRET") == std::string::npos);
  }
}

TEST_CASE("all flags together fit into one page with the NUL at the end") {
  const std::string almost(2047, 'a');
  CHECK(ValidateMountFlags({almost, almost}, "f").ok());
  CHECK(ValidateMountFlags({almost, almost + "a"}, "f").code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(ValidateMountFlags(std::vector<std::string>(2049, "a"), "f").code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(ValidateMountFlags({}, "f").ok());
}

TEST_CASE("flags are joined by commas") {
  CHECK(JoinMountFlags({}).empty());
  CHECK(JoinMountFlags({"a"}) == "a");
  CHECK(JoinMountFlags({"a", "context=\"b,c\"", "d"}) == "a,context=\"b,c\",d");
}

}  // namespace mount_flags_test
}  // namespace holdfast::os
