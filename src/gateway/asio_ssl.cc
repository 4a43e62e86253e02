// SPDX-License-Identifier: Apache-2.0
// Asio's TLS, as backend/asio/asio.cc has the rest of it: only this layer needs OpenSSL.
#include <boost/asio/ssl/impl/src.hpp>
