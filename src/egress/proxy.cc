// SPDX-License-Identifier: Apache-2.0
#include "egress/proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/packet.h"

namespace vitrine::egress {

namespace {

constexpr std::uint64_t kListenerTag = ~0ull;
constexpr std::uint64_t kLineTag = ~0ull - 1;
constexpr std::uint64_t kResolverTag = ~0ull - 2;
constexpr double kToldPerSecond = 100;
constexpr double kToldAtOnce = 200;
constexpr std::size_t kMaxTries = 4;  // addresses of one name

std::string status_line(int status, const std::string& reason) {
  // Clients show only the reason phrase of a refused CONNECT.
  return "HTTP/1.1 " + std::to_string(status) + " " + reason + "\r\n";
}

std::string response(int status, const std::string& reason) {
  const std::string body = "vitrine: " + reason + "\n";
  return status_line(status, reason) +
         "Content-Type: text/plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

std::string joined(const std::vector<std::string>& rules) {
  constexpr std::size_t kShown = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(rules.size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + rules[i].substr(0, 20);
  return out + (rules.size() > kShown ? ", ..." : "");
}

std::string clipped(std::string text) {
  text.resize(std::min(text.size(), wire::kMaxReason));
  return text;
}

}  // namespace

Connection* Proxy::find(std::uint64_t number) {
  for (auto& one : slots_)
    if (one && one->number == number) return one.get();
  return nullptr;
}

Status Proxy::watch(int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return Error::from_errno("watching a descriptor");
  return ok();
}

// A descriptor without events is removed: epoll would report its hang-up forever.
void Proxy::set_events(int fd, std::uint32_t& now, std::uint32_t wanted, std::uint64_t tag) {
  if (now == wanted) return;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = tag;
  const int operation = wanted == 0 ? EPOLL_CTL_DEL : now == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) == 0) now = wanted;
}

void Proxy::rewatch(Connection& c) {
  set_events(c.client.get(), c.client_events, wanted_of_client(c), c.number * 2);
  if (c.server) set_events(c.server.get(), c.server_events, wanted_of_server(c), c.number * 2 + 1);
}

Status Proxy::run() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return Error::from_errno("making an epoll");
  filled_ = Clock::now();
  tokens_ = kToldAtOnce;
  if (Status s = watch(parts_.line.get(), kLineTag); !s) return s;
  if (Status s = watch(parts_.resolver.fd(), kResolverTag); !s) return s;
  std::array<epoll_event, 64> events;
  while (!over_) {
    const bool room = std::ranges::any_of(slots_, [](const auto& one) { return !one; });
    if (room && !accepting_) {
      if (Status s = watch(parts_.listener.get(), kListenerTag); !s) return s;
    } else if (!room && accepting_) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, parts_.listener.get(), nullptr);
    }
    accepting_ = room;
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_time());
    if (count < 0 && errno != EINTR) return Error::from_errno("waiting");
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      handle(event.data.u64, event.events);
    }
    run_timers();
  }
  return ok();
}

void Proxy::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag == kListenerTag) return accept_some();
  if (tag == kResolverTag) return take_answers();
  if (tag == kLineTag) {  // nothing is ever sent there, so this is the end of the stream
    over_ = true;
    return;
  }
  Connection* c = find(tag / 2);
  if (c == nullptr) return;
  const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
  Moved moved = Moved::on;
  if (Side{tag % 2} == Side::client) {
    if (gone) return close(*c);
    if (c->state == State::head) return read_head(*c);
    if ((events & EPOLLOUT) != 0) moved = write_client(*c);
    if (moved == Moved::on && (events & EPOLLIN) != 0) moved = read_client(*c);
  } else if (c->state == State::connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(c->server.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0 && !gone) connected(*c);
    else connect_next(*c);
    return;
  } else {
    if ((events & EPOLLOUT) != 0) moved = write_server(*c);
    if (moved == Moved::on && ((events & EPOLLIN) != 0 || gone)) moved = read_server(*c);
  }
  if (moved == Moved::broken) return close(*c);
  settle(*c);
}

