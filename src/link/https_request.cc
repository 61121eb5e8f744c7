// SPDX-License-Identifier: Apache-2.0
#include "link/https_request.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <string_view>

#include "core/host_port.h"

namespace holdfast::link {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Error = boost::system::error_code;

constexpr std::string_view kScheme = "https://";
constexpr int kDefaultPort = 443;
constexpr std::chrono::seconds kTime{5};
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxHeaderBytes = 16 << 10;
constexpr unsigned kHttp11 = 11;

absl::StatusOr<HostPort> AddressOf(std::string_view server) {
  if (!server.starts_with(kScheme)) {
    return InvalidArgument("server '{}' must be https://HOST[:PORT]", server);
  }
  const std::string_view address = server.substr(kScheme.size());
  const std::size_t bracket = address.rfind(']');
  const bool has_port =
      address.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
  return ParseHostPort(has_port ? std::string(address)
                                : fmt::format("{}:{}", address, kDefaultPort));
}

// The steps of one request, each begun by the end of the one before; the first error ends them.
class Exchange final {
 public:
  Exchange(asio::io_context& io, asio::ssl::context& tls, const HttpsRequest& request,
           HostPort address)
      : resolver_(io), stream_(io, tls), address_(std::move(address)) {
    message_.version(kHttp11);
    message_.method(request.json.empty() ? http::verb::get : http::verb::post);
    message_.target(request.path);
    message_.set(http::field::host, request.server.substr(kScheme.size()));
    message_.set(http::field::accept, "application/json");
    message_.keep_alive(false);
    if (!request.token.empty()) message_.set(http::field::authorization, "Bearer " + request.token);
    if (!request.json.empty()) message_.set(http::field::content_type, "application/json");
    message_.body() = request.json;
    message_.prepare_payload();
    parser_.body_limit(kMaxBytes);
    parser_.header_limit(kMaxHeaderBytes);
    stream_.set_verify_callback(asio::ssl::host_name_verification(address_.host));
    Error is_name;
    asio::ip::make_address(address_.host, is_name);
    // RFC 6066, section 3: never an address.
    if (is_name) {
      ::SSL_ctrl(stream_.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 address_.host.data());
    }
  }

  void Start() {
    resolver_.async_resolve(address_.host, std::to_string(address_.port),
                            [this](Error error, const tcp::resolver::results_type& found) {
                              if (Failed("resolve its name", error)) return;
                              Connect(found);
                            });
  }

  // Once nothing is under way any more.
  [[nodiscard]] absl::StatusOr<HttpsAnswer> Take() {
    RETURN_IF_ERROR(result_);
    return HttpsAnswer{parser_.get().result_int(), std::move(parser_.get().body())};
  }

 private:
  void Connect(const tcp::resolver::results_type& found) {
    beast::get_lowest_layer(stream_).expires_after(kTime);
    beast::get_lowest_layer(stream_).async_connect(found, [this](Error error, const auto&) {
      if (Failed("connect", error)) return;
      Shake();
    });
  }

  void Shake() {
    stream_.async_handshake(asio::ssl::stream_base::client, [this](Error error) {
      if (Failed("agree on TLS", error)) return;
      Write();
    });
  }

  void Write() {
    http::async_write(stream_, message_, [this](Error error, std::size_t) {
      if (Failed("send the request", error)) return;
      Read();
    });
  }

  void Read() {
    http::async_read(stream_, buffer_, parser_, [this](Error error, std::size_t) {
      if (!Failed("read the answer", error)) result_ = absl::OkStatus();
    });
  }

  bool Failed(std::string_view step, const Error& error) {
    if (!error) return false;
    result_ =
        Unavailable("cannot {}: {}", step,
                    error == beast::error::timeout ? "no answer within 5 s" : error.message());
    return true;
  }

  tcp::resolver resolver_;
  beast::ssl_stream<beast::tcp_stream> stream_;
  HostPort address_;
  http::request<http::string_body> message_;
  http::response_parser<http::string_body> parser_;
  beast::flat_buffer buffer_{kMaxBytes};
  absl::Status result_ = Unavailable("there was no answer");
};

}  // namespace

absl::StatusOr<HttpsAnswer> Send(const HttpsRequest& request) {
  ASSIGN_OR_RETURN(HostPort address, AddressOf(request.server));
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  Error error;
  tls.load_verify_file(request.ca_file, error);
  if (error) return Unavailable("cannot read '{}': {}", request.ca_file, error.message());
  asio::io_context io{1};
  Exchange exchange(io, tls, request, std::move(address));
  exchange.Start();
  io.run();
  return exchange.Take();
}

}  // namespace holdfast::link
