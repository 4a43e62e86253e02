// SPDX-License-Identifier: Apache-2.0
#include "engine/faults.h"

#include <cstdlib>

namespace vitrine::bench {

namespace {

constexpr char kAsk[] = "open('/proc/self/stat').read().rsplit(')', 1)[1].split()[7]";

}  // namespace

Result<double> faults_of_raw_fork(RawFork& server) {
  if (Status s = server.fork(0, "_ = 1+1\n_ = int(" + std::string(kAsk) + ")"); !s)
    return std::move(s.error());
  double faults = 0;
  for (int replies = 0; replies < 2; ++replies) {
    Result<RawReply> reply = server.receive();
    if (!reply) return std::move(reply.error());
    if (reply->kind == RawReply::Kind::result)
      faults = std::strtod(std::string(reply->text, reply->size).c_str(), nullptr);
  }
  return faults;
}

Result<double> faults_of_session(KeeperProcess& keeper, const wire::Create& request) {
  control::BlockingClient& client = keeper.client();
  Result<control::Channel> channel = client.create(request);
  if (!channel) return std::move(channel.error());
  control::Execution last;
  for (std::uint64_t id : {1, 2}) {
    const wire::Execute cell{.code = id == 1 ? kTrivial.session : "int(" + std::string(kAsk) + ")",
                             .stdin_bytes = {},
                             .environment = {}};
    Result<control::Execution> execution = control::run(client, *channel, id, cell);
    if (!execution) return std::move(execution.error());
    last = std::move(*execution);
  }
  if (Status s = client.end(channel->session()); !s) return std::move(s.error());
  Result<std::string> text = plain_result(last.messages);
  if (!text) return std::move(text.error());
  return std::strtod(text->c_str(), nullptr);
}

}  // namespace vitrine::bench
