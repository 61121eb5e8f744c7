// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_user.h"

#include <algorithm>
#include <cctype>

#include "core/text_file.h"
#include "rbd/ceph_access.h"

namespace holdfast::rbd {
namespace {

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool LooksLikeKey(std::string_view text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '=';
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";

absl::Status Missing(const char* key) {
  return InvalidArgument(
      "secrets: {} is missing; the pool has no user of its own, so the class must name the secret "
      "with {} and {} of a Ceph user",
      key, kUserId, kUserKey);
}

}  // namespace

absl::StatusOr<std::string> FindCephKey(std::string_view text, std::string_view user) {
  if (LooksLikeKey(Trimmed(text))) return std::string(Trimmed(text));
  const std::string section = fmt::format("[client.{}]", user);
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = Trimmed(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    if (!text.empty()) text.remove_prefix(1);
    if (line.starts_with('[')) inside = line == section;
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    const std::string_view key = Trimmed(line.substr(equals + 1));
    if (Trimmed(line.substr(0, equals)) == "key" && LooksLikeKey(key)) return std::string(key);
  }
  return FailedPrecondition("no key of 'client.{}' is in it", user);
}

absl::StatusOr<std::string> ReadCephKey(const std::string& path, std::string_view user) {
  const auto text = ReadTextFile(path);
  if (!text.ok()) {
    return Annotate(WithCode(text.status(), absl::StatusCode::kFailedPrecondition), "keyring");
  }
  auto key = FindCephKey(*text, user);
  if (!key.ok()) return Annotate(key.status(), fmt::format("keyring '{}'", path));
  return key;
}

absl::StatusOr<std::string> KeyOf(const CephAccess& access) {
  if (!access.key.empty()) return access.key;
  return ReadCephKey(access.keyring, access.user);
}

absl::StatusOr<CephUser> UserIn(const Secrets& secrets) {
  CephUser user{.name = secrets.Reveal(kUserId), .key = ""};
  const std::string key = secrets.Reveal(kUserKey);
  if (user.name.empty()) return Missing(kUserId);
  if (key.empty()) return Missing(kUserKey);
  // It is also a word of a line to the kernel.
  if (!CheckCephName(user.name).ok()) {
    return InvalidArgument("secrets: {} must be of A-Z, a-z, 0-9, '.', '_' and '-'", kUserId);
  }
  auto found = FindCephKey(key, user.name);
  if (!found.ok()) return InvalidArgument("secrets: {} is not a Ceph key", kUserKey);
  user.key = *std::move(found);
  return user;
}

}  // namespace holdfast::rbd
