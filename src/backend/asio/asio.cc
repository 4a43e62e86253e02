// SPDX-License-Identifier: Apache-2.0
// The part of Asio and Beast that is no template: BOOST_ASIO_SEPARATE_COMPILATION leaves it out of the
// headers, which makes every file that includes them a sixth faster to compile.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
