// SPDX-License-Identifier: Apache-2.0
#include "server/many.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <thread>

#include "engine/throughput.h"
#include "server/calls.h"
#include "server/drive.h"

namespace vitrine::bench::server {

namespace {

constexpr std::chrono::seconds kCalm{2};
constexpr std::size_t kGrowers = 4;  // sessions created at once where their time is not measured
constexpr std::chrono::milliseconds kProbe{10};       // between trivial executions in the crowd
constexpr std::chrono::milliseconds kBusyPause{500};  // between two of a busy session
constexpr int kGone = 410;
constexpr double kGiveUp = 10'000;         // ms
constexpr std::chrono::seconds kLived{6};  // a front that lived so long is restarted at once

const Cell kWork{"sum(i * i for i in range(2000))", "", "2664667000"};

using Ids = std::vector<std::string>;
using Next = Result<std::optional<Step>>;
const std::optional<Step> kDone;

// Creates, each with one trivial execution.
Result<Ids> grow(ServerProcess& server, std::size_t count, std::size_t at_once) {
  Result<std::vector<Client>> clients = connect_all(server.port(), at_once);
  if (!clients) return std::move(clients.error());
  Ids ids;
  std::size_t asked = 0;
  std::vector<bool> created(at_once);
  const Status done = drive(*clients, [&](std::size_t i, const Answer* answer) -> Next {
    if (created[i]) {
      if (Status s = check(*answer, kTrivial); !s) return std::move(s.error());
    } else if (answer != nullptr) {
      created[i] = true;
      ids.push_back(answer->field("id"));
      return std::optional(Step{execute_in(ids.back(), kTrivial.session)});
    }
    created[i] = false;
    if (asked == count) return kDone;
    ++asked;
    return std::optional(Step{kCreate});
  });
  if (!done) return done.error();
  return ids;
}

double rss_of(int pid) { return memory_of(pid).rss; }

}  // namespace

Result<Alive> measure_alive(ServerProcess& server, std::size_t count) {
  if (Status s = server.settle(); !s) return std::move(s.error());
  Result<int> front = server.front();
  if (!front) return std::move(front.error());
  std::this_thread::sleep_for(kCalm);
  const Memory before = machine_memory();
  const double front_before = rss_of(*front);
  std::vector<int> present = descendants_of(server.keeper());
  std::ranges::sort(present);
  const auto start = Clock::now();
  Result<Ids> ids = grow(server, count, 1);
  if (!ids) return std::move(ids.error());
  const auto all = static_cast<double>(count);
  Alive alive{.count = count, .create_ms = milliseconds_since(start) / all};
  if (Status s = server.settle(); !s) return std::move(s.error());
  std::this_thread::sleep_for(kCalm);
  const Memory now = machine_memory();
  alive.memory = {.slab = (now.slab - before.slab) / all,
                  .page_tables = (now.page_tables - before.page_tables) / all,
                  .kernel_stacks = (now.kernel_stacks - before.kernel_stacks) / all,
                  .available = (before.available - now.available) / all};
  for (int pid : descendants_of(server.keeper())) {
    if (std::ranges::binary_search(present, pid)) continue;
    const ProcessMemory one = memory_of(pid);
    alive.memory.pss += one.pss / all;
    alive.memory.private_dirty += one.private_dirty / all;
  }
  alive.front = (rss_of(*front) - front_before) / all;
  return alive;
}

Result<Crowded> measure_crowd(ServerProcess& server, const Options& options) {
  Crowded crowd{.idle = options.idle, .busy = options.busy};
  Result<Ids> idle = grow(server, options.idle, kGrowers);
  if (!idle) return std::move(idle.error());
  Result<Ids> busy = grow(server, options.busy, kGrowers);
  if (!busy) return std::move(busy.error());
  if (Status s = server.settle(); !s) return std::move(s.error());
  std::this_thread::sleep_for(kCalm);

  // The last connection asks one waiting session after another; all others have a session each.
  Result<std::vector<Client>> clients = connect_all(server.port(), options.busy + 1);
  if (!clients) return std::move(clients.error());
  const auto start = Clock::now();
  const auto until = start + options.crowd_time;
  std::vector<Clock::time_point> due(options.busy + 1, start);
  for (std::size_t i = 0; i < options.busy; ++i)
    due[i] = start + kBusyPause * static_cast<int>(i) / static_cast<int>(options.busy);
  std::size_t turn = 0;
  const Status done = drive(*clients, [&](std::size_t i, const Answer* answer) -> Next {
    const bool probe = i == options.busy;
    const Cell& cell = probe ? kTrivial : kWork;
    if (answer != nullptr) {
      if (Status s = check(*answer, cell); !s) return std::move(s.error());
      (probe ? crowd.woken : crowd.working).push_back(milliseconds_since(due[i]));
      due[i] = std::max(due[i] + (probe ? kProbe : kBusyPause), Clock::now());
      if (due[i] >= until) return kDone;
    }
    const std::string& session = probe ? (*idle)[turn++ % idle->size()] : (*busy)[i];
    return std::optional(Step{execute_in(session, cell.session), due[i]});
  });
  if (!done) return done.error();
  crowd.per_second = static_cast<double>(crowd.woken.size() + crowd.working.size()) /
                     (milliseconds_since(start) / 1000);
  Result<int> front = server.front();
  if (!front) return std::move(front.error());
  crowd.front_rss = rss_of(*front);
  crowd.keeper_rss = rss_of(server.keeper());
  return crowd;
}

namespace {

constexpr std::size_t kManyAtOnce = 48;

enum class Way { one_shot, session };

Status churn(ServerProcess& server, Way way, std::size_t count, std::size_t at_once) {
  Result<std::vector<Client>> clients = connect_all(server.port(), at_once);
  if (!clients) return std::move(clients.error());
  struct Lane {
    std::string session;
    bool ran = false;
  };
  std::vector<Lane> lanes(at_once);
  std::size_t asked = 0;
  return drive(*clients, [&](std::size_t i, const Answer* answer) -> Next {
    Lane& lane = lanes[i];
    if (answer != nullptr && way == Way::session) {
      if (lane.session.empty()) {
        lane.session = answer->field("id");
        return std::optional(Step{execute_in(lane.session, kNumpy.session)});
      }
      if (!lane.ran) {
        lane.ran = true;
        if (Status s = check(*answer, kNumpy); !s) return std::move(s.error());
        return std::optional(Step{end_of(lane.session)});
      }
      lane = {};
    } else if (answer != nullptr) {
      if (Status s = check(*answer, kNumpy); !s) return std::move(s.error());
    }
    if (asked == count) return kDone;
    ++asked;
    return std::optional(Step{way == Way::session ? kCreate : run_once(kNumpy.session)});
  });
}

constexpr std::array kKinds{&Holdings::processes, &Holdings::descriptors, &Holdings::mounts,
                            &Holdings::cgroups,   &Holdings::namespaces,  &Holdings::files};

}  // namespace

// The server keeps used shells for one-shots on purpose, and says how many. What one of them holds
// is found out first, so that any number of them can be taken off.
Result<Holdings> measure_leaks(ServerProcess& server, std::size_t count) {
  if (Status s = churn(server, Way::session, kManyAtOnce, kManyAtOnce); !s)
    return std::move(s.error());
  Result<Held> fresh = server.holdings();
  if (!fresh) return std::move(fresh.error());
  if (Status s = churn(server, Way::one_shot, kManyAtOnce, kManyAtOnce); !s)
    return std::move(s.error());
  Result<Held> before = server.holdings();
  if (!before) return std::move(before.error());
  for (Way way : {Way::one_shot, Way::session})
    if (Status s = churn(server, way, count / 2, kConcurrent); !s) return std::move(s.error());
  Result<Held> now = server.holdings();
  if (!now) return std::move(now.error());
  Holdings left;
  const long shells = before->recycled - fresh->recycled;
  for (long Holdings::*kind : kKinds) {
    const long each = shells == 0 ? 0 : (before->all.*kind - fresh->all.*kind) / shells;
    left.*kind = now->all.*kind - before->all.*kind - each * (now->recycled - before->recycled);
  }
  return left;
}

namespace {

const Cell kKept{"kept", "", "45"};

// A session with something to lose.
Result<std::string> session_with_state(ServerProcess& server) {
  Result<Client> client = Client::connect(server.port());
  if (!client) return std::move(client.error());
  Result<Answer> session = client->expect(kCreate);
  if (!session) return std::move(session.error());
  const std::string id = session->field("id");
  if (Result<Answer> s = client->expect(execute_in(id, "kept = 45")); !s)
    return std::move(s.error());
  return id;
}

// Asks until the answer is right; false if the session was lost.
Result<bool> ask_until_right(ServerProcess& server, const std::string& id, Restarts& restarts) {
  const auto start = Clock::now();
  std::string last;
  while (milliseconds_since(start) < kGiveUp) {
    Result<Client> client = Client::connect(server.port());
    Result<Answer> answer = client ? client->call(execute_in(id, kKept.session))
                                   : Result<Answer>(std::move(client.error()));
    if (!answer) {
      last = answer.error().message;
    } else if (answer->status == kGone) {
      restarts.wrong.push_back(answer->field("detail"));
      return false;
    } else if (answer->good()) {
      if (check(*answer, kKept)) return true;
      last = "an execution answered " + answer->body.substr(answer->body.find("\"outcome\""));
      restarts.wrong.push_back(last);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Error{Code::timed_out, "no right answer came after a restart; the last: " + last};
}

}  // namespace

Result<Restarts> measure_restarts(ServerProcess& server, int count) {
  Restarts restarts;
  std::string id;
  for (int i = 0; i < count; ++i) {
    if (id.empty()) {
      Result<std::string> session = session_with_state(server);
      if (!session) return std::move(session.error());
      id = *session;
    }
    std::this_thread::sleep_for(kLived);
    Result<int> front = server.front();
    if (!front) return std::move(front.error());
    const auto start = Clock::now();
    ::kill(*front, SIGKILL);
    Result<bool> right = ask_until_right(server, id, restarts);
    if (!right) return std::move(right.error());
    ++restarts.count;
    if (*right) restarts.times.push_back(milliseconds_since(start));
    else id.clear();
  }
  return restarts;
}

}  // namespace vitrine::bench::server
