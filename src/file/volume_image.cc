// SPDX-License-Identifier: Apache-2.0
#include "file/volume_image.h"

#include <optional>

#include "file/image_file.h"
#include "os/file.h"

namespace holdfast::file {

absl::StatusOr<os::UniqueFd> OpenVolumeImage(int volumes_fd, const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectoryAt(volumes_fd, uuid));
  auto image = OpenImage(directory.get());
  if (!absl::IsNotFound(image.status())) return image;
  return Annotate(WithCode(image.status(), absl::StatusCode::kFailedPrecondition),
                  fmt::format("volume {}", uuid));
}

absl::StatusOr<os::UniqueFd> OpenVolumeImageToRead(int volumes_fd,
                                                   const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const os::UniqueFd directory,
                   os::OpenDirectoryAt(volumes_fd, record.volume.id.uuid));
  ASSIGN_OR_RETURN(auto image, OpenImageReadOnly(directory.get()));
  if (image) return *std::move(image);
  return OpenVolumeImage(volumes_fd, record);  // fails, and says why
}

}  // namespace holdfast::file
