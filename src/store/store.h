// SPDX-License-Identifier: Apache-2.0
// What survives the front: sessions, executions and the facts of recordings, in one SQLite file of the
// data directory.
//
// Every write is safe against the death of the process when it returns, but not against a power cut.
// It is appended to a log (change_log.h; one system call, where a transaction costs forty), and
// settle() moves the log into the database. Every read settles first. Large records are files beside
// the database (blobs.h). Environment values and tokens are never stored.
//
// Threading: the front's one thread.
// Failure:   `over_limit` when the disk is full.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/execution.h"
#include "store/blobs.h"
#include "store/change_log.h"

struct sqlite3;

namespace vitrine::store {

struct Statements;

struct SessionRow {
  std::string id;
  std::uint64_t keeper_id = 0;
  std::string keeper;  // which keeper's: its instance
  std::string spec;    // JSON, as the session layer writes it; no environment values
  std::string created_at;
  std::string state = "ready";  // ready, dead, ended
  std::string cause;            // of death, JSON
};

struct ExecRow {
  std::string id;
  std::string session;
  std::uint64_t number = 0;  // on the session socket
  std::string code;
  std::string started_at;
  std::string state;           // running, finished, lost
  std::string record;          // JSON, as the API shows it; "" while it runs
  std::uint64_t limit_ms = 0;  // of its own; 0 = the session's
};

// The film itself is a file; this is what is known of it.
struct RecordingRow {
  std::string id;
  std::string session;
  std::string owner;  // identity; "" = anonymous
  std::string started_at;
  std::string state;  // recording, ended
  std::string facts;  // JSON, as the session layer writes it
};

struct Retention {
  std::uint32_t executions_per_session = 1000;
  std::uint32_t ended_sessions = 1000;
};

class Store {
 public:
  // Makes the file and its tables if need be. `invalid_argument` for a database of another version.
  static Result<Store> open(const std::string& directory, Retention retention);
  Store(Store&& other) noexcept;
  Store& operator=(Store&&) = delete;
  ~Store();

  Status put_session(const SessionRow& row);
  Status set_session_state(const std::string& id, const std::string& state,
                           const std::string& cause);
  Status set_keeper_id(const std::string& id, std::uint64_t keeper_id);
  Result<std::vector<SessionRow>> sessions_of(const std::string& keeper);
  // Sessions of keepers that are gone: ended. Executions that were running there: lost.
  Status end_others(const std::string& keeper);

  Status begin_execution(const ExecRow& row);
  Status finish_execution(const std::string& id, const std::string& record);
  // The one that was running when the front died.
  Result<std::optional<ExecRow>> running_execution(const std::string& session);
  Result<std::optional<ExecRow>> execution(const std::string& session, const std::string& id);
  // Newest first; `before` = the sequence number of the last one of the page before, 0 = the newest.
  struct Page {
    std::vector<ExecRow> rows;
    std::uint64_t next = 0;  // 0 = there are no more
  };
  Result<Page> executions(const std::string& session, std::uint64_t before, std::uint32_t limit);

  Status put_recording(const RecordingRow& row);
  Status remove_recording(const std::string& id);
  Result<std::vector<RecordingRow>> recordings();  // oldest first

  // Moves the log into the database. Call it now and then; a failure loses nothing.
  Status settle();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Store(sqlite3* database, const std::string& directory, Retention retention);
  Status note(std::string change);
  Status apply_all(std::set<std::string>& sessions);
  bool apply(const std::string& change, std::set<std::string>& sessions);
  Status prune(const std::set<std::string>& sessions);
  Error failure(const char* doing) const;

  std::unique_ptr<sqlite3, Close> database_;  // closed after its statements are gone
  Blobs blobs_;
  Retention retention_;
  std::unique_ptr<Statements> statements_;
  ChangeLog log_;
  std::vector<std::string> unneeded_;  // rows whose files go once the transaction is over
};

}  // namespace vitrine::store
