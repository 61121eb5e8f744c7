// SPDX-License-Identifier: Apache-2.0
#include "link/node_token.h"

#include <jansson.h>

extern "C" {
#include <jose/b64.h>
#include <jose/jwk.h>
#include <jose/jws.h>
}

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/outcome.h"

namespace holdfast::link {
namespace node_token_test {

using nlohmann::json;

const TokenPolicy kPolicy{"holdfast-link", "system:serviceaccount:storage:holdfast-node"};
constexpr std::int64_t kNow = 1'800'000'000;

std::string Dump(json_t* value) {
  char* const text = json_dumps(value, JSON_COMPACT);
  std::string copied(text);
  free(text);
  json_decref(value);
  return copied;
}

// A cluster that signs: a key pair, and its public half as published.
class Cluster {
 public:
  explicit Cluster(json key = {{"alg", "ES256"}, {"kid", "first"}}) {
    json_t* made = json_loads(key.dump().c_str(), 0, nullptr);
    REQUIRE(jose_jwk_gen(nullptr, made));
    private_ = Dump(made);
    json_t* published = json_loads(private_.c_str(), 0, nullptr);
    REQUIRE(jose_jwk_pub(nullptr, published));
    keys_ = json{{"keys", {json::parse(Dump(published))}}}.dump();
  }

  const std::string& keys() const { return keys_; }

  std::string Sign(const json& claims, const std::string& key_id = "first") const {
    const std::string text = claims.dump();
    json_t* const signed_text =
        json_pack("{s:o}", "payload", jose_b64_enc(text.data(), text.size()));
    json_t* const header = json_pack("{s:{s:s}}", "protected", "kid", key_id.c_str());
    json_t* const key = json_loads(private_.c_str(), 0, nullptr);
    REQUIRE(jose_jws_sig(nullptr, signed_text, header, key));
    json_decref(key);
    json_decref(header);
    const json parts = json::parse(Dump(signed_text));
    return parts["protected"].get<std::string>() + "." + parts["payload"].get<std::string>() + "." +
           parts["signature"].get<std::string>();
  }

