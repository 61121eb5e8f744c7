// SPDX-License-Identifier: Apache-2.0
// Nodes' tokens, and the key set that they are checked with. The first byte chooses: claims that
// are signed, so that they are looked at; a token as it is, against a set whose key it cannot have;
// a key set, then a token.
#include "link/node_token.h"

#include <jansson.h>

extern "C" {  // these headers are C only
#include <jose/b64.h>
#include <jose/jws.h>
}

#include <nlohmann/json.hpp>

#include "input.h"

namespace holdfast::fuzz {
namespace {

using nlohmann::json;

// The pair of keys that RFC 7515, A.3 prints.
constexpr char kKeys[] =
    R"({"keys":[{"kty":"EC","crv":"P-256","kid":"k1","use":"sig","alg":"ES256",)"
    R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";
constexpr char kPrivateKey[] = R"({"kty":"EC","crv":"P-256","alg":"ES256",)"
                               R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                               R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",)"
                               R"("d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"})";
constexpr std::int64_t kNow = 1'800'000'000;
const link::TokenPolicy kPolicy{"holdfast", "system:serviceaccount:holdfast:node"};

std::string Member(json_t* object, const char* name) {
  return json_string_value(json_object_get(object, name));
}

std::string Signed(const std::string& claims) {
  json_t* const jws = json_pack("{s:o}", "payload", jose_b64_enc(claims.data(), claims.size()));
  json_t* const header = json_pack("{s:{s:s}}", "protected", "kid", "k1");
  json_t* const key = json_loads(kPrivateKey, 0, nullptr);
  Require(jose_jws_sig(nullptr, jws, header, key), "anything can be signed");
  const std::string token =
      Member(jws, "protected") + "." + Member(jws, "payload") + "." + Member(jws, "signature");
  json_decref(key);
  json_decref(header);
  json_decref(jws);
  return token;
}

absl::StatusOr<std::string> Check(const std::string& token, const std::string& keys) {
  const auto node = link::NodeOfToken(
      token, keys, kPolicy, std::chrono::system_clock::time_point(std::chrono::seconds(kNow)));
  Require(node.ok() || absl::IsUnauthenticated(node.status()) || absl::IsUnavailable(node.status()),
          "a token is refused with the codes that callers know");
  Require(!node.ok() || !node->empty(), "a node has a name");
  return node;
}

void TryClaims(const std::string& text) {
  const auto node = Check(Signed(text), kKeys);
  if (!node.ok()) return;
  const json claims = json::parse(text);
  const json& audience = claims.at("aud");
  Require(audience == kPolicy.audience ||
              std::find(audience.begin(), audience.end(), json(kPolicy.audience)) != audience.end(),
          "a token for somebody else is not believed");
  Require(claims.at("sub") == kPolicy.subject, "a token of somebody else is not believed");
  Require(claims.at("exp").get<double>() > kNow - 60, "a token that has expired is not believed");
  Require(claims.at("exp").get<double>() - claims.at("iat").get<double>() <= 7200,
          "a token that is good for long is not believed");
  Require(!claims.at("kubernetes.io").at("pod").at("uid").get<std::string>().empty(),
          "a token of no pod is not believed");
  Require(claims.value("nbf", json(0)).get<double>() < kNow + 60,
          "a token that is not valid yet is not believed");
  Require(claims.at("kubernetes.io").at("node").at("name") == *node, "the token names the node");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  Input input(data, size);
  switch (input.Byte() % 3) {
    case 0:
      TryClaims(input.Rest());
      break;
    case 1:
      Require(!Check(input.Rest(), kKeys).ok(), "a token that nobody has signed is not believed");
      break;
    default:
      const std::string keys = input.Piece();
      (void)Check(input.Rest(), keys);
  }
  return 0;
}
