// SPDX-License-Identifier: Apache-2.0
#include "file/digest_layout.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/checked_json.h"

namespace holdfast::file {
namespace {

using nlohmann::json;

constexpr int kVersion = 2;  // 1 had no checksums of groups and did not name the snapshot
constexpr std::size_t kEntrySize = sizeof(Digest);

absl::Status CannotCompute() { return Internal("cannot compute a digest"); }

}  // namespace

absl::StatusOr<Digest> DigestOf(const std::string& block) {
  Digest digest{};
  if (block.find_first_not_of('\0') == block.npos) return digest;
  auto* const to = reinterpret_cast<unsigned char*>(digest.data());
  if (EVP_Digest(block.data(), block.size(), to, nullptr, EVP_sha256(), nullptr) != 1) {
    return CannotCompute();
  }
  return digest;
}

std::string EncodeDigestHeader(const DigestHeader& header) {
  std::string text = EncodeChecked({{"snapshot", header.snapshot},
                                    {"volume", header.volume},
                                    {"image", header.image},
                                    {"image_version", header.image_version},
                                    {"capacity_bytes", header.capacity},
                                    {"block_bytes", kDigestBlock}},
                                   kVersion);
  text.resize(kDigestHeaderSize, '\n');
  return text;
}

absl::StatusOr<DigestHeader> DecodeDigestHeader(const std::string& text) {
  constexpr std::string_view kWhat = "the header of a table of digests";
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kVersion, kWhat));
  try {
    DigestHeader header{.snapshot = object.at("snapshot"),
                        .volume = object.at("volume"),
                        .image = object.at("image"),
                        .image_version = object.at("image_version"),
                        .capacity = object.at("capacity_bytes")};
    // Byte for byte: what is not understood is not believed.
    if (header.capacity > 0 && EncodeDigestHeader(header) == text) return header;
  } catch (const json::exception&) {
  }
  return Internal("{} lacks a field or has another one", kWhat);
}

std::size_t DigestsFor(Bytes capacity) {
  return static_cast<std::size_t>(AlignUp(capacity, kDigestBlock) / kDigestBlock);
}

std::size_t DigestGroupsFor(Bytes capacity) {
  return (DigestsFor(capacity) + kDigestsInGroup - 1) / kDigestsInGroup;
}

Bytes PlaceOfDigest(std::size_t number) {
  return static_cast<Bytes>(kDigestHeaderSize + number * kEntrySize);
}

Bytes PlaceOfGroupSum(Bytes capacity, std::size_t group) {
  return PlaceOfDigest(DigestsFor(capacity) + group);
}

Bytes DigestFileSize(Bytes capacity) {
  return PlaceOfGroupSum(capacity, DigestGroupsFor(capacity));
}

absl::StatusOr<Digest> SumOfGroup(const std::string& header, std::size_t group,
                                  const std::string& digests) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const std::string number = fmt::format("{}\n", group);
  Digest sum{};
  auto* const to = reinterpret_cast<unsigned char*>(sum.data());
  const auto add = [&](const std::string& bytes) {
    return EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  };
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      !add(header) || !add(number) || !add(digests) ||
      EVP_DigestFinal_ex(context.get(), to, nullptr) != 1) {
    return CannotCompute();
  }
  return sum;
}

absl::StatusOr<std::string> ReadTable(int table_fd, std::size_t size, Bytes at) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t read =
        ::pread(table_fd, bytes.data() + done, size - done, at + static_cast<Bytes>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return OsError(errno, "cannot read the table of digests");
    if (read == 0) break;
    done += static_cast<std::size_t>(read);
  }
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<std::string> ReadDigestGroup(int table_fd, Bytes capacity, std::size_t group) {
  const std::size_t first = group * kDigestsInGroup;
  const std::size_t count = std::min(kDigestsInGroup, DigestsFor(capacity) - first);
  ASSIGN_OR_RETURN(std::string digests,
                   ReadTable(table_fd, count * kEntrySize, PlaceOfDigest(first)));
  if (digests.size() == count * kEntrySize) return digests;
  return MakeStatus(absl::StatusCode::kDataLoss, "a table of digests is too short");
}

}  // namespace holdfast::file
