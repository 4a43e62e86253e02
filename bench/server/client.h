// SPDX-License-Identifier: Apache-2.0
// The load generator's side of HTTP: one kept connection, as little code as answers allow.
//
// It is ours on both ends: answers are small and carry a Content-Length. Anything else is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace vitrine::bench {

struct Request {
  std::string_view method = "POST";
  std::string target;
  std::string body = {};
};

struct Answer {
  int status = 0;
  std::string body;

  bool good() const { return status >= 200 && status < 300; }
  // What stands after `"key":`, without quotes; "" if the key is nowhere.
  std::string field(std::string_view key) const;
};

class Client {
 public:
  static Result<Client> connect(std::uint16_t port);

  int fd() const { return socket_.get(); }
  Status send(const Request& request);
  // Waits for the whole answer. `unavailable` when the server closed the connection.
  Result<Answer> receive();
  Result<Answer> call(const Request& request);
  // The same; an answer that is not 2xx is an error with its text.
  Result<Answer> expect(const Request& request);

 private:
  Fd socket_;
  std::string host_;
  std::string read_;
};

Error refused(const Request& request, const Answer& answer);

}  // namespace vitrine::bench
