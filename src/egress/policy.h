// SPDX-License-Identifier: Apache-2.0
// Which hosts and which addresses a session may reach. Names are matched in their one spelling;
// addresses are judged after the lookup, and the very address that was judged is connected to.
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
// IPv4 inside IPv6 as what it is: the kernel connects to it as such.
Address unmapped(const Address& address);

// Why nobody on the public Internet has this address; nullptr if somebody may.
const char* special_use(const Address& address);

class Policy {
 public:
  static Result<Policy> make(const wire::EgressSetup& setup);

  // The rule that allows it; nullptr if none does.
  const std::string* rule_for(const std::string& host, std::uint16_t port) const;

  // The front's own port, which is reached although no other of this machine is.
  bool is_gate(const std::string& host, std::uint16_t port) const {
    return gate_ != 0 && port == gate_ && host == "127.0.0.1";
  }

  // Why it is refused; nullopt if it is not. `own` are the addresses of this machine.
  std::optional<std::string> refuses(const Address& address, const std::vector<Address>& own) const;

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  // By a range at least so narrow.
  bool opened_by_operator(const Address& address, unsigned bits) const;

  std::vector<NetworkRule> rules_;
  std::vector<std::string> texts_;
  std::vector<AddressRange> private_;
  std::uint16_t gate_ = 0;
};

// Of all interfaces, now. Nothing if they cannot be told: then nothing may be connected to.
std::optional<std::vector<Address>> own_addresses();

}  // namespace vitrine::egress
