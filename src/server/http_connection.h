// SPDX-License-Identifier: Apache-2.0
// One connection of an HTTP endpoint: one request, one answer.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/span_body.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "server/http_endpoint.h"

namespace holdfast::server {

// Belongs to the thread that runs its socket's executor, and to what it has under way there.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  // All connections that count, the oldest first.
  using List = std::list<HttpConnection*>;
  // Called once when a request for this path is there; leads to Answer, at some time.
  using Ask = std::function<void(const std::shared_ptr<HttpConnection>&, const std::string& path)>;

  // `connections` outlives it.
  HttpConnection(boost::asio::ip::tcp::socket socket, List& connections);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  void Start(Ask ask);
  void Answer(std::shared_ptr<const HttpAnswer> answer);
  // Ends it as it is.
  void Close();

 private:
  using Error = boost::beast::error_code;
  using Body = boost::beast::http::span_body<const char>;

  void OnRequest(Error error);
  void Refuse(int status);
  void Finish();

  List& connections_;
  std::optional<List::iterator> place_;  // among them, while it is open
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  Ask ask_;
  // Of the answer, while it is written.
  std::shared_ptr<const HttpAnswer> answer_;
  boost::beast::http::response<Body> response_;
  std::optional<boost::beast::http::response_serializer<Body>> serializer_;
};

}  // namespace holdfast::server
