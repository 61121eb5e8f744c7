// SPDX-License-Identifier: Apache-2.0
#include "file/image_read.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast::file {

absl::Status ReadImage(int image_fd, std::string& bytes, Bytes at) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t read =
        ::pread(image_fd, bytes.data() + done, bytes.size() - done, at + static_cast<Bytes>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return OsError(errno, "cannot read the image");
    if (read == 0) return Internal("the image ends at {}, before its size", at);
    done += static_cast<std::size_t>(read);
  }
  (void)::posix_fadvise(image_fd, at, static_cast<Bytes>(bytes.size()), POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

}  // namespace holdfast::file
