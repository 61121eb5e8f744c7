// SPDX-License-Identifier: Apache-2.0
#include "server/http_connection.h"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

namespace holdfast::server {
namespace {

namespace http = boost::beast::http;

// For the request, and again for the answer: the time does not begin again with each byte.
constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kMaxHeaderBytes = 4096;
constexpr unsigned kHttp11 = 11;

// Of the request; otherwise the connection is over, or its time.
bool IsMistake(const boost::beast::error_code& error) {
  return error.category() == make_error_code(http::error::bad_target).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

int StatusFor(const boost::beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  return 400;
}

}  // namespace

HttpConnection::HttpConnection(boost::asio::ip::tcp::socket socket, List& connections)
    : connections_(connections), stream_(std::move(socket)), buffer_(kMaxHeaderBytes) {
  place_ = connections_.insert(connections_.end(), this);
}

HttpConnection::~HttpConnection() { Close(); }

void HttpConnection::Start(Ask ask) {
  ask_ = std::move(ask);
  parser_.header_limit(kMaxHeaderBytes);
  stream_.expires_after(kPatience);
  http::async_read_header(
      stream_, buffer_, parser_,
      [self = shared_from_this()](Error error, std::size_t) { self->OnRequest(error); });
}

void HttpConnection::OnRequest(Error error) {
  if (IsMistake(error)) return Refuse(StatusFor(error));
  if (error) return Close();
  const auto& request = parser_.get();
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return Refuse(405);
  }
  const auto target = request.target();
  const Ask ask = std::exchange(ask_, nullptr);
  ask(shared_from_this(), std::string(target.substr(0, target.find('?'))));
}

void HttpConnection::Refuse(int status) {
  Answer(
      std::make_shared<HttpAnswer>(HttpAnswer{status, "this is not a request for a page here\n"}));
}

void HttpConnection::Answer(std::shared_ptr<const HttpAnswer> answer) {
  if (!place_) return;
  answer_ = std::move(answer);
  response_.version(kHttp11);
  response_.result(static_cast<unsigned>(answer_->status));
  response_.set(http::field::content_type, answer_->content_type);
  if (answer_->status == 405) response_.set(http::field::allow, "GET, HEAD");
  response_.keep_alive(false);
  response_.body() = {answer_->text.data(), answer_->text.size()};
  response_.prepare_payload();
  serializer_.emplace(response_);
  stream_.expires_after(kPatience);
  const auto finish = [self = shared_from_this()](Error, std::size_t) { self->Finish(); };
  if (parser_.is_header_done() && parser_.get().method() == http::verb::head) {
    http::async_write_header(stream_, *serializer_, finish);
  } else {
    http::async_write(stream_, *serializer_, finish);
  }
}

void HttpConnection::Finish() {
  Error ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  Close();
}

void HttpConnection::Close() {
  if (!place_) return;
  connections_.erase(*place_);
  place_.reset();
  stream_.close();
}

}  // namespace holdfast::server
