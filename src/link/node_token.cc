// SPDX-License-Identifier: Apache-2.0
#include "link/node_token.h"

#include <jansson.h>

extern "C" {  // these headers are C only
#include <jose/b64.h>
#include <jose/cfg.h>
#include <jose/jws.h>
}

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace holdfast::link {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTokenBytes = 16 << 10;
constexpr std::int64_t kClockSkewSeconds = 30;
// The chart asks for an hour; Kubernetes issues no token for less than ten minutes.
constexpr double kLongestLifeSeconds = 2.0 * 60 * 60;

struct FreeJson {
  void operator()(json_t* value) const { json_decref(value); }
};
using JanssonValue = std::unique_ptr<json_t, FreeJson>;

absl::Status Refuse(std::string_view why) {
  return MakeStatus(absl::StatusCode::kUnauthenticated, fmt::format("the node's token {}", why));
}

// The three parts of a token in compact form: header, claims, signature; none if it has not three.
std::optional<std::array<std::string, 3>> Split(const std::string& token) {
  if (token.size() > kMaxTokenBytes || std::ranges::count(token, '.') != 2) return std::nullopt;
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  return std::array{token.substr(0, first), token.substr(first + 1, second - first - 1),
                    token.substr(second + 1)};
}

// A discarded value if it is not base64url of a JSON object.
json Decode(const std::string& part) {
  std::string text(part.size(), '\0');
  const std::size_t size = jose_b64_dec_buf(part.data(), part.size(), text.data(), text.size());
  if (size == SIZE_MAX) return json(json::value_t::discarded);
  json value = json::parse(text.substr(0, size), nullptr, false);
  return value.is_object() ? value : json(json::value_t::discarded);
}

std::string TextOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The public key that the header names; null if the set has none of that id.
json FindKey(const std::string& keys, const std::string& id) {
  const json set = json::parse(keys, nullptr, false);
  if (!set.is_object() || !set.contains("keys") || !set["keys"].is_array()) return nullptr;
  for (const json& key : set["keys"]) {
    // Never a shared secret: any process that can read the set could sign with it.
    if (key.is_object() && TextOf(key, "kid") == id && TextOf(key, "kty") != "oct") return key;
  }
  return nullptr;
}

struct FreeSettings {
  void operator()(jose_cfg_t* settings) const { jose_cfg_decref(settings); }
};

// The library would write to standard error why a signature does not hold.
std::unique_ptr<jose_cfg_t, FreeSettings> Silence() {
  std::unique_ptr<jose_cfg_t, FreeSettings> settings(jose_cfg());
  jose_cfg_set_err_func(
      settings.get(), [](void*, const char*, int, std::uint64_t, const char*, va_list) {}, nullptr);
  return settings;
}

bool IsSigned(const std::array<std::string, 3>& parts, const json& key) {
  const JanssonValue signed_text(json_pack("{s:s, s:s, s:s}", "protected", parts[0].c_str(),
                                           "payload", parts[1].c_str(), "signature",
                                           parts[2].c_str()));
  const std::string key_text = key.dump();
  const JanssonValue verifier(json_loads(key_text.c_str(), 0, nullptr));
  return signed_text && verifier &&
         jose_jws_ver(Silence().get(), signed_text.get(), nullptr, verifier.get(), false);
}

bool IsFor(const json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  return found->is_array() ? std::ranges::find(*found, json(audience)) != found->end()
                           : *found == json(audience);
}

// Root of a node can ask the API server for a token that is good for years, and keep it.
absl::Status CheckLife(const json& claims, double expiry, std::int64_t now_seconds) {
  const auto issued = claims.find("iat");
  if (issued == claims.end() || !issued->is_number())
    return Refuse("does not say when it was issued");
  const auto issued_at = issued->get<double>();
  if (issued_at > static_cast<double>(now_seconds + kClockSkewSeconds)) {
    return Refuse("was issued in the future; are the clocks right?");
  }
  if (expiry - issued_at <= kLongestLifeSeconds) return absl::OkStatus();
  return Refuse("is good for more than two hours; ask for one that expires after an hour");
}

absl::Status CheckTime(const json& claims, std::chrono::system_clock::time_point now) {
  const std::int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto expiry = claims.find("exp");
  if (expiry == claims.end() || !expiry->is_number()) return Refuse("does not say when it expires");
  if (expiry->get<double>() <= static_cast<double>(seconds - kClockSkewSeconds)) {
    return Refuse("has expired; is the node's clock right, and its token file kept new?");
  }
  RETURN_IF_ERROR(CheckLife(claims, expiry->get<double>(), seconds));
  const auto start = claims.find("nbf");
  if (start == claims.end()) return absl::OkStatus();
  if (!start->is_number() ||
      start->get<double>() > static_cast<double>(seconds + kClockSkewSeconds)) {
    return Refuse("is not valid yet; are the clocks right?");
  }
  return absl::OkStatus();
}

// A member of an object that the token is bound to: "pod" or "node".
std::string BoundTo(const json& claims, const char* object, const char* member) {
  const auto kubernetes = claims.find("kubernetes.io");
  if (kubernetes == claims.end() || !kubernetes->is_object()) return {};
  const auto bound = kubernetes->find(object);
  return bound != kubernetes->end() && bound->is_object() ? TextOf(*bound, member) : std::string();
}

}  // namespace

absl::StatusOr<std::string> NodeOfToken(const std::string& token, const std::string& keys,
                                        const TokenPolicy& policy,
                                        std::chrono::system_clock::time_point now) {
  const auto parts = Split(token);
  if (!parts) return Refuse(token.empty() ? "is missing" : "is not a JWT");
  const json header = Decode((*parts)[0]);
  const json claims = Decode((*parts)[1]);
  if (header.is_discarded() || claims.is_discarded()) return Refuse("is not a JWT");
  const json key = FindKey(keys, TextOf(header, "kid"));
  if (key.is_null()) {
    return Unavailable("the node's token is signed with a key that the cluster has not published");
  }
  if (!IsSigned(*parts, key)) return Refuse("is not signed by the cluster");
  if (!IsFor(claims, policy.audience)) {
    return Refuse(fmt::format("is not for audience '{}'", policy.audience));
  }
  if (TextOf(claims, "sub") != policy.subject) {
    return Refuse(fmt::format("is not of '{}'", policy.subject));
  }
  RETURN_IF_ERROR(CheckTime(claims, now));
  if (BoundTo(claims, "pod", "name").empty() || BoundTo(claims, "pod", "uid").empty()) {
    return Refuse("is bound to no pod");
  }
  std::string node = BoundTo(claims, "node", "name");
  if (node.empty()) {
    return Refuse("names no node; Kubernetes does that since 1.32 for tokens of a running pod");
  }
  return node;
}

}  // namespace holdfast::link
