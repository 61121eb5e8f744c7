// SPDX-License-Identifier: Apache-2.0
// A file, or standard input, as a stream that ends where what is in it cannot be a list that a
// parser should hold.
#pragma once

#include <cstddef>
#include <streambuf>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::cli {

// Reads JSON without interpreting it, except for how long a text or number in it is.
class BoundedInput final : public std::streambuf {
 public:
  // Hundreds of thousands of PersistentVolumes.
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20;
  // Kubernetes has 256 KiB for all annotations of an object.
  static constexpr std::size_t kLongestToken = std::size_t{1} << 20;

  // "-" is standard input. INVALID_ARGUMENT if the file cannot be opened, is a directory, or is
  // larger than kMostBytes.
  [[nodiscard]] static absl::StatusOr<BoundedInput> Open(const std::string& path);

  explicit BoundedInput(os::UniqueFd file) : file_(std::move(file)), buffer_(kBufferBytes) {}
  BoundedInput(BoundedInput&& other) noexcept;
  BoundedInput& operator=(BoundedInput&&) = delete;

  // Why the stream has ended before its end: it is too large, or cannot be read. OK otherwise.
  [[nodiscard]] const absl::Status& status() const { return status_; }

 protected:
  int_type underflow() override;

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

  [[nodiscard]] absl::Status Follow(std::size_t count);

  os::UniqueFd file_;
  std::vector<char> buffer_;
  std::size_t read_ = 0;
  std::size_t token_ = 0;  // bytes since a text began, or since the last comma outside of one
  bool in_text_ = false;
  bool escaped_ = false;
  absl::Status status_;
};

}  // namespace holdfast::cli
