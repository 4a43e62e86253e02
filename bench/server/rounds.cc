// SPDX-License-Identifier: Apache-2.0
#include "server/rounds.h"

#include <thread>

#include "engine/throughput.h"
#include "server/calls.h"
#include "server/drive.h"

namespace vitrine::bench::server {

namespace {

// Longer than the pause after which a keeper refills its pools: none does while another works.
constexpr std::chrono::milliseconds kPause{25};
constexpr int kBlock = 50;  // calls of one kind before the other kind's turn
constexpr int kFirst = 5;   // not counted

class Round {
 public:
  Round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured)
      : options_(options), round_(round), bodies_(bodies), out_(measured) {}

  Status run() {
    const auto take = [&](const char* part, Status (Round::*measure)()) {
      if (!options_.wants(part)) return ok();
      Status done = calm();
      if (done) done = (this->*measure)();
      return done ? ok() : std::move(done.error()).during(part);
    };
    if (Status s = take("P1", &Round::creations); !s) return s;
    if (Status s = take("P3", &Round::executions); !s) return s;
    for (int i = 0; i < options_.bursts; ++i)
      if (Status s = take("P2", &Round::burst); !s) return s;
    if (Status s = take("P5", &Round::rates); !s) return s;
    return options_.wants("P1") || options_.wants("P3") ? peers() : ok();
  }

 private:
  Status calm() {
    std::this_thread::sleep_for(kPause);
    if (bodies_.warm)
      if (Status s = bodies_.warm->settle(); !s) return s;
    if (bodies_.cold)
      if (Status s = bodies_.cold->settle(); !s) return s;
    std::this_thread::sleep_for(kPause);
    return ok();
  }

  static Result<double> time_call(Client& client, const Request& request) {
    const auto start = Clock::now();
    Result<Answer> answer = client.expect(request);
    if (!answer) return std::move(answer.error());
    return milliseconds_since(start);
  }

  // Two null calls and a creation with its first execution, in turn, each after the same pause.
  Status creations() {
    Result<Client> null = Client::connect(bodies_.null->port());
    if (!null) return std::move(null.error());
    Result<Client> client = Client::connect(bodies_.warm->port());
    if (!client) return std::move(client.error());
    for (const auto& [one, what] : {std::pair{&*null, "POST"}, {&*client, "GET"}})
      if (Result<Answer> s = one->expect({.method = what, .target = "/health"}); !s)
        return std::move(s.error());
    std::vector<double> pairs, all;
    for (int i = 0; i < options_.creates; ++i) {
      if (Status s = calm(); !s) return s;
      const auto start = Clock::now();
      for (int call = 0; call < 2; ++call)
        if (Result<double> time = time_call(*null, execute_in("null", "1+1")); !time)
          return std::move(time.error());
      pairs.push_back(milliseconds_since(start));
      out_.null_pair.add(round_, pairs.back());
      if (Status s = calm(); !s) return s;
      Result<double> time = creation(*client);
      if (!time) return std::move(time.error());
      all.push_back(*time);
    }
    out_.over_null_pair.add(round_, quantile(all, 0.5) - quantile(pairs, 0.5));
    return ok();
  }

  Result<double> creation(Client& client) {
    const auto start = Clock::now();
    Result<Answer> session = client.expect(kCreate);
    if (!session) return std::move(session.error());
    const double created = milliseconds_since(start);
    const std::string id = session->field("id");
    Result<Answer> answer = client.expect(execute_in(id, kTrivial.session));
    if (!answer) return std::move(answer.error());
    const double whole = milliseconds_since(start);
    if (Status s = check(*answer, kTrivial); !s) return std::move(s.error());
    Result<double> ended = time_call(client, end_of(id));
    if (!ended) return std::move(ended.error());
    out_.created.add(round_, whole);
    out_.create.add(round_, created);
    out_.first_run.add(round_, whole - created);
    out_.ended.add(round_, *ended);
    return whole;
  }

  Status executions() {
    Result<Client> null = Client::connect(bodies_.null->port());
    if (!null) return std::move(null.error());
    Result<Client> client = Client::connect(bodies_.warm->port());
    if (!client) return std::move(client.error());
    Result<Answer> session = client->expect(kCreate);
    if (!session) return std::move(session.error());
    const std::string id = session->field("id");
    const Request execute = execute_in(id, kTrivial.session);
    const Request health{.method = "GET", .target = "/health"};
    std::vector<double> nulls, executed, healths;
    while (static_cast<int>(executed.size()) < options_.executions) {
      if (Status s = block(*null, execute, nulls); !s) return s;
      if (Status s = block(*client, execute, executed); !s) return s;
      if (Status s = block(*client, health, healths); !s) return s;
    }
    Result<Answer> last = client->expect(execute);
    if (!last) return std::move(last.error());
    if (Status s = check(*last, kTrivial); !s) return s;
    if (Result<Answer> s = client->expect(end_of(id)); !s) return std::move(s.error());
    for (double time : nulls) out_.null_call.add(round_, time);
    for (double time : executed) out_.executed.add(round_, time);
    for (double time : healths) out_.health.add(round_, time);
    out_.over_null.add(round_, quantile(executed, 0.5) - quantile(nulls, 0.5));
    return ok();
  }