// After bytes moved: counts them, passes them on, and checks for the end.
void Proxy::settle(Connection& c) {
  count(c);
  if (c.state != State::answering)
    c.deadline = Clock::now() + (c.surplus ? parts_.times.surplus : parts_.times.idle);
  if (write_client(c) == Moved::broken || write_server(c) == Moved::broken) return close(c);
  if (finish_sides(c)) return close(c);
  rewatch(c);
}

void Proxy::count(const Connection& c) {
  if (!c.allowed) return;
  wire::EgressCounter& counter = parts_.counters[c.slot];
  counter.sent = c.sent;
  counter.received = c.received;
}

void Proxy::accept_some() {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]) continue;
    Fd client(::accept4(parts_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) return;
    const int yes = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    auto c = std::make_unique<Connection>();
    c->number = ++last_number_;
    c->slot = slot;
    c->client = std::move(client);
    c->deadline = Clock::now() + parts_.times.head;
    rewatch(*c);
    slots_[slot] = std::move(c);
  }
}

void Proxy::read_head(Connection& c) {
  std::array<char, kMaxHead> space;
  const ssize_t got =
      ::recv(c.client.get(), space.data(), space.size() - c.head.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close(c);
  c.head.append(space.data(), static_cast<std::size_t>(got));
  const std::optional<std::size_t> size = head_size(c.head);
  if (!size) {
    if (c.head.size() >= kMaxHead) refuse(c, 431, "the request's headers are larger than 16 KiB");
    return;
  }
  std::variant<Request, Refusal> parsed = parse_request(std::string_view(c.head).substr(0, *size));
  if (auto* refusal = std::get_if<Refusal>(&parsed))
    return refuse(c, refusal->status, refusal->reason);
  c.request = std::move(std::get<Request>(parsed));
  // The bytes after the head are the body, or the first bytes of the tunnel.
  std::string_view rest = std::string_view(c.head).substr(*size);
  c.body_left = c.request.body;
  if (!c.request.tunnel) {
    c.up.add(c.request.head);
    c.sent = c.request.head.size();
    c.surplus = rest.size() > c.body_left;
    rest =
        rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), c.body_left)));
    c.body_left -= rest.size();
  }
  c.up.add(rest);
  c.sent += rest.size();
  c.head.clear();
  judge(c);
}

void Proxy::judge(Connection& c) {
  const Request& request = c.request;
  if (parts_.policy.is_gate(request.host, request.port)) {
    c.rule = "of the package index";
    return go(c, {*parse_address(request.host)});
  }
  const std::string* rule = parts_.policy.rule_for(request.host, request.port);
  if (rule == nullptr)
    return refuse(c, 403,
                  authority(request.host, request.port) +
                      " is not in this session's network.allow (" + joined(parts_.policy.texts()) +
                      ")");
  c.rule = *rule;
  if (const std::optional<Address> literal = parse_address(request.host))
    return judge_addresses(c, {*literal});
  c.state = State::resolving;
  c.deadline = Clock::now() + parts_.times.resolve;
  rewatch(c);
  if (!parts_.resolver.ask(c.number, request.host))
    refuse(c, 503, "too many names are being looked up: try again", NetworkDecision::failed);
}

void Proxy::take_answers() {
  for (Answer& answer : parts_.resolver.take())
    if (Connection* c = find(answer.number); c != nullptr && c->state == State::resolving)
      judge_addresses(*c, std::move(answer.addresses));
}

void Proxy::judge_addresses(Connection& c, std::vector<Address> addresses) {
  if (addresses.empty())
    return refuse(c, 502, "the name " + c.request.host + " has no address",
                  NetworkDecision::failed);
  const std::optional<std::vector<Address>> own = own_addresses();
  if (!own)
    return refuse(c, 502, "the server's own addresses are not known", NetworkDecision::failed);
  // Every address is checked: a name with one forbidden address may not be used at all.
  for (const Address& address : addresses)
    if (const std::optional<std::string> why = parts_.policy.refuses(address, *own))
      return refuse(c, 403,
                    c.request.host + " resolves to " + address.text() + ", which is " + *why +
                        ": sessions reach public addresses only");
  go(c, std::move(addresses));
}

void Proxy::go(Connection& c, std::vector<Address> addresses) {
  c.addresses = std::move(addresses);
  c.next_address = 0;
  c.state = State::connecting;
  c.deadline = Clock::now() + parts_.times.connect;
  connect_next(c);
}

