// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/process_sandbox.h"

#include <csignal>
#include <utility>

#include "keeper/hidden_name.h"
#include "keeper/log.h"
#include "keeper/process/worker_state.h"
#include "wire/signals.h"

namespace vitrine::keeper {

namespace {

Error no_cgroups(const char* what) {
  return Error{Code::unsupported, std::string("this host gives no cgroups to ") + what + " with"};
}

}  // namespace

// Every verb goes to a file server.
class ProcessSandbox::HomeFiles final : public SandboxFiles {
 public:
  HomeFiles(FileServers& servers, const Shell& shell) : servers_(servers), shell_(shell) {}

  void list(const std::string& path, const std::string& after,
            Answer<wire::FilesListed> listed) override {
    submit<wire::FilesListed>(wire::ListFiles{.path = path, .after = after}, {}, std::move(listed),
                              [](wire::FilesListed& reply, Fd&) { return std::move(reply); });
  }
  void open(const std::string& path, Answer<OpenedFile> opened) override {
    submit<wire::FileOpened>(wire::OpenFile{.path = path}, {}, std::move(opened),
                             [](wire::FileOpened& reply, Fd& file) {
                               return OpenedFile{std::move(file), reply};
                             });
  }
  void create(const std::string& path, Answer<Fd> created) override {
    submit<wire::FileOpened>(wire::NewFile{.path = path}, {}, std::move(created),
                             [](wire::FileOpened&, Fd& file) { return std::move(file); });
  }
  void commit(const std::string& path, Fd file, Done done) override {
    submit<wire::Done>(wire::CommitFile{.path = path, .hidden = hidden_name()}, std::move(file),
                       std::move(done), [](wire::Done&, Fd&) { return ok(); });
  }
  void remove(const std::string& path, Done done) override {
    submit<wire::Done>(wire::RemoveFile{.path = path}, {}, std::move(done),
                       [](wire::Done&, Fd&) { return ok(); });
  }

  void close(std::function<void()> quiet) {
    if (!client_) return quiet();
    client_->close(std::move(quiet));
  }

 private:
  // `value` makes what the callback wants of a reply that is a T, and of its file.
  template <class T, class Callback, class Value>
  void submit(wire::Request request, Fd file, Callback callback, Value value) {
    if (!shell_.home)
      return callback(Error{.code = Code::not_found,
                            .message = "the session has no files",
                            .remedy = "create a session for them"});
    if (!client_) client_.emplace(servers_, Home{shell_.home.get(), shell_.user});
    client_->submit(
        {.request = std::move(request),
         .file = std::move(file),
         .answered = [callback = std::move(callback), value](Result<FileServers::Reply> answer) {
           if (!answer) return callback(std::move(answer.error()));
           if (auto* error = std::get_if<Error>(&answer->reply)) return callback(std::move(*error));
           T* reply = std::get_if<T>(&answer->reply);
           if (reply == nullptr)
             return callback(Error{Code::internal, "a file server sent nonsense"});
           callback(value(*reply, answer->file));
         }});
  }

  FileServers& servers_;
  const Shell& shell_;
  std::optional<FileServers::Client> client_;  // from the first verb on
};

class ProcessSandbox::ShellDisplay final : public SandboxDisplay {
 public:
  ShellDisplay(Displays& displays, Shell& shell) : displays_(displays), shell_(shell) {}

  bool exists() const override { return shell_.display.pid >= 0; }
  void open(Answer<OpenedDisplay> opened) override {
    Shell& shell = shell_;
    displays_.open(shell, [&shell, opened = std::move(opened)](const Status& started) {
      if (!started) return opened(started.error());
      const Display& display = shell.display;
      opened(OpenedDisplay{.about = {display.geometry, display.generation},
                           .framebuffer = display.framebuffer.get(),
                           .helper = display.helper ? display.helper.get() : -1});
    });
  }

