// SPDX-License-Identifier: Apache-2.0
// Which hosts and which addresses a session may reach. Names are matched in normalised form. Addresses
// are checked after the lookup, and the connection goes to exactly the address that was checked.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/network.h"
#include "wire/egress.h"

namespace vitrine::egress {

struct Address {
  int family = 0;                        // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> bytes{};  // the first four, or all

  std::string text() const;
  bool operator==(const Address&) const = default;
};

std::optional<Address> parse_address(const std::string& text);  // as inet_ntop() writes it
std::optional<Address> address_of(const sockaddr* address);
// An IPv4 address mapped into IPv6 becomes IPv4, because the kernel connects to it as such.
Address unmapped(const Address& address);

// Why the address is not public; nullptr if it is.
const char* special_use(const Address& address);

class Policy {
 public:
  static Result<Policy> make(const wire::EgressSetup& setup);

  // The rule that allows the host and port; nullptr if none does.
  const std::string* rule_for(const std::string& host, std::uint16_t port) const;

  // The port of the index gateway: the only one of this machine that may be reached.
  bool is_gate(const std::string& host, std::uint16_t port) const {
    return gate_ != 0 && port == gate_ && host == "127.0.0.1";
  }

  // Why the address is refused; nullopt if it is allowed. `own`: the addresses of this machine.
  std::optional<std::string> refuses(const Address& address, const std::vector<Address>& own) const;

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  // Whether an allowed range with a prefix of at least this length contains it.
  bool opened_by_operator(const Address& address, unsigned bits) const;

  std::vector<NetworkRule> rules_;
  std::vector<std::string> texts_;
  std::vector<AddressRange> private_;
  std::uint16_t gate_ = 0;
};

// The addresses of all interfaces. Nullopt if they cannot be read: then no connection is allowed.
std::optional<std::vector<Address>> own_addresses();

}  // namespace vitrine::egress
