// SPDX-License-Identifier: Apache-2.0
#include "scale/token_issuer.h"

#include <absl/strings/escaping.h>
#include <openssl/pem.h>

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {
namespace {

// The values of tests/support/service_account.py.
constexpr const char* kKeyId = "first";
constexpr const char* kAudience = "holdfast-link";
constexpr const char* kSubject = "system:serviceaccount:holdfast-system:holdfast-node";
constexpr std::time_t kTokenSeconds = 2L * 3600;  // the longest that the controller accepts

EVP_PKEY* ReadKey(const std::string& path) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "re"),
                                                                &std::fclose);
  EVP_PKEY* const key = file ? PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr) : nullptr;
  if (key == nullptr) throw std::runtime_error("cannot read a key from " + path);
  return key;
}

// Without the padding, as RFC 7515 has it.
std::string Base64Url(const std::string& data) {
  std::string text = absl::WebSafeBase64Escape(data);
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

}  // namespace

TokenIssuer::TokenIssuer(const std::string& directory)
    : key_(ReadKey(directory + "/first.pem"), &EVP_PKEY_free) {}

std::string TokenIssuer::Issue(const std::string& node) const {
  const std::time_t now = std::time(nullptr);
  const nlohmann::json header = {{"alg", "RS256"}, {"kid", kKeyId}};
  const nlohmann::json claims = {
      {"aud", {kAudience}},
      {"sub", kSubject},
      {"iat", now},
      {"nbf", now},
      {"exp", now + kTokenSeconds},
      {"kubernetes.io",
       {{"node", {{"name", node}}}, {"pod", {{"name", "holdfast-node-x"}, {"uid", "0a1b"}}}}}};
  const std::string text = Base64Url(header.dump()) + "." + Base64Url(claims.dump());
  return text + "." + Base64Url(Sign(text));
}

std::string TokenIssuer::Sign(const std::string& text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    throw std::runtime_error("cannot sign a token");
  }
  signature.resize(size);
  return signature;
}

}  // namespace bench