void Proxy::connect_next(Connection& c) {
  while (c.next_address < std::min(c.addresses.size(), kMaxTries)) {
    const Address address = unmapped(c.addresses[c.next_address++]);
    if (c.server && c.server_events != 0)
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, c.server.get(), nullptr);
    c.server_events = 0;
    c.server = Fd(::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!c.server) continue;
    const int yes = 1;
    ::setsockopt(c.server.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(c.request.port);
    std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(c.request.port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    const bool four = address.family == AF_INET;
    const auto* where =
        four ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    const int done = ::connect(c.server.get(), where, four ? sizeof v4 : sizeof v6);
    if (done == 0) return connected(c);
    if (errno == EINPROGRESS) return rewatch(c);
  }
  refuse(c, 502, authority(c.request.host, c.request.port) + " does not accept a connection",
         NetworkDecision::failed);
}

void Proxy::connected(Connection& c) {
  c.allowed = true;
  parts_.counters[c.slot] = {.connection = c.number, .sent = c.sent, .received = 0};
  decide(c, NetworkDecision::allowed, "rule " + c.rule, c.addresses[c.next_address - 1].text());
  c.state = State::relaying;
  if (c.request.tunnel) c.down.add("HTTP/1.1 200 Connection established\r\n\r\n");
  settle(c);
}

void Proxy::refuse(Connection& c, int status, const std::string& reason, NetworkDecision decision) {
  decide(c, decision, reason, "");
  if (c.server_events != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, c.server.get(), nullptr);
  c.server_events = 0;
  c.server.reset();
  c.up = Buffer{};
  c.state = State::answering;
  c.deadline = Clock::now() + parts_.times.linger;
  c.down.add(response(status, reason));
  settle(c);
}

void Proxy::decide(Connection& c, NetworkDecision decision, std::string reason,
                   const std::string& address) {
  c.decided = true;
  std::uint64_t& unsaid = parts_.counters[wire::kEgressSlots].sent;
  if (!may_tell()) return static_cast<void>(++unsaid);
  const wire::Decided message{.connection = c.number,
                              .slot = c.slot,
                              .entry = {.host = c.request.host,
                                        .port = c.request.port,
                                        .decision = decision,
                                        .reason = clipped(std::move(reason)),
                                        .address = address,
                                        .sent = c.allowed ? c.sent : 0,
                                        .received = 0}};
  if (!tell(message)) ++unsaid;
}

bool Proxy::may_tell() {
  const auto now = Clock::now();
  tokens_ = std::min(
      kToldAtOnce, tokens_ + std::chrono::duration<double>(now - filled_).count() * kToldPerSecond);
  filled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

bool Proxy::tell(const wire::EgressMessage& message) {
  Status sent = send_packet(parts_.line.get(), wire::encode_egress(message), {}, Wait::dont);
  if (!sent && sent.error().code != Code::over_limit) over_ = true;
  return static_cast<bool>(sent);
}

void Proxy::close(Connection& c) {
  if (!c.decided && !c.request.host.empty())
    decide(c, NetworkDecision::failed, "the client disconnected before it was connected", "");
  if (c.allowed) {
    count(c);
    (void)tell(wire::Closed{c.number, c.sent, c.received});
    parts_.counters[c.slot] = {};
  }
  slots_[c.slot].reset();  // closing also removes it from epoll
}

void Proxy::run_timers() {
  const auto now = Clock::now();
  for (auto& one : slots_) {
    if (!one || one->deadline > now) continue;
    Connection& c = *one;
    const std::string where = authority(c.request.host, c.request.port);
    switch (c.state) {
      case State::head: refuse(c, 408, "the request's headers took too long"); break;
      case State::resolving:
        refuse(c, 504, "looking up " + c.request.host + " took too long", NetworkDecision::failed);
        break;
      case State::connecting:
        refuse(c, 504, "connecting to " + where + " took too long", NetworkDecision::failed);
        break;
      default: close(c);
    }
  }
}

int Proxy::wait_time() const {
  auto soonest = Clock::time_point::max();
  for (const auto& one : slots_)
    if (one) soonest = std::min(soonest, one->deadline);
  if (soonest == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(soonest - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace vitrine::egress
