// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast::cli {
namespace {

absl::Status TooLarge() {
  return InvalidArgument("it is larger than {} MiB, which no list of PersistentVolumes is",
                         BoundedInput::kMostBytes >> 20);
}

}  // namespace

absl::StatusOr<BoundedInput> BoundedInput::Open(const std::string& path) {
  os::UniqueFd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return WithCode(OsError(errno, "open it"), absl::StatusCode::kInvalidArgument);
  }
  if (S_ISREG(facts.st_mode) && static_cast<std::size_t>(facts.st_size) > kMostBytes) {
    return TooLarge();
  }
  return BoundedInput(std::move(file));
}

BoundedInput::BoundedInput(BoundedInput&& other) noexcept
    : file_(std::move(other.file_)), buffer_(std::move(other.buffer_)) {}

BoundedInput::int_type BoundedInput::underflow() {
  if (!status_.ok()) return traits_type::eof();
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    status_ = WithCode(OsError(errno, "read it"), absl::StatusCode::kInvalidArgument);
  } else {
    status_ = Follow(static_cast<std::size_t>(count));
  }
  if (count <= 0 || !status_.ok()) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(buffer_.front());
}

// The parser keeps a whole text or number in memory before it says what it is.
absl::Status BoundedInput::Follow(std::size_t count) {
  read_ += count;
  if (read_ > kMostBytes) return TooLarge();
  for (std::size_t i = 0; i < count; ++i) {
    const char character = buffer_[i];
    const bool ends = in_text_ ? character == '"' && !escaped_ : character == ',';
    const bool begins = !in_text_ && character == '"';
    if (ends || begins) token_ = 0;
    if (in_text_) {
      escaped_ = character == '\\' && !escaped_;
      in_text_ = !ends;
    } else {
      in_text_ = begins;
    }
    if (++token_ > kLongestToken) {
      return InvalidArgument("a text in it is longer than {} KiB, which none of a "
                             "PersistentVolume is",
                             kLongestToken >> 10);
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cli
