// SPDX-License-Identifier: Apache-2.0
#include "provision/gateway_link.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <map>
#include <optional>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "base/base64.h"
#include "base/packet.h"
#include "session/condition.h"
#include "wire/gateway.h"

namespace vitrine::provision {

namespace asio = boost::asio;
namespace messages = wire::gateway;
using boost::system::error_code;
using namespace boost::asio::experimental::awaitable_operators;
using Descriptor = asio::posix::stream_descriptor;
template <class T>
using Task = asio::awaitable<T>;

namespace {

constexpr std::chrono::seconds kStartTimeout{10};
constexpr std::chrono::milliseconds kFirstPause{100};  // before a dead gateway is started again
constexpr std::chrono::milliseconds kLongestPause{5'000};
constexpr int kBacklog = 64;

std::string random_word() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string out;
  for (unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

struct Listener {
  Fd socket;
  std::uint16_t port = 0;
};

Result<Listener> listen_on_loopback() {
  Listener made;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  made.socket = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (!made.socket || ::bind(made.socket.get(), raw, sizeof address) != 0 ||
      ::listen(made.socket.get(), kBacklog) != 0 ||
      ::getsockname(made.socket.get(), raw, &size) != 0)
    return Error{.code = Code::unavailable,
                 .message = "the gateway to the package index cannot listen",
                 .remedy = "try again; the server may be out of descriptors or ports"};
  made.port = ntohs(address.sin_port);
  return made;
}

Result<Fd> certificate_file(const std::string& text) {
  if (text.size() > messages::kMaxCertificates)
    return Error{.code = Code::over_limit,
                 .message = "the certificates of the package index are too large",
                 .remedy = "check pip's setting `cert`: it names a file in PEM form"};
  Fd file(::memfd_create("certificates", MFD_CLOEXEC));
  if (!file ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return Error::from_errno("passing certificates to the gateway");
  return file;
}

// What the gateway says of its start.
Status read_answer(int socket) {
  Result<Packet> packet = receive_packet(socket, messages::kMaxPacket, 0, Wait::dont);
  if (!packet) return Error{Code::unavailable, "the gateway to the package index ended"};
  Result<messages::Reply> reply = messages::decode_reply(packet->bytes);
  if (!reply) return std::move(reply.error());
  if (const auto* failed = std::get_if<messages::Failed>(&*reply))
    return Error{.code = Code::invalid_argument,
                 .message = failed->detail,
                 .remedy = "check pip's setting `cert`: it names a file in PEM form"};
  return ok();
}

}  // namespace

struct GatewayLink::Shared {
  Shared(const asio::any_io_executor& on, backend::KeeperLink& link, std::string pem)
      : executor(on), keeper(link), certificates(std::move(pem)), started(on) {}

  bool running() const { return socket.has_value(); }
  // A gateway that takes no message is given up: the next one gets the tickets that are valid then.
  void post(const messages::Request& request) {
    if (!running()) return;
    const std::string packet = messages::encode_request(request);
    if (!send_packet(socket->native_handle(), packet, {}, Wait::dont)) socket->cancel();
  }

  asio::any_io_executor executor;
  backend::KeeperLink& keeper;
  std::string certificates;
  Listener listener;
  std::optional<Descriptor> socket;  // of the gateway that runs
  std::map<std::string, IndexUrl> tickets;
  session::Condition started;  // a start is over
  bool starting = false;
  bool closed = false;
};

GatewayLink::GatewayLink(asio::any_io_executor executor, backend::KeeperLink& keeper,
                         std::string certificates)
    : shared_(std::make_shared<Shared>(executor, keeper, std::move(certificates))) {}

GatewayLink::~GatewayLink() {
  shared_->closed = true;
  shared_->socket.reset();
}

std::uint16_t GatewayLink::port() const { return shared_->listener.port; }

Task<Result<std::shared_ptr<const GatewayLink::Ticket>>> GatewayLink::admit(IndexUrl index) {
  const std::shared_ptr<Shared> shared = shared_;
  const std::string word = random_word();
  if (word.empty()) co_return Error{Code::unavailable, "no ticket for the index"};
  const messages::Admit admitted{"Basic " + to_base64("vitrine:" + word), std::move(index)};
  if (!messages::decode_request(messages::encode_request(admitted)))
    co_return Error{Code::invalid_argument, "the URL or the credentials of the index are too long"};
  if (Status opened = co_await open(shared); !opened) co_return std::move(opened.error());
  if (shared->tickets.size() >= messages::kMaxTickets)
    co_return Error{Code::over_limit, "too many installations use the gateway"};
  shared->tickets[admitted.ticket] = admitted.index;
  shared->post(admitted);
  std::string url = "http://vitrine:" + word +
                    "@127.0.0.1:" + std::to_string(shared->listener.port) + admitted.index.path;
  co_return std::make_shared<const Ticket>(shared, admitted.ticket, std::move(url));
}

// Returns once a gateway serves: one that runs, one that another caller starts, or a new one.
Task<Status> GatewayLink::open(std::shared_ptr<Shared> shared) {
  while (shared->starting) co_await shared->started.wait();
  if (shared->closed) co_return Error{Code::unavailable, "the server is ending"};
  if (shared->running()) co_return ok();
  if (!shared->listener.socket) {
    Result<Listener> listener = listen_on_loopback();
    if (!listener) co_return std::move(listener.error());
    shared->listener = std::move(*listener);
  }
  co_return co_await start(shared);
}

Task<Status> GatewayLink::start(std::shared_ptr<Shared> shared) {
  struct Starting {
    std::shared_ptr<Shared> of;
    explicit Starting(std::shared_ptr<Shared> one) : of(std::move(one)) { of->starting = true; }
    ~Starting() {
      of->starting = false;
      of->started.notify_all();
    }
  } starting(shared);
  const wire::Request request = wire::StartGateway{};
  backend::KeeperReply reply = co_await shared->keeper.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Done> done = backend::expect<wire::Done>(std::move(reply));
  if (!done) co_return std::move(done.error());
  if (fds.size() != 1) co_return Error{Code::internal, "the keeper sent no gateway"};
  Result<Fd> certificates = certificate_file(shared->certificates);
  if (!certificates) co_return std::move(certificates.error());
  const std::vector<int> sent{shared->listener.socket.get(), certificates->get()};
  const std::string packet = messages::encode_request(messages::Start{});
  if (Status s = send_packet(fds[0].get(), packet, sent, Wait::dont); !s)
    co_return std::move(s.error()).during("starting the gateway");

  Descriptor socket(shared->executor, fds[0].release());
  Timer timeout(shared->executor, kStartTimeout);
  error_code failed;
  error_code ignored;
  const auto first = co_await (
      socket.async_wait(Descriptor::wait_read, asio::redirect_error(asio::use_awaitable, failed)) ||
      timeout.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
  if (failed || first.index() == 1)
    co_return Error{Code::timed_out, "the gateway to the package index did not start"};
  if (Status answered = read_answer(socket.native_handle()); !answered) co_return answered;
  if (shared->closed) co_return Error{Code::unavailable, "the server is ending"};
  for (const auto& [key, index] : shared->tickets) {
    const std::string again = messages::encode_request(messages::Admit{key, index});
    if (Status s = send_packet(socket.native_handle(), again, {}, Wait::dont); !s)
      co_return std::move(s.error()).during("starting the gateway");
  }
  shared->socket.emplace(std::move(socket));
  spawn(shared->executor, keep_running(shared), "index gateway");
  co_return ok();
}

// Waits until the gateway dies. Starts another while somebody holds a ticket.
Task<void> GatewayLink::keep_running(std::shared_ptr<Shared> shared) {
  error_code ignored;
  co_await shared->socket->async_wait(Descriptor::wait_read,
                                      asio::redirect_error(asio::use_awaitable, ignored));
  shared->socket.reset();
  for (std::chrono::milliseconds pause = kFirstPause; !shared->closed && !shared->tickets.empty();
       pause = std::min(2 * pause, kLongestPause)) {
    Timer wait(shared->executor, pause);
    co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (co_await open(shared)) co_return;  // which has one that waits as this did
  }
}

GatewayLink::Ticket::~Ticket() {
  shared_->tickets.erase(key_);
  shared_->post(messages::Release{key_});
}

}  // namespace vitrine::provision
