// SPDX-License-Identifier: Apache-2.0
#include "link/relay.h"

#include <fstream>
#include <sstream>
#include <utility>

namespace bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

}  // namespace

Pem ReadPem(const std::string& directory) {
  return {.key = ReadFile(directory + "/tls.key"),
          .certificate = ReadFile(directory + "/tls.crt"),
          .authority = ReadFile(directory + "/ca.crt")};
}

// The second stream reads, the first one writes; they take turns.
class Relay::End final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit End(End* target) : target_(target) {
    StartSendInitialMetadata();
    if (target_ == nullptr) return;
    target_->source_ = this;
    StartRead(&message_);
  }

  bool IsTarget() const { return target_ == nullptr; }

  void OnReadDone(bool ok) override {
    if (ok) return target_->StartWrite(&message_);
    target_->Finish(grpc::Status::OK);
    Finish(grpc::Status::OK);
  }
  void OnWriteDone(bool ok) override {
    if (ok) source_->StartRead(&source_->message_);
  }
  void OnDone() override { delete this; }

 private:
  End* const target_;  // null: it is one
  End* source_ = nullptr;
  grpc::ByteBuffer message_;
};

Relay::Relay(const Pem& pem) {
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_key_cert_pairs = {{pem.key, pem.certificate}};
  tls.pem_root_certs = pem.authority;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Relay::Join(
    grpc::CallbackServerContext*) {
  End* const end = new End(std::exchange(target_, nullptr));
  if (end->IsTarget()) target_ = end;
  return end;
}

}  // namespace bench
