// SPDX-License-Identifier: Apache-2.0
#include "api/send_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/problem.h"
#include "api/range.h"
#include "api/text.h"

namespace vitrine::api {

namespace {

constexpr std::size_t kBlock = 128 * 1024;

}  // namespace

Task<bool> send_bytes(Exchange& exchange, int file, std::uint64_t at, std::uint64_t size) {
  std::string block;
  while (size > 0) {
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, size)));
    const ssize_t got = ::pread(file, block.data(), block.size(), static_cast<off_t>(at));
    if (got > 0) block.resize(static_cast<std::size_t>(got));
    else std::memset(block.data(), 0, block.size());
    if (!co_await exchange.write(block)) co_return false;
    at += block.size();
    size -= block.size();
  }
  co_return true;
}

Task<void> send_file(Exchange& exchange, int file, std::uint64_t size, const std::string& name,
                     std::string_view type) {
  std::vector<Header> headers{{"Content-Disposition", disposition(name)},
                              {"Accept-Ranges", "bytes"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Cache-Control", "no-store"}};
  std::uint64_t first = 0;
  std::uint64_t length = size;
  http::status status = http::status::ok;
  if (auto range = read_range(exchange.header("Range"), size)) {
    if (range->unsatisfiable) {
      Problem problem = make_problem(http::status::range_not_satisfiable, "range_not_satisfiable",
                                     "the file has " + std::to_string(size) + " bytes",
                                     "request a range within it, or leave Range out");
      problem.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
      co_return co_await respond(exchange, problem);
    }
    first = range->first;
    length = range->last - range->first + 1;
    status = http::status::partial_content;
    headers.emplace_back("Content-Range", "bytes " + std::to_string(range->first) + "-" +
                                              std::to_string(range->last) + "/" +
                                              std::to_string(size));
  }
  co_await exchange.stream(status, type, length, headers);
  if (co_await send_bytes(exchange, file, first, length)) co_await exchange.finish();
}

}  // namespace vitrine::api
