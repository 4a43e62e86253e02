// SPDX-License-Identifier: Apache-2.0
// The way of installations to an index that wants credentials: they speak plain HTTP to us, with a
// ticket; we add the credentials and speak TLS to the index, whose certificate we check.
//
// A ticket is good for one index and for as long as its owner keeps it. Only GET and HEAD pass, only to
// the index's own host and port, and few headers either way. What the index answers leads to us wherever
// it names itself; where it names others, nobody follows here: whoever asked goes there by itself, through
// its own proxy, and without the credentials.
// Ownership: one per front. Threading: the front's one thread.
// Trust:     requests are hostile (a source distribution may send them), answers as much as the index is.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "packages/index_url.h"

namespace vitrine::packages {

namespace asio = boost::asio;

class Gateway {
 public:
  // `certificates`: PEM that the index's certificate is checked with; "" = the host's.
  Gateway(asio::any_io_executor executor, std::string certificates);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Listens on the host's loopback, if it does not yet.
  Status open();
  std::uint16_t port() const { return port_; }

  class Ticket;
  // For an index with credentials; open() comes before.
  std::shared_ptr<const Ticket> admit(const IndexUrl& index);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::uint16_t port_ = 0;
};

class Gateway::Ticket {
 public:
  Ticket(std::shared_ptr<Shared> shared, std::string key, std::string url)
      : shared_(std::move(shared)), key_(std::move(key)), url_(std::move(url)) {}
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  const std::string& url() const { return url_; }  // of the index, as an installation is told it

 private:
  std::shared_ptr<Shared> shared_;
  std::string key_;
  std::string url_;
};

// What stands in a page of the index, with its own address replaced. Pure.
std::string lead_here(std::string text, const IndexUrl& index, const std::string& here);

}  // namespace vitrine::packages
