// SPDX-License-Identifier: Apache-2.0
// For tests: an isolation whose sandboxes do nothing but write down what they are asked, and whose
// answers come when the test says so.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "keeper/isolation.h"
#include "keeper/sessions.h"

namespace vitrine::keeper {

class FakeFiles final : public SandboxFiles {
 public:
  void list(const std::string&, const std::string&, Answer<wire::FilesListed> listed) override {
    listed(wire::FilesListed{});
  }
  void open(const std::string&, Answer<OpenedFile> opened) override {
    opened(Error{Code::not_found, "there is no such file"});
  }
  void create(const std::string&, Answer<Fd> created) override { creating.push_back(created); }
  void commit(const std::string& path, Fd file, Done done) override {
    committed.emplace_back(path, std::move(file));
    done(ok());
  }
  void remove(const std::string& path, Done done) override {
    removed.push_back(path);
    done(ok());
  }

  std::deque<Answer<Fd>> creating;  // answered by the test
  std::vector<std::pair<std::string, Fd>> committed;
  std::vector<std::string> removed;
};

class FakeSandbox final : public Sandbox {
 public:
  FakeSandbox(SandboxSpec what, SandboxObserver& who, std::set<FakeSandbox*>& all)
      : spec(std::move(what)), observer(who), all_(all) {
    all_.insert(this);
  }
  ~FakeSandbox() override { all_.erase(this); }

  WorkerFds fds() const override {
    return {.socket = descriptors[0], .out = descriptors[1], .err = descriptors[2]};
  }
  void interrupt(std::uint64_t execution) override { note("interrupt", execution); }
  void ask_stack(std::uint64_t execution) override { note("ask_stack", execution); }
  void end_loop(std::uint64_t execution, wire::Screen) override { note("end_loop", execution); }
  void execution_started() override { calls.emplace_back("started"); }
  void execution_ended() override {
    calls.emplace_back("ended");
    if (dies_at_end) observer.died(*std::exchange(dies_at_end, {}));
  }
  void kill() override { calls.emplace_back("kill"); }
  void freeze(Freeze wanted, Done done) override {
    calls.emplace_back(wanted == Freeze::freeze ? "freeze" : "thaw");
    done(can_freeze ? ok() : Status(Error{Code::unsupported, "it cannot be frozen"}));
  }
  void is_idle(Answer<bool> answer) override { idle_questions.push_back(std::move(answer)); }
  void usage(Answer<wire::Used> answer) override { answer(wire::Used{.cpu_us = 7}); }
  FakeFiles& files() override { return files_; }
  SandboxDisplay* display() override { return nullptr; }
  void mount_layers(const LayerList& layers, Done done) override {
    mounting.emplace_back(layers, std::move(done));
  }

  SandboxSpec spec;
  SandboxObserver& observer;
  std::array<int, 3> descriptors{100, 101, 102};  // numbers only, unless the test has such
  std::vector<std::string> calls;
  bool can_freeze = true;
  std::optional<Death> dies_at_end = {};
  std::deque<Answer<bool>> idle_questions;          // answered by the test
  std::deque<std::pair<LayerList, Done>> mounting;  // also

 private:
  void note(const std::string& what, std::uint64_t execution) {
    calls.push_back(what + " " + std::to_string(execution));
  }

  FakeFiles files_;
  std::set<FakeSandbox*>& all_;
};

class FakeIsolation final : public Isolation {
 public:
  Capabilities capabilities() const override { return can; }
  Status check(const SandboxSpec& spec) const override {
    if (spec.environment.empty()) return ok();
    return Error{Code::invalid_argument, "there is no such environment"};
  }
  void take(const SandboxSpec& spec, SandboxObserver& observer, Take taken) override {
    ++takes;
    pending.push_back([this, spec, &observer, taken = std::move(taken)] {
      if (fails) return taken(Error{Code::unavailable, "no sandbox can be made"});
      auto sandbox = std::make_unique<FakeSandbox>(spec, observer, sandboxes);
      sandbox->descriptors = descriptors;
      taken(Taken{std::move(sandbox), Source::forked});
    });
    if (!holds) deliver();
  }
  void give_back(std::unique_ptr<Sandbox> sandbox, std::function<void()> gone) override {
    ++given_back;
    sandbox.reset();
    if (gone) leaving.push_back(std::move(gone));
  }
  bool can_refresh(const Sandbox&) const override { return refreshes; }
  void refresh(std::unique_ptr<Sandbox> sandbox, Take taken) override {
    auto& old = static_cast<FakeSandbox&>(*sandbox);
    const SandboxSpec spec = old.spec;
    SandboxObserver& observer = old.observer;
    ++refreshed;
    sandbox.reset();
    take(spec, observer, std::move(taken));
  }
  void refill() override {}
  bool full() const override { return true; }
  std::uint32_t failures() const override { return 0; }
  PoolInfo counts() const override { return {}; }
  void stop() override {}

  // Hands over what waits; those that are asked for meanwhile wait again if `holds`.
  void deliver() {
    for (const auto& one : std::exchange(pending, {})) one();
  }
  // What was given back is gone now.
  void finish_leaving() {
    for (const auto& one : std::exchange(leaving, {})) one();
  }
  FakeSandbox& only() const { return **sandboxes.begin(); }

  Capabilities can{Capability::files};
  std::array<int, 3> descriptors{100, 101, 102};  // of those to come
  bool holds = false;
  bool fails = false;
  bool refreshes = true;
  int takes = 0;
  int given_back = 0;
  int refreshed = 0;
  std::set<FakeSandbox*> sandboxes;  // alive
  std::vector<std::function<void()>> pending;
  std::vector<std::function<void()>> leaving;
};

class FakeOwners final : public SessionOwners {
 public:
  void notify(std::uint64_t owner, const wire::Event& event) override {
    events.emplace_back(owner, event);
  }
  bool connected(std::uint64_t owner) const override { return !gone.contains(owner); }

  template <class Event>
  std::vector<std::pair<std::uint64_t, Event>> of() const {
    std::vector<std::pair<std::uint64_t, Event>> found;
    for (const auto& [owner, event] : events)
      if (const Event* one = std::get_if<Event>(&event)) found.emplace_back(owner, *one);
    return found;
  }

  std::vector<std::pair<std::uint64_t, wire::Event>> events;
  std::set<std::uint64_t> gone;
};

}  // namespace vitrine::keeper
