// SPDX-License-Identifier: Apache-2.0
// One request of an installation, passed to the index, and the answer passed back.
//
// Trust: the request's target and headers and the whole answer are hostile. Only listed headers pass.
//        Pages are held in memory within a bound; files are streamed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <memory>
#include <string>

#include "model/index_url.h"

namespace vitrine::gateway {

namespace asio = boost::asio;

// What all connections use together.
struct Load {
  std::size_t connections = 0;
  std::size_t page_bytes = 0;  // pages in memory
};

struct RelayRequest {
  boost::beast::http::request<boost::beast::http::empty_body> request;
  IndexUrl index;
  std::string own_origin;  // "http://127.0.0.1:40123"
  std::shared_ptr<Load> load;
};

// Connects to one of `addresses`, with TLS where the index has it, and relays. Every failure is
// answered to the client: 502, or 503 when too many pages are in memory.
asio::awaitable<void> relay(boost::beast::tcp_stream& client, RelayRequest request,
                            asio::ip::tcp::resolver::results_type addresses,
                            asio::ssl::context& tls);

// An answer without a body, after which the connection is closed.
asio::awaitable<void> refuse(boost::beast::tcp_stream& client, unsigned status);

// A page of the index with its own address replaced by `own_origin`. Pure.
std::string rewrite_links(std::string page, const IndexUrl& index, const std::string& own_origin);

}  // namespace vitrine::gateway
