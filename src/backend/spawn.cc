// SPDX-License-Identifier: Apache-2.0
#include "backend/spawn.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <string>

#include "base/log.h"

namespace vitrine {

std::string describe(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no exception";
  }
}

void spawn(boost::asio::any_io_executor executor, boost::asio::awaitable<void> task,
           std::string_view name) {
  boost::asio::co_spawn(executor, std::move(task), [name](std::exception_ptr thrown) {
    if (thrown)
      log(Level::error, "front",
          "a task failed task=" + std::string(name) + " reason=" + describe(thrown));
  });
}

}  // namespace vitrine
