// SPDX-License-Identifier: Apache-2.0
// Signs ServiceAccount tokens as a cluster does; every node presents its own.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

namespace bench {

class TokenIssuer final {
 public:
  // Reads the RSA key first.pem, as tests/support/service_account.py makes it; throws
  // std::runtime_error when that fails.
  explicit TokenIssuer(const std::string& directory);

  // A JWT (RS256) for a pod on `node`, valid for a day.
  [[nodiscard]] std::string Issue(const std::string& node) const;

 private:
  [[nodiscard]] std::string Sign(const std::string& text) const;

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace bench