 private:
  std::string private_;
  std::string keys_;
};

json Claims() {
  return {
      {"aud", {"holdfast-link"}},
      {"sub", kPolicy.subject},
      {"exp", kNow + 600},
      {"iat", kNow - 600},
      {"nbf", kNow - 600},
      {"kubernetes.io", {{"node", {{"name", "n1"}}}, {"pod", {{"name", "p"}, {"uid", "0a1b"}}}}}};
}

json Without(json claims, const char* name) {
  claims.erase(name);
  return claims;
}

json With(json claims, const char* name, json value) {
  claims[name] = std::move(value);
  return claims;
}

absl::StatusOr<std::string> Ask(const std::string& token, const std::string& keys) {
  return NodeOfToken(token, keys, kPolicy,
                     std::chrono::system_clock::time_point(std::chrono::seconds(kNow)));
}

TEST_CASE("a token of the cluster names its node") {
  for (const char* algorithm : {"ES256", "RS256", "ES384", "PS256"}) {
    INFO(algorithm);
    const Cluster cluster({{"alg", algorithm}, {"kid", "first"}});
    const auto node = Ask(cluster.Sign(Claims()), cluster.keys());
    REQUIRE_OK(node);
    CHECK(*node == "n1");
  }
}

TEST_CASE("an audience may be one text") {
  const Cluster cluster;
  REQUIRE_OK(Ask(cluster.Sign(With(Claims(), "aud", "holdfast-link")), cluster.keys()));
}

TEST_CASE("clocks may differ by half a minute") {
  const Cluster cluster;
  REQUIRE_OK(Ask(cluster.Sign(With(Claims(), "exp", kNow - 29)), cluster.keys()));
  REQUIRE_OK(Ask(cluster.Sign(With(Claims(), "nbf", kNow + 29)), cluster.keys()));
}

TEST_CASE("claims that do not fit are refused") {
  const Cluster cluster;
  const auto check = [&](const json& claims, const char* why) {
    INFO(claims.dump());
    CHECK_FAILS(Ask(cluster.Sign(claims), cluster.keys()), kUnauthenticated, why);
  };
  check(With(Claims(), "aud", {"https://kubernetes.default.svc"}), "is not for audience");
  check(With(Claims(), "aud", "holdfast-link2"), "is not for audience");
  check(With(Claims(), "aud", 1), "is not for audience");
  check(Without(Claims(), "aud"), "is not for audience");
  check(With(Claims(), "sub", "system:serviceaccount:storage:default"), "is not of");
  check(Without(Claims(), "sub"), "is not of");
  check(With(Claims(), "exp", kNow - 30), "has expired");
  check(With(Claims(), "exp", "never"), "when it expires");
  check(Without(Claims(), "exp"), "when it expires");
  check(With(Claims(), "nbf", kNow + 31), "not valid yet");
  check(With(Claims(), "nbf", "x"), "not valid yet");
  check(Without(Claims(), "kubernetes.io"), "bound to no pod");
  const json pod = {{"name", "p"}, {"uid", "0a1b"}};
  check(With(Claims(), "kubernetes.io", {{"pod", pod}}), "names no node");
  check(With(Claims(), "kubernetes.io", {{"pod", pod}, {"node", "n1"}}), "names no node");
  check(With(Claims(), "kubernetes.io", {{"pod", pod}, {"node", {{"name", 1}}}}), "names no node");
}

TEST_CASE("a token that lives long, or of no pod, is refused") {
  const Cluster cluster;
  const auto check = [&](const json& claims, const char* why) {
    INFO(claims.dump());
    CHECK_FAILS(Ask(cluster.Sign(claims), cluster.keys()), kUnauthenticated, why);
  };
  constexpr std::int64_t kTenYears = 10LL * 365 * 24 * 3600;
  check(With(Claims(), "exp", kNow + kTenYears), "more than two hours");
  check(With(Claims(), "iat", kNow - kTenYears), "more than two hours");
  check(With(Claims(), "exp", kNow - 600 + 7201), "more than two hours");
  check(Without(Claims(), "iat"), "when it was issued");
  check(With(Claims(), "iat", "long ago"), "when it was issued");
  check(With(With(Claims(), "iat", kNow + 3600), "exp", kNow + 7200), "in the future");
  const json node = {{"name", "n1"}};
  check(With(Claims(), "kubernetes.io", {{"node", node}}), "bound to no pod");
  check(With(Claims(), "kubernetes.io", {{"node", node}, {"pod", "p"}}), "bound to no pod");
  check(With(Claims(), "kubernetes.io", {{"node", node}, {"pod", {{"name", "p"}}}}),
        "bound to no pod");
  check(With(Claims(), "kubernetes.io", {{"node", node}, {"pod", {{"uid", "u"}}}}),
        "bound to no pod");
  REQUIRE_OK(Ask(cluster.Sign(With(Claims(), "exp", kNow - 600 + 7200)), cluster.keys()));
}

TEST_CASE("who signs without the cluster's key is refused") {
  const Cluster cluster;
  const Cluster other;
  CHECK_FAILS(Ask(other.Sign(Claims()), cluster.keys()), kUnauthenticated, "not signed");
  const std::string token = cluster.Sign(Claims());
  // The claims of one token with the signature of another.
  const std::string forged =
      token.substr(0, token.find('.')) + "." +
      other.Sign(With(Claims(), "exp", kNow + 999)).substr(token.find('.') + 1);
  CHECK_FAILS(Ask(forged, cluster.keys()), kUnauthenticated, "not signed");
}

TEST_CASE("a shared secret or no algorithm at all is no signature") {
  const Cluster cluster;
  // Signed with HMAC; the set contains that key as if it had been published.
  const Cluster shared({{"alg", "HS256"}, {"kid", "first"}});
  json leaked = json::parse(cluster.keys());
  leaked["keys"] = {{{"kty", "oct"}, {"kid", "first"}, {"k", "c2VjcmV0"}}};
  CHECK_FAILS(Ask(shared.Sign(Claims()), leaked.dump()), kUnavailable, "has not published");
  CHECK_FAILS(Ask(shared.Sign(Claims()), cluster.keys()), kUnauthenticated, "not signed");
  // {"alg":"none","kid":"first"} and an empty signature.
  const std::string claims = cluster.Sign(Claims());
  const std::string none = "eyJhbGciOiJub25lIiwia2lkIjoiZmlyc3QifQ" +
                           claims.substr(claims.find('.'), claims.rfind('.') - claims.find('.')) +
                           ".";
  CHECK_FAILS(Ask(none, cluster.keys()), kUnauthenticated, "not signed");
}

TEST_CASE("a key that is not published yet is worth another try") {
  const Cluster cluster;
  CHECK_FAILS(Ask(cluster.Sign(Claims(), "second"), cluster.keys()), kUnavailable,
              "has not published");
  for (const char* keys : {"", "{}", "[]", "{\"keys\":1}", "{\"keys\":[1]}", "nonsense"}) {
    INFO(keys);
    CHECK_FAILS(Ask(cluster.Sign(Claims()), keys), kUnavailable, "has not published");
  }
}

TEST_CASE("what is no token is refused") {
  const Cluster cluster;
  const std::string good = cluster.Sign(Claims());
  CHECK_FAILS(Ask("", cluster.keys()), kUnauthenticated, "is missing");
  for (const std::string& token :
       {std::string("x"), std::string("a.b.c"), std::string(".."), good + ".x", "!" + good,
        good.substr(0, good.rfind('.')), std::string(20'000, 'a') + "." + good,
        std::string("W10.W10.W10"), std::string("bnVsbA.bnVsbA.")}) {
    INFO(token.substr(0, 40));
    CHECK_FAILS(Ask(token, cluster.keys()), kUnauthenticated, "is not a JWT");
  }
}

TEST_CASE("a refusal does not repeat the token") {
  const Cluster cluster;
  const std::string token = cluster.Sign(With(Claims(), "exp", 1));
  const auto refused = Ask(token, cluster.keys());
  CHECK(std::string(refused.status().message()).find(token.substr(0, 12)) == std::string::npos);
}

}  // namespace node_token_test
}  // namespace holdfast::link
