// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/sha256.h"
#include "wire/codec.h"

namespace vitrine::store {

namespace {

constexpr std::size_t kPageBytes = 4u << 20;  // of a page's rows, the last one excepted

constexpr std::size_t kInline = 64 * 1024;
constexpr std::string_view kFilePrefix = "blob:";
constexpr int kSchema = 3;
constexpr int kOldest = 2;  // has the same tables but for recordings, which are made then
constexpr std::size_t kMaxPending = 512;  // changes in the log
constexpr std::size_t kMaxPendingBytes = 4u << 20;
constexpr std::size_t kMaxLog = 64u << 20;

enum class Change : std::uint8_t {
  put_session,
  set_state,
  set_engine,
  begin,
  finish,
  put_recording,
  drop_recording
};

wire::Writer change(Change kind) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(kind));
  return out;
}

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS sessions(
  id TEXT PRIMARY KEY, engine INTEGER NOT NULL, keeper TEXT NOT NULL, spec TEXT NOT NULL,
  created_at TEXT NOT NULL, state TEXT NOT NULL, cause TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_state ON sessions(state, created_at);
CREATE TABLE IF NOT EXISTS executions(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
  number INTEGER NOT NULL, code TEXT NOT NULL, started_at TEXT NOT NULL, state TEXT NOT NULL,
  record TEXT NOT NULL, limit_ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS executions_by_session ON executions(session, sequence);
CREATE TABLE IF NOT EXISTS recordings(
  id TEXT PRIMARY KEY, session TEXT NOT NULL, owner TEXT NOT NULL, started_at TEXT NOT NULL,
  state TEXT NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
)";

std::string text(sqlite3_stmt* statement, int column) {
  const void* bytes = sqlite3_column_blob(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return bytes == nullptr
             ? ""
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace

// A statement that is compiled once; reset when the guard goes.
class Statement {
 public:
  Statement() = default;
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool compile(sqlite3* database, const char* sql) {
    return sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) ==
           SQLITE_OK;
  }
  Statement& with(const std::string& value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& with(std::uint64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  // Runs to the end, calling `row` for each row.
  bool run(const std::function<void(sqlite3_stmt*)>& row = {}) {
    int state = SQLITE_ROW;
    while ((state = sqlite3_step(statement_)) == SQLITE_ROW)
      if (row) row(statement_);
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    bound_ = 0;
    return state == SQLITE_DONE;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

struct Store::Statements {
  Statement open, commit, give_up;
  Statement put_session, set_state, set_engine, sessions_of, end_sessions, lose_executions;
  Statement begin, finish, running, one, page, prune_executions, prune_sessions, forget_sessions;
  Statement put_recording, drop_recording, recordings;
};

Store::Store(sqlite3* database, std::string directory, Retention retention)
    : database_(database),
      directory_(std::move(directory)),
      retention_(retention),
      statements_(std::make_unique<Statements>()) {}

Store::Store(Store&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      directory_(std::move(other.directory_)),
      retention_(other.retention_),
      statements_(std::move(other.statements_)),
      log_(std::move(other.log_)),
      pending_(std::move(other.pending_)),
      pending_bytes_(other.pending_bytes_) {}

Store::~Store() {
  if (log_) (void)settle();
  statements_.reset();
  if (database_ != nullptr) sqlite3_close(database_);
}

Error Store::failure(const char* doing) const {
  const int code = sqlite3_errcode(database_);
  const bool full = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  return Error{.code = full ? Code::over_limit : Code::internal,
               .message = std::string(doing) + " failed: " + sqlite3_errstr(code),
               .detail = sqlite3_errmsg(database_),
               .remedy = full ? "make room on the disk that holds the data directory" : ""};
}

Result<Store> Store::open(const std::string& directory, Retention retention) {
  const std::string path = directory + "/vitrine.db";
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Store store(database, directory, retention);
  if (opened != SQLITE_OK) return store.failure("opening the database");
  sqlite3_busy_timeout(database, 2000);
  const auto execute = [&](const char* sql) {
    return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (!execute("PRAGMA journal_mode=WAL") || !execute("PRAGMA synchronous=NORMAL") ||
      !execute("PRAGMA temp_store=MEMORY"))
    return store.failure("preparing the database");
  int version = 0;
  Statement ask;
  if (!ask.compile(database, "PRAGMA user_version")) return store.failure("reading the database");
  ask.run([&](sqlite3_stmt* row) { version = sqlite3_column_int(row, 0); });
  if (version != 0 && (version < kOldest || version > kSchema))
    return Error{.code = Code::invalid_argument,
                 .message = "the database has version " + std::to_string(version) +
                            ", this program knows " + std::to_string(kSchema),
                 .remedy = "use another data directory, or the program that made it"};
  if (!execute(kTables) || !execute("PRAGMA user_version=3"))
    return store.failure("making the tables");
  ::mkdir((directory + "/blobs").c_str(), 0700);
  if (Status s = store.prepare(); !s) return std::move(s.error());
  if (Status s = store.replay(); !s) return std::move(s.error());
  return store;
}

Status Store::prepare() {
  Statements& s = *statements_;
  const bool ready =
      s.open.compile(database_, "BEGIN IMMEDIATE") && s.commit.compile(database_, "COMMIT") &&
      s.give_up.compile(database_, "ROLLBACK") &&
      s.put_session.compile(database_, "INSERT OR REPLACE INTO sessions VALUES(?,?,?,?,?,?,?)") &&
      s.set_state.compile(database_, "UPDATE sessions SET state=?, cause=? WHERE id=?") &&
      s.set_engine.compile(database_,
                           "UPDATE sessions SET engine=?, state='ready', cause='' WHERE id=?") &&
      s.sessions_of.compile(database_,
                            "SELECT id, engine, keeper, spec, created_at, state, cause FROM "
                            "sessions WHERE keeper=? AND state!='ended' ORDER BY created_at") &&
      s.end_sessions.compile(
          database_, "UPDATE sessions SET state='ended' WHERE keeper!=? AND state!='ended'") &&
      s.lose_executions.compile(
          database_,
          "UPDATE executions SET state='lost' WHERE state='running' AND session IN "
          "(SELECT id FROM sessions WHERE state='ended')") &&
      s.begin.compile(database_,
                      "INSERT OR IGNORE INTO executions(id, session, number, code, started_at, "
                      "state, record, limit_ms) VALUES(?,?,?,?,?,'running','',?)") &&
      s.finish.compile(database_, "UPDATE executions SET state='finished', record=? WHERE id=?") &&
      s.running.compile(
          database_,
          "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms "
          "FROM executions WHERE session=? AND state='running' "
          "ORDER BY sequence DESC LIMIT 1") &&
      s.one.compile(
          database_,
          "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms FROM "
          "executions WHERE id=? AND session=?") &&
      s.page.compile(
          database_,
          "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms FROM "
          "executions WHERE session=? AND sequence<? ORDER BY sequence DESC LIMIT ?") &&
      s.prune_executions.compile(
          database_,
          "DELETE FROM executions WHERE session=?1 AND state!='running' AND sequence <= "
          "(SELECT sequence FROM executions WHERE session=?1 ORDER BY sequence DESC "
          "LIMIT 1 OFFSET ?2) RETURNING record") &&
      s.prune_sessions.compile(
          database_,
          "DELETE FROM executions WHERE session IN (SELECT id FROM sessions WHERE state='ended' "
          "ORDER BY created_at DESC LIMIT -1 OFFSET ?) RETURNING record") &&
      s.forget_sessions.compile(
          database_,
          "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE state='ended' "
          "ORDER BY created_at DESC LIMIT -1 OFFSET ?)") &&
      s.put_recording.compile(database_, "INSERT OR REPLACE INTO recordings VALUES(?,?,?,?,?,?)") &&
      s.drop_recording.compile(database_, "DELETE FROM recordings WHERE id=?") &&
      s.recordings.compile(database_,
                           "SELECT id, session, owner, started_at, state, facts FROM recordings "
                           "ORDER BY started_at, id");
  return ready ? ok() : Status(failure("preparing statements"));
}

Status Store::replay() {
  const std::string path = directory_ + "/changes.log";
  log_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log_) return Error::from_errno("opening the log of changes");
  Result<std::string> all = read_file(AT_FDCWD, path.c_str(), kMaxLog);
  if (!all) return std::move(all.error());
  wire::Reader in(*all);
  while (!in.complete()) {
    std::string one = in.text();
    if (in.failed()) break;  // the write was cut off, and nobody was told that it happened
    pending_bytes_ += one.size();
    pending_.push_back(std::move(one));
  }
  return settle();
}

Status Store::note(std::string one) {
  if (pending_.size() >= kMaxPending || pending_bytes_ >= kMaxPendingBytes) {
    Status settled = settle();
    if (!settled && pending_bytes_ >= kMaxLog / 2) return settled;
  }
  const std::string entry = wire::Writer().bytes(one).take();
  const ssize_t put = ::write(log_.get(), entry.data(), entry.size());
  if (put != static_cast<ssize_t>(entry.size())) {
    Error error = put < 0 ? Error::from_errno("writing the log of changes")
                          : Error{Code::over_limit, "the disk is full"};
    error.remedy = "make room on the disk that holds the data directory";
    // What is left of it would make the next one unreadable.
    const off_t end = ::lseek(log_.get(), 0, SEEK_END);
    if (put > 0 && ::ftruncate(log_.get(), end - put) != 0) error.detail = "half an entry is left";
    return error;
  }
  pending_bytes_ += one.size();
  pending_.push_back(std::move(one));
  return ok();
}

Status Store::settle() {
  if (pending_.empty()) return ok();
  std::set<std::string> sessions;
  if (!statements_->open.run()) return failure("writing to the database");
  if (Status s = apply_all(sessions); !s) {
    (void)statements_->give_up.run();
    unneeded_.clear();
    return s;
  }
  for (const std::string& blob : std::exchange(unneeded_, {}))
    ::unlink((directory_ + "/blobs/" + blob).c_str());
  // Whoever dies here finds the changes in both, and makes them once more: that changes nothing.
  pending_.clear();
  pending_bytes_ = 0;
  if (::ftruncate(log_.get(), 0) != 0) return Error::from_errno("emptying the log of changes");
  return ok();
}

Status Store::apply_all(std::set<std::string>& sessions) {
  for (const std::string& one : pending_)
    if (!apply(one, sessions)) return failure("writing to the database");
  if (Status s = prune(sessions); !s) return s;
  return statements_->commit.run() ? ok() : Status(failure("writing to the database"));
}

bool Store::apply(const std::string& one, std::set<std::string>& sessions) {
  Statements& s = *statements_;
  wire::Reader in(one);
  const auto kind = static_cast<Change>(in.u8());
  const auto texts = [&](Statement& statement, int count) -> Statement& {
    while (count-- > 0) statement.with(in.text());
    return statement;
  };
  switch (kind) {
    case Change::put_session: {
      Statement& put = texts(s.put_session, 1);
      put.with(in.u64());
      return texts(put, 5).run();
    }
    case Change::set_state: return texts(s.set_state, 3).run();
    case Change::set_engine: {
      s.set_engine.with(in.u64());
      return texts(s.set_engine, 1).run();
    }
    case Change::begin: {
      const std::string id = in.text();
      const std::string session = in.text();
      s.begin.with(id).with(session).with(in.u64());
      texts(s.begin, 2).with(in.u64());
      sessions.insert(session);
      return s.begin.run();
    }
    case Change::finish: return texts(s.finish, 2).run();
    case Change::put_recording: return texts(s.put_recording, 6).run();
    case Change::drop_recording: return texts(s.drop_recording, 1).run();
  }
  return true;  // of a version that knows more
}

Status Store::put_session(const SessionRow& row) {
  wire::Writer out = change(Change::put_session);
  out.bytes(row.id).u64(row.engine).bytes(row.keeper).bytes(row.spec).bytes(row.created_at);
  return note(out.bytes(row.state).bytes(row.cause).take());
}

Status Store::set_session_state(const std::string& id, const std::string& state,
                                const std::string& cause) {
  return note(change(Change::set_state).bytes(state).bytes(cause).bytes(id).take());
}

Status Store::set_session_engine(const std::string& id, std::uint64_t engine) {
  return note(change(Change::set_engine).u64(engine).bytes(id).take());
}

Result<std::vector<SessionRow>> Store::sessions_of(const std::string& keeper) {
  if (Status s = settle(); !s) return std::move(s.error());
  std::vector<SessionRow> rows;
  const bool done = statements_->sessions_of.with(keeper).run([&](sqlite3_stmt* row) {
    rows.push_back({text(row, 0), static_cast<std::uint64_t>(sqlite3_column_int64(row, 1)),
                    text(row, 2), text(row, 3), text(row, 4), text(row, 5), text(row, 6)});
  });
  if (!done) return failure("reading sessions");
  return rows;
}

Status Store::end_others(const std::string& keeper) {
  if (Status s = settle(); !s) return std::move(s.error());
  if (!statements_->end_sessions.with(keeper).run()) return failure("ending old sessions");
  if (!statements_->lose_executions.run()) return failure("ending old executions");
  return ok();
}

Result<std::string> Store::keep(const std::string& record) {
  if (record.size() <= kInline) return record;
  const std::string name = sha256_hex(record);
  const std::string path = directory_ + "/blobs/" + name;
  const std::string partial = path + ".new";
  Fd file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  std::size_t done = 0;
  while (file && done < record.size()) {
    const ssize_t put = ::write(file.get(), record.data() + done, record.size() - done);
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  if (done < record.size() || ::rename(partial.c_str(), path.c_str()) != 0) {
    Error error = Error::from_errno("storing a large result");
    ::unlink(partial.c_str());
    return error;
  }
  return std::string(kFilePrefix) + name;
}

std::string Store::fetch(const std::string& stored) const {
  if (!stored.starts_with(kFilePrefix)) return stored;
  const std::string path = directory_ + "/blobs/" + stored.substr(kFilePrefix.size());
  Result<std::string> record = read_file(AT_FDCWD, path.c_str(), 256u << 20);
  return record ? *record : "";
}

Status Store::begin_execution(const ExecRow& row) {
  wire::Writer out = change(Change::begin);
  out.bytes(row.id).bytes(row.session).u64(row.number).bytes(row.code).bytes(row.started_at);
  return note(out.u64(row.limit_ms).take());
}

Status Store::finish_execution(const std::string& id, const std::string& record) {
  Result<std::string> kept = keep(record);
  if (!kept) return std::move(kept.error());
  return note(change(Change::finish).bytes(*kept).bytes(id).take());
}

Status Store::put_recording(const RecordingRow& row) {
  wire::Writer out = change(Change::put_recording);
  out.bytes(row.id).bytes(row.session).bytes(row.owner).bytes(row.started_at);
  return note(out.bytes(row.state).bytes(row.facts).take());
}

Status Store::remove_recording(const std::string& id) {
  return note(change(Change::drop_recording).bytes(id).take());
}

Result<std::vector<RecordingRow>> Store::recordings() {
  if (Status s = settle(); !s) return std::move(s.error());
  std::vector<RecordingRow> rows;
  const bool done = statements_->recordings.run([&](sqlite3_stmt* row) {
    rows.push_back(
        {text(row, 0), text(row, 1), text(row, 2), text(row, 3), text(row, 4), text(row, 5)});
  });
  if (!done) return failure("reading recordings");
  return rows;
}

Status Store::prune(const std::set<std::string>& sessions) {
  const auto remove_blob = [&](sqlite3_stmt* row) {
    const std::string stored = text(row, 0);
    if (stored.starts_with(kFilePrefix)) unneeded_.push_back(stored.substr(kFilePrefix.size()));
  };
  for (const std::string& session : sessions)
    if (!statements_->prune_executions.with(session)
             .with(std::uint64_t{retention_.executions_per_session})
             .run(remove_blob))
      return failure("removing old executions");
  if (!statements_->prune_sessions.with(std::uint64_t{retention_.ended_sessions})
           .run(remove_blob) ||
      !statements_->forget_sessions.with(std::uint64_t{retention_.ended_sessions}).run())
    return failure("removing old executions");
  return ok();
}

namespace {

ExecRow exec_row(sqlite3_stmt* row) {
  return {text(row, 0),
          text(row, 1),
          static_cast<std::uint64_t>(sqlite3_column_int64(row, 2)),
          text(row, 3),
          text(row, 4),
          text(row, 5),
          text(row, 6),
          static_cast<std::uint64_t>(sqlite3_column_int64(row, 8))};
}

}  // namespace

Result<std::optional<ExecRow>> Store::running_execution(const std::string& session) {
  if (Status s = settle(); !s) return std::move(s.error());
  std::optional<ExecRow> found;
  if (!statements_->running.with(session).run([&](sqlite3_stmt* row) { found = exec_row(row); }))
    return failure("reading an execution");
  return found;
}

Result<std::optional<ExecRow>> Store::execution(const std::string& session, const std::string& id) {
  if (Status s = settle(); !s) return std::move(s.error());
  std::optional<ExecRow> found;
  if (!statements_->one.with(id).with(session).run(
          [&](sqlite3_stmt* row) { found = exec_row(row); }))
    return failure("reading an execution");
  if (found) found->record = fetch(found->record);
  return found;
}

// Ends early when its rows are large: it is read on the thread that serves everybody.
Result<Store::Page> Store::executions(const std::string& session, std::uint64_t before,
                                      std::uint32_t limit) {
  if (Status s = settle(); !s) return std::move(s.error());
  Page page;
  std::uint64_t last = 0;
  std::size_t bytes = 0;
  const std::uint64_t from = before == 0 ? INT64_MAX : before;
  const bool done = statements_->page.with(session)
                        .with(from)
                        .with(std::uint64_t{limit} + 1)
                        .run([&](sqlite3_stmt* row) {
                          if (page.rows.size() == limit || bytes >= kPageBytes) {
                            page.next = last;
                            return;
                          }
                          last = static_cast<std::uint64_t>(sqlite3_column_int64(row, 7));
                          page.rows.push_back(exec_row(row));
                          page.rows.back().record = fetch(page.rows.back().record);
                          bytes += page.rows.back().record.size() + page.rows.back().code.size();
                        });
  if (!done) return failure("reading executions");
  return page;
}

}  // namespace vitrine::store
