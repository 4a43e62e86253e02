// SPDX-License-Identifier: Apache-2.0
// An answer that may begin as a stream of progress before it is known what it will be, and the client of
// an HTTP request as the door sees it.
#pragma once

#include <string>

#include "api/problem.h"
#include "service/client.h"

namespace vitrine::api {

class Streamed {
 public:
  explicit Streamed(Exchange& exchange)
      : exchange_(exchange),
        wanted_(exchange.header("Accept").find("application/x-ndjson") != std::string::npos) {}
  bool wanted() const { return wanted_; }
  bool begun() const { return begun_; }
  Task<bool> write(std::string line);
  Task<void> begin();
  // The problem as an answer, or as the last line of what has begun. A client that has left is not
  // answered.
  Task<void> fail(Error error);

 private:
  Exchange& exchange_;
  bool wanted_;
  bool begun_ = false;
};

class HttpClient final : public service::Client {
 public:
  // Without `streamed` it is shown no progress.
  explicit HttpClient(Exchange& exchange, Streamed* streamed = nullptr)
      : exchange_(exchange), streamed_(streamed) {}

  Task<void> gone() override { return exchange_.gone(); }
  bool wants_progress() const override { return streamed_ != nullptr && streamed_->wanted(); }
  Task<bool> progress(std::string text) override;

 private:
  Exchange& exchange_;
  Streamed* streamed_;
};

}  // namespace vitrine::api
