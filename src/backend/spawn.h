// SPDX-License-Identifier: Apache-2.0
// Starts a coroutine that nobody waits for. What it throws is logged under its name: an exception is a
// mistake of ours, and one that nobody hears of is found by nobody.
//
// Ownership: the coroutine owns itself; what it refers to must outlive it, so it is given values.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <string>
#include <string_view>

namespace vitrine {

// `name` is a literal: it is kept, not copied.
void spawn(boost::asio::any_io_executor executor, boost::asio::awaitable<void> task,
           std::string_view name);

// The text of what was thrown.
std::string describe(std::exception_ptr thrown);

}  // namespace vitrine
