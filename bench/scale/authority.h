// SPDX-License-Identifier: Apache-2.0
// A certificate authority in memory: thousands of nodes each need a certificate of their own.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace bench {

struct Identity {
  std::string certificate;  // PEM, like the key
  std::string key;
};

class Authority final {
 public:
  // Reads ca.crt and ca.key; throws std::runtime_error when that fails.
  explicit Authority(const std::string& directory);

  // A P-256 key and a certificate whose common and alternative name is `name`.
  [[nodiscard]] Identity Issue(const std::string& name);
  [[nodiscard]] const std::string& certificate() const { return pem_; }

 private:
  template <auto kFree>
  struct Free {
    template <typename T>
    void operator()(T* object) const {
      kFree(object);
    }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, Free<X509_free>>;
  using Stream = std::unique_ptr<BIO, Free<BIO_free_all>>;

  Certificate Sign(const std::string& name, EVP_PKEY* key);
  static std::string TextOf(BIO* stream);

  std::string pem_;
  Certificate authority_;
  Key key_;
  long next_serial_ = 1;
};

}  // namespace bench
