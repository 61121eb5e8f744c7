// SPDX-License-Identifier: Apache-2.0
// How Ceph's classes write what they are asked and answer: numbers little-endian, texts with their
// length before them, structures with a version, the oldest version that can read them, and their
// length (Ceph's include/encoding.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::rbd {

[[nodiscard]] std::string Encoded(std::uint64_t number);
[[nodiscard]] std::string Encoded(std::string_view text);

// Reads one answer from beginning to end. What is missing reads as zero or empty, and makes ok()
// false.
class CephDecoder final {
 public:
  explicit CephDecoder(std::string_view encoded) : left_(encoded) {}

  [[nodiscard]] bool ok() const { return ok_; }
  std::uint8_t Byte() { return static_cast<std::uint8_t>(Number(sizeof(std::uint8_t))); }
  std::uint32_t Number32() { return static_cast<std::uint32_t>(Number(sizeof(std::uint32_t))); }
  std::uint64_t Number64() { return Number(sizeof(std::uint64_t)); }
  std::string Text() { return std::string(Take(Number32())); }
  void Skip(std::size_t bytes) { Take(bytes); }
  // The inside of a structure, to be read by itself: a newer version may have more than is known.
  CephDecoder Structure();

 private:
  std::string_view Take(std::size_t bytes);
  std::uint64_t Number(std::size_t bytes);

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace holdfast::rbd