  static Status block(Client& client, const Request& request, std::vector<double>& times) {
    for (int i = 0; i < kBlock + kFirst; ++i) {
      Result<double> time = time_call(client, request);
      if (!time) return std::move(time.error());
      if (i >= kFirst) times.push_back(*time);
    }
    return ok();
  }

  Status burst() {
    Result<BurstTimes> raw = time_raw_burst(*bodies_.raw, kTrivial, kBurst);
    if (!raw) return std::move(raw.error());
    Result<std::vector<Client>> clients = connect_all(bodies_.cold->port(), kBurst);
    if (!clients) return std::move(clients.error());
    for (Client& client : *clients)
      if (Result<Answer> s = client.expect({.method = "GET", .target = "/health"}); !s)
        return std::move(s.error());
    if (Status s = calm(); !s) return s;
    std::vector<std::string> ids(kBurst);
    std::vector<double> times;
    const auto start = Clock::now();
    const Script script = [&](std::size_t i, const Answer* answer) -> Result<std::optional<Step>> {
      if (answer == nullptr) return std::optional(Step{kCreate});
      if (ids[i].empty()) {
        ids[i] = answer->field("id");
        return std::optional(Step{execute_in(ids[i], kTrivial.session)});
      }
      times.push_back(milliseconds_since(start));
      if (Status s = check(*answer, kTrivial); !s) return std::move(s.error());
      return std::optional<Step>();
    };
    if (Status s = drive(*clients, script); !s) return s;
    for (std::uint32_t i = 0; i < kBurst; ++i)
      if (Result<Answer> s = (*clients)[i].expect(end_of(ids[i])); !s) return std::move(s.error());
    for (double time : raw->each) out_.raw_burst_each.add(round_, time);
    for (double time : times) out_.burst_each.add(round_, time);
    out_.raw_burst.add(round_, raw->whole / kBurst);
    out_.burst.add(round_, times.back() / kBurst);
    return ok();
  }

  Status rates() {
    if (Status s = raw_rate(*bodies_.raw, kNumpy, out_.raw_rate); !s) return s;
    if (Status s = rate(kNumpy, out_.rate, out_.rate_each); !s) return s;
    if (Status s = raw_rate(*bodies_.raw_bare, kBare, out_.raw_bare_rate); !s) return s;
    return rate(kBare, out_.bare_rate, out_.bare_rate_each);
  }

  Status raw_rate(RawFork& raw, const Cell& cell, Samples& rates) {
    if (Status s = calm(); !s) return s;
    Result<Rate> rate = rate_of_raw_forks(raw, cell, options_.rate_time);
    if (!rate) return std::move(rate.error());
    rates.add(round_, rate->per_second);
    return ok();
  }

  Status rate(const Cell& cell, Samples& rates, Samples& each) {
    if (Status s = calm(); !s) return s;
    Result<std::vector<Client>> clients = connect_all(bodies_.warm->port(), kConcurrent);
    if (!clients) return std::move(clients.error());
    const Request request = run_once(cell.session);
    const auto start = Clock::now();
    std::vector<Clock::time_point> begun(kConcurrent, start);
    std::size_t count = 0;
    const Script script = [&](std::size_t i, const Answer* answer) -> Result<std::optional<Step>> {
      const auto now = Clock::now();
      if (answer != nullptr) {
        if (Status s = check(*answer, cell); !s) return std::move(s.error());
        each.add(round_, milliseconds_since(begun[i]));
        ++count;
        if (now - start >= options_.rate_time) return std::optional<Step>();
      }
      begun[i] = now;
      return std::optional(Step{request});
    };
    if (Status s = drive(*clients, script); !s) return s;
    rates.add(round_, static_cast<double>(count) / (milliseconds_since(start) / 1000));
    return ok();
  }

  Status peers() {
    if (!bodies_.peers) return ok();
    if (Status s = calm(); !s) return s;
    keep_program("python3", time_fresh_python(bodies_.root));
    keep_program("bubblewrap", time_bubblewrap(bodies_.root.layers.back()));
    for (const char* name : {"ipykernel", "gateway"}) {
      Result<Peers::Values> values = bodies_.peers->measure(name);
      if (!values && values.error().code == Code::unavailable) return std::move(values.error());
      if (!values) {
        out_.problems.insert(values.error().message);
        continue;
      }
      for (const auto& [metric, all] : *values)
        for (double value : all) out_.peers[std::string(name) + " " + metric].add(round_, value);
    }
    return ok();
  }

  void keep_program(const char* name, const Result<double>& time) {
    if (time) out_.peers[name].add(round_, *time);
    else out_.problems.insert(time.error().message);
  }

  const Options& options_;
  std::size_t round_;
  Bodies& bodies_;
  Measured& out_;
};

}  // namespace

Status run_round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured) {
  return Round(options, round, bodies, measured).run();
}

}  // namespace vitrine::bench::server
