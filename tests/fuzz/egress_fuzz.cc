// SPDX-License-Identifier: Apache-2.0
// The proxy's requests, the rules of a session's network, and what the proxy tells.
//
// Input: one byte (what follows: a request, a rule, a message, a setup), then the bytes.
#include <algorithm>
#include <string>

#include "egress/policy.h"
#include "egress/request.h"
#include "tests/fuzz/input.h"
#include "wire/egress.h"

using vitrine::fuzz::require;
using namespace vitrine;

namespace {

// Everything that says how long a message is, or whose it is, stands in it once.
void check_head(const egress::Request& request) {
  const std::string& head = request.head;
  require(head.ends_with("Connection: close\r\n\r\n"), "a head ends as we end it");
  require(head.find("\r\n\r\n") == head.size() - 4, "a head is one head");
  for (std::size_t at = head.find('\n'); at != std::string::npos; at = head.find('\n', at + 1))
    require(at > 0 && head[at - 1] == '\r', "lines end with CR LF");
  require(egress::head_size(head) == head.size(), "it is read back whole");
  // As the server reads it: a request of its own, to the same host.
  const std::size_t path = head.find(' ') + 1;
  std::string again = head;
  again.insert(path, "http://" + egress::authority(request.host, request.port));
  const auto parsed = egress::parse_request(again);
  const auto* same = std::get_if<egress::Request>(&parsed);
  // With the headers we add it may be beyond what is taken from a client.
  const auto headers = std::count(head.begin(), head.end(), '\n') - 2;
  if (again.size() > egress::kMaxHead || headers > 100) return;
  require(same != nullptr && same->head == head, "it means the same when it is read again");
  require(same->body == request.body, "its body is as long");
}

void check_request(std::string_view bytes) {
  const auto size = egress::head_size(bytes);
  if (!size) return;
  const auto parsed = egress::parse_request(bytes.substr(0, *size));
  if (const auto* refusal = std::get_if<egress::Refusal>(&parsed)) {
    for (char c : refusal->reason) require(c >= ' ' && c < 0x7f, "a refusal is plain text");
    return;
  }
  const auto& request = std::get<egress::Request>(parsed);
  require(host_kind(request.host).has_value(), "a host is in its one spelling");
  require(request.port != 0, "there is a port");
  if (!request.tunnel) check_head(request);
  else require(request.head.empty(), "a tunnel has no head");
}

void check_rule(std::string_view text) {
  (void)parse_address_range(text);
  Result<NetworkRule> rule = parse_network_rule(text);
  if (!rule) return require(!rule.error().remedy.empty(), "a refusal has a remedy");
  require(host_kind(rule->host).has_value(), "a rule's host is in its one spelling");
  const std::uint16_t port = rule->port.value_or(443);
  if (rule->below) require(!rule->matches(rule->host, port), "a suffix is not itself");
  else require(rule->matches(rule->host, port), "a rule allows what it names");
  require(!rule->matches("127.0.0.1", port) || rule->host == "127.0.0.1", "no rule is wider");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  switch (in.byte() % 4) {
    case 0: check_request(in.all()); break;
    case 1: check_rule(in.all()); break;
    case 2: {
      const std::string_view bytes = in.all();
      if (Result<wire::EgressMessage> message = wire::decode_egress(bytes))
        require(wire::encode_egress(*message) == bytes, "a message is itself");
      break;
    }
    default:
      if (Result<wire::EgressSetup> setup = wire::decode_egress_setup(in.all()))
        (void)egress::Policy::make(*setup);
  }
  return 0;
}
