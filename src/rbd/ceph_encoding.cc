// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_encoding.h"

#include <endian.h>

#include <cstring>

namespace holdfast::rbd {
namespace {

template <typename Little>
std::string Raw(Little little) {
  return {reinterpret_cast<const char*>(&little), sizeof(little)};
}

}  // namespace

std::string Encoded(std::uint64_t number) { return Raw(htole64(number)); }

std::string Encoded(std::string_view text) {
  return Raw(htole32(static_cast<std::uint32_t>(text.size()))).append(text);
}

CephDecoder CephDecoder::Structure() {
  constexpr std::size_t kVersions = 2;
  Skip(kVersions);
  CephDecoder inside(Take(Number32()));
  inside.ok_ = ok_;
  return inside;
}

std::string_view CephDecoder::Take(std::size_t bytes) {
  if (bytes > left_.size()) {
    ok_ = false;
    left_ = {};
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

std::uint64_t CephDecoder::Number(std::size_t bytes) {
  std::uint64_t little = 0;
  const std::string_view taken = Take(bytes);
  if (!taken.empty()) std::memcpy(&little, taken.data(), taken.size());
  return le64toh(little);
}

}  // namespace holdfast::rbd
