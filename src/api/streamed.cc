// SPDX-License-Identifier: Apache-2.0
#include "api/streamed.h"

#include <boost/json.hpp>

#include "service/errors.h"

namespace vitrine::api {

namespace json = boost::json;

Task<void> Streamed::begin() {
  if (begun_) co_return;
  begun_ = true;
  const std::vector<Header> headers{{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  co_await exchange_.stream(http::status::ok, "application/x-ndjson", std::nullopt, headers);
}

Task<bool> Streamed::write(std::string line) {
  co_await begin();
  co_return co_await exchange_.write(line);
}

Task<void> Streamed::fail(Error error) {
  if (service::is_client_left(error)) co_return;
  const Problem problem = problem_of(error);
  if (!begun_) co_return co_await respond(exchange_, problem);
  std::string line = "{\"type\":\"problem\",\"problem\":" + to_json(problem) + "}\n";
  const bool there = co_await write(std::move(line));
  if (there) co_await exchange_.finish();
}

Task<bool> HttpClient::progress(std::string text) {
  if (streamed_ == nullptr) co_return true;
  std::string line =
      json::serialize(json::object{{"type", "progress"}, {"stage", "packages"}, {"text", text}}) +
      "\n";
  co_return co_await streamed_->write(std::move(line));
}

}  // namespace vitrine::api
