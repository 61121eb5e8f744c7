// SPDX-License-Identifier: Apache-2.0
#include "scale/authority.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace bench {
namespace {

constexpr long kSecondsValid = 24L * 3600;

template <typename T>
T Require(T result, const std::string& what) {
  if (result) return result;
  throw std::runtime_error(what + ": " + ERR_error_string(ERR_get_error(), nullptr));
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Authority::Authority(const std::string& directory) : pem_(Read(directory + "/ca.crt")) {
  const std::string key = Read(directory + "/ca.key");
  const Stream certificate_text(BIO_new_mem_buf(pem_.data(), static_cast<int>(pem_.size())));
  const Stream key_text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  authority_.reset(
      Require(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr), "read ca.crt"));
  key_.reset(
      Require(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), "read ca.key"));
}

Identity Authority::Issue(const std::string& name) {
  const Key key(Require(EVP_EC_gen("P-256"), "make a key"));
  const Certificate certificate = Sign(name, key.get());
  const Stream certificate_text(BIO_new(BIO_s_mem()));
  const Stream key_text(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(certificate_text.get(), certificate.get()), "write a certificate");
  Require(
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
      "write a key");
  return {TextOf(certificate_text.get()), TextOf(key_text.get())};
}

Authority::Certificate Authority::Sign(const std::string& name, EVP_PKEY* key) {
  Certificate made(Require(X509_new(), "make a certificate"));
  X509* const x509 = made.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), next_serial_++);
  X509_gmtime_adj(X509_getm_notBefore(x509), -kSecondsValid);
  X509_gmtime_adj(X509_getm_notAfter(x509), kSecondsValid);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509, X509_get_subject_name(authority_.get()));
  X509_set_pubkey(x509, key);
  const std::string names = "DNS:" + name;
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      Require(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()),
              "name a certificate"));
  Require(X509_add_ext(x509, extension.get(), -1), "extend a certificate");
  Require(X509_sign(x509, key_.get(), EVP_sha256()), "sign a certificate");
  return made;
}

std::string Authority::TextOf(BIO* stream) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(stream, &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace bench