 private:
  Displays& displays_;
  Shell& shell_;
};

class ProcessSandbox::CgroupCpu final : public CpuAccount {
 public:
  CgroupCpu(CpuPlacement& placement, jail::Cgroup& cgroup, std::uint32_t cpu_permille)
      : placement_(placement), cgroup_(cgroup), cpu_permille_(cpu_permille) {}

  Result<std::uint64_t> used_usec() const override { return cgroup_.cpu_usec(); }
  std::uint64_t waited_usec() const override { return cgroup_.waited_usec(); }
  bool is_contended() const override { return placement_.full(); }
  void yield() override {
    if (!yields_) yields_ = placement_.add(cgroup_, cpu_permille_);
  }
  void stop_yielding() override { yields_.reset(); }
  bool yields() const override { return yields_ != nullptr; }

 private:
  CpuPlacement& placement_;
  jail::Cgroup& cgroup_;
  std::uint32_t cpu_permille_;
  std::unique_ptr<CpuPlacement::Member> yields_;
};

ProcessSandbox::ProcessSandbox(ProcessParts parts, Shell& shell, const SandboxSpec& spec)
    : parts_(parts),
      shell_(shell),
      spec_(spec),
      files_(std::make_unique<HomeFiles>(parts.files, shell)),
      display_(std::make_unique<ShellDisplay>(parts.displays, shell)) {}

ProcessSandbox::~ProcessSandbox() = default;

WorkerFds ProcessSandbox::fds() const {
  WorkerFds fds{.socket = worker_.socket.get(), .out = worker_.out.get(), .err = worker_.err.get()};
  fds.meters = shell_.meters ? shell_.meters : open_meters(shell_);
  if (proxy_) fds.egress = {.log = proxy_->line.get(), .counters = proxy_->counters.get()};
  return fds;
}

void ProcessSandbox::signal(int signal, std::uint64_t value) const {
  if (worker_.pid > 0) parts_.reaper.signal(worker_.pid, signal, static_cast<std::uint32_t>(value));
}

void ProcessSandbox::interrupt(std::uint64_t execution) {
  signal(wire::interrupt_signal(), execution);
}

void ProcessSandbox::ask_stack(std::uint64_t execution) { signal(wire::stack_signal(), execution); }

void ProcessSandbox::end_loop(std::uint64_t execution, wire::Screen screen) {
  signal(wire::end_loop_signal(), wire::end_loop_value(execution, screen));
}

void ProcessSandbox::execution_started() {
  if (fairness_) fairness_->execution_started();
}

void ProcessSandbox::execution_ended() {
  if (fairness_) fairness_->execution_ended();
  // The kernel may have taken a child of it, which the worker survived to tell of a good end.
  if (death_ || !look_for_oom_kill()) return;
  report({.cause = Cause::oom, .code = SIGKILL});
  kill();
}

void ProcessSandbox::kill() {
  if (fairness_) fairness_->stop();
  const bool killed = kill_in_cgroup();
  thaw();
  if (killed) return;
  if (worker_.pid > 0) parts_.reaper.signal(worker_.pid, SIGKILL);
  // Without a cgroup only init's end takes along what the worker started.
  parts_.shells.end_inside(shell_);
}

bool ProcessSandbox::kill_in_cgroup() { return shell_.cgroup && shell_.cgroup->kill_worker(); }

Status ProcessSandbox::set_frozen(Freeze wanted) {
  if (!shell_.cgroup) return no_cgroups("freeze");
  Status done = shell_.cgroup->freeze(wanted == Freeze::freeze ? jail::Cgroup::Freeze::freeze
                                                               : jail::Cgroup::Freeze::thaw);
  if (done) frozen_ = wanted == Freeze::freeze;
  return done;
}

void ProcessSandbox::thaw() {
  if (!frozen_) return;
  if (Status thawed = set_frozen(Freeze::thaw); !thawed)
    log_error(std::move(thawed.error()).during("continuing a frozen session").describe());
}

void ProcessSandbox::freeze(Freeze wanted, Done done) { done(set_frozen(wanted)); }

void ProcessSandbox::is_idle(Answer<bool> answer) { answer(worker_waits_for_message(worker_.pid)); }

void ProcessSandbox::usage(Answer<wire::Used> answer) {
  if (!shell_.cgroup) return answer(no_cgroups("measure"));
  Result<jail::CgroupUsage> usage = shell_.cgroup->usage();
  if (!usage) return answer(std::move(usage.error()));
  answer(wire::Used{.cpu_us = usage->cpu_usec.value_or(0),
                    .memory_peak_bytes = usage->memory_peak_bytes.value_or(0),
                    .memory_now_bytes = usage->memory_now_bytes.value_or(0)});
}

SandboxFiles& ProcessSandbox::files() { return *files_; }

void ProcessSandbox::close_files(std::function<void()> quiet) { files_->close(std::move(quiet)); }

SandboxDisplay* ProcessSandbox::display() { return display_.get(); }

void ProcessSandbox::mount_layers(const LayerList& layers, Done done) {
  if (shell_.layers == layers && shell_.environment == spec_.environment) return done(ok());
  shell_.layers = layers;
  shell_.environment = spec_.environment;
  parts_.shells.mount_layers(shell_, layers, spec_.environment,
                             [this, layers, done = std::move(done)](const Status& mounted) {
                               if (mounted) spec_.layers = layers;
                               else shell_.layers.reset();
                               done(mounted);
                             });
}

void ProcessSandbox::watch_worker(Pool& pool) {
  pool_ = &pool;
  parts_.reaper.watch(worker_.pid, [this](Ending ending) { worker_ended(ending); });
  shell_.on_init_gone = {};  // the worker dies with it, and that is what counts
  if (!shell_.oom) return;
  jail::Cgroup& cgroup = *shell_.cgroup;
  oom_ = std::make_unique<OomWatch>(
      parts_.loop,
      OomWatch::Source{.event = shell_.oom.get(),
                       .poll_events = cgroup.oom_poll_events(),
                       .kills = [&cgroup] { return cgroup.oom_kills(); }},
      [this] {
        // v1 kills one process; a session that lost a part of itself
        // is not worth keeping.
        killed_for_memory_ = true;
        kill();
      });
}

void ProcessSandbox::hand_over(SandboxObserver& observer) {
  observer_ = &observer;
  if (shell_.cgroup) {
    cpu_ =
        std::make_unique<CgroupCpu>(parts_.placement, *shell_.cgroup, shell_.limits.cpu_permille);
    fairness_ = parts_.fairness.add(*cpu_);
  }
  Display& display = shell_.display;
  if (!display.used) display.geometry = spec_.display;
  display.on_change = [this](Display::Change change, const std::string& detail) {
    if (change == Display::Change::started) observer_->display_started();
    else observer_->display_died(detail);
  };
}

void ProcessSandbox::detach() {
  observer_ = nullptr;
  pool_ = nullptr;
  fairness_.reset();
  cpu_.reset();
  oom_.reset();
  shell_.on_init_gone = {};
  shell_.display.on_change = {};
}

bool ProcessSandbox::look_for_oom_kill() {
  if (oom_ && oom_->saw_kill()) killed_for_memory_ = true;
  return killed_for_memory_;
}

void ProcessSandbox::worker_ended(Ending ending) {
  worker_.pid = -1;
  worker_.lease.reset();
  death_ = Death{.cause = ending.signalled ? Cause::signalled : Cause::exited, .code = ending.code};
  if (look_for_oom_kill()) death_ = {.cause = Cause::oom, .code = SIGKILL};
  kill();  // what it left running
  if (observer_ != nullptr) return report(*death_);
  if (pool_ != nullptr) pool_->waiting_worker_died(*this);
}

void ProcessSandbox::report(Death death) {
  death_ = death;
  if (std::exchange(reported_, true) || observer_ == nullptr) return;
  std::unique_ptr<Proxy> proxy = std::move(proxy_);
  observer_->died(death);
  if (proxy) parts_.egress.close(std::move(proxy), {});
}

}  // namespace vitrine::keeper
