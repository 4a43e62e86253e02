// SPDX-License-Identifier: Apache-2.0
// File servers: processes that do the file verbs of sessions, so that what session code put into its home
// (a directory of 200,000 names, half a million files to remove) costs their time and not the keeper's.
//
// Each request takes the home's descriptor and the session's user id to a server (file_server.h). The
// verbs of one sandbox are done one at a time, in order; sandboxes take turns, and a long removal is done
// in slices.
//
// Ownership: the processes are the keeper's children and die with it. One that dies is replaced; what it
//            was doing answers `unavailable`, and a name that it had not yet given away is removed.
// Threading: the keeper's loop.
// Failure:   `unavailable` while too many verbs wait, and once a client is closed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keeper/loop.h"
#include "keeper/process/files.h"
#include "keeper/reaper.h"
#include "wire/control.h"

namespace vitrine::keeper {

class FileServers {
 public:
  struct Reply {
    wire::Reply reply;
    Fd file = {};  // that was opened
  };
  using Answered = std::function<void(Result<Reply>)>;
  struct Job {
    wire::Request request;  // one of the file verbs; its session is not looked at
    Fd file = {};           // of CommitFile
    Answered answered;      // once, later
    int lives = 1;          // how many servers may die of it until it answers `unavailable`
  };

 private:
  struct Queue {
    Home home;
    std::deque<Job> jobs = {};
    bool running = false;  // one of them is with a server
    bool closed = false;
    std::vector<std::function<void()>> quiet = {};
  };

 public:
  // One sandbox. The home must stay open until it is closed.
  class Client {
   public:
    Client(FileServers& servers, Home home)
        : servers_(servers), queue_(std::make_shared<Queue>(Queue{.home = home})) {}
    ~Client() { close({}); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void submit(Job job) { servers_.submit(queue_, std::move(job)); }
    // Nothing is begun any more; all that was submitted answers `unavailable`. `quiet` is called, now or
    // later, when no server works in the home.
    void close(std::function<void()> quiet) { servers_.close(queue_, std::move(quiet)); }

   private:
    FileServers& servers_;
    std::shared_ptr<Queue> queue_;
  };

  FileServers(Loop& loop, Reaper& reaper) : loop_(loop), reaper_(reaper) {}
  ~FileServers();
  FileServers(const FileServers&) = delete;
  FileServers& operator=(const FileServers&) = delete;

  // Forks them; early, while the keeper is small.
  Status start();
  void stop();
  std::vector<int> pids() const;

 private:
  struct Server {
    int pid = -1;
    Fd socket = {};
    std::shared_ptr<Queue> queue = {};  // null = it waits for work
    std::optional<Job> job = {};        // none: its client was closed meanwhile
  };

  void submit(const std::shared_ptr<Queue>& queue, Job job);
  void close(const std::shared_ptr<Queue>& queue, std::function<void()> quiet);
  Status spawn(Server& server);
  void spawn_later(Server& server);
  void died(Server& server);
  void read(Server& server);
  void dispatch();
  void send(Server& server, std::shared_ptr<Queue> queue);
  void leave(Server& server);
  void return_job(Queue& queue, Job job);  // it is the next one
  void refuse_later(Job job);

  static constexpr std::size_t kServers = 2;
  static constexpr std::size_t kMaxWaiting = 4096;

  Loop& loop_;
  Reaper& reaper_;
  bool stopping_ = false;
  std::size_t waiting_ = 0;  // jobs, of all queues
  std::vector<std::unique_ptr<Server>> servers_;
  std::deque<std::shared_ptr<Queue>> ready_;  // have jobs, none of them running; each once
};

}  // namespace vitrine::keeper
