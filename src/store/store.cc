// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "base/fd.h"
#include "base/sha256.h"

namespace vitrine::store {

namespace {

constexpr std::size_t kInline = 64 * 1024;
constexpr std::string_view kFilePrefix = "blob:";
constexpr int kSchema = 1;
constexpr std::uint32_t kPruneEvery = 64;  // writes

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS sessions(
  id TEXT PRIMARY KEY, engine INTEGER NOT NULL, keeper TEXT NOT NULL, spec TEXT NOT NULL,
  created_at TEXT NOT NULL, state TEXT NOT NULL, cause TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_by_state ON sessions(state, created_at);
CREATE TABLE IF NOT EXISTS executions(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
  number INTEGER NOT NULL, code TEXT NOT NULL, started_at TEXT NOT NULL, state TEXT NOT NULL,
  record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS executions_by_session ON executions(session, sequence);
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
  Statement put_session, set_state, set_engine, sessions_of, end_sessions, lose_executions;
  Statement begin, finish, running, one, page, prune_executions, prune_sessions, forget_sessions;
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
      statements_(std::move(other.statements_)) {}

Store::~Store() {
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
  if (version != 0 && version != kSchema)
    return Error{.code = Code::invalid_argument,
                 .message = "the database has version " + std::to_string(version) +
                            ", this program knows " + std::to_string(kSchema),
                 .remedy = "use another data directory, or the program that made it"};
  if (!execute(kTables) || !execute("PRAGMA user_version=1"))
    return store.failure("making the tables");
  ::mkdir((directory + "/blobs").c_str(), 0700);
  if (Status s = store.prepare(); !s) return std::move(s.error());
  return store;
}

Status Store::prepare() {
  Statements& s = *statements_;
  const bool ready =
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
                      "INSERT INTO executions(id, session, number, code, started_at, state, "
                      "record) VALUES(?,?,?,?,?,'running','')") &&
      s.finish.compile(database_, "UPDATE executions SET state='finished', record=? WHERE id=?") &&
      s.running.compile(database_,
                        "SELECT id, session, number, code, started_at, state, record, sequence "
                        "FROM executions WHERE session=? AND state='running' "
                        "ORDER BY sequence DESC LIMIT 1") &&
      s.one.compile(database_,
                    "SELECT id, session, number, code, started_at, state, record, sequence FROM "
                    "executions WHERE id=? AND session=?") &&
      s.page.compile(database_,
                     "SELECT id, session, number, code, started_at, state, record, sequence FROM "
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
          "ORDER BY created_at DESC LIMIT -1 OFFSET ?)");
  return ready ? ok() : Status(failure("preparing statements"));
}

Status Store::put_session(const SessionRow& row) {
  const bool done = statements_->put_session.with(row.id)
                        .with(row.engine)
                        .with(row.keeper)
                        .with(row.spec)
                        .with(row.created_at)
                        .with(row.state)
                        .with(row.cause)
                        .run();
  return done ? ok() : Status(failure("storing a session"));
}

Status Store::set_session_state(const std::string& id, const std::string& state,
                                const std::string& cause) {
  const bool done = statements_->set_state.with(state).with(cause).with(id).run();
  return done ? ok() : Status(failure("storing a session's state"));
}

Status Store::set_session_engine(const std::string& id, std::uint64_t engine) {
  const bool done = statements_->set_engine.with(engine).with(id).run();
  return done ? ok() : Status(failure("storing a session's reset"));
}

Result<std::vector<SessionRow>> Store::sessions_of(const std::string& keeper) {
  std::vector<SessionRow> rows;
  const bool done = statements_->sessions_of.with(keeper).run([&](sqlite3_stmt* row) {
    rows.push_back({text(row, 0), static_cast<std::uint64_t>(sqlite3_column_int64(row, 1)),
                    text(row, 2), text(row, 3), text(row, 4), text(row, 5), text(row, 6)});
  });
  if (!done) return failure("reading sessions");
  return rows;
}

Status Store::end_others(const std::string& keeper) {
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
  const bool done = statements_->begin.with(row.id)
                        .with(row.session)
                        .with(row.number)
                        .with(row.code)
                        .with(row.started_at)
                        .run();
  if (!done) return failure("storing an execution");
  return ++writes_ % kPruneEvery == 0 ? prune(row.session) : ok();
}

Status Store::finish_execution(const std::string& id, const std::string& record) {
  Result<std::string> kept = keep(record);
  if (!kept) return std::move(kept.error());
  const bool done = statements_->finish.with(*kept).with(id).run();
  return done ? ok() : Status(failure("storing a result"));
}

Status Store::prune(const std::string& session) {
  const auto remove_blob = [&](sqlite3_stmt* row) {
    const std::string stored = text(row, 0);
    if (stored.starts_with(kFilePrefix))
      ::unlink((directory_ + "/blobs/" + stored.substr(kFilePrefix.size())).c_str());
  };
  if (!statements_->prune_executions.with(session)
           .with(std::uint64_t{retention_.executions_per_session})
           .run(remove_blob) ||
      !statements_->prune_sessions.with(std::uint64_t{retention_.ended_sessions})
           .run(remove_blob) ||
      !statements_->forget_sessions.with(std::uint64_t{retention_.ended_sessions}).run())
    return failure("removing old executions");
  return ok();
}

namespace {

ExecRow exec_row(sqlite3_stmt* row) {
  return {text(row, 0), text(row, 1), static_cast<std::uint64_t>(sqlite3_column_int64(row, 2)),
          text(row, 3), text(row, 4), text(row, 5),
          text(row, 6)};
}

}  // namespace

Result<std::optional<ExecRow>> Store::running_execution(const std::string& session) {
  std::optional<ExecRow> found;
  if (!statements_->running.with(session).run([&](sqlite3_stmt* row) { found = exec_row(row); }))
    return failure("reading an execution");
  return found;
}

Result<std::optional<ExecRow>> Store::execution(const std::string& session, const std::string& id) {
  std::optional<ExecRow> found;
  if (!statements_->one.with(id).with(session).run(
          [&](sqlite3_stmt* row) { found = exec_row(row); }))
    return failure("reading an execution");
  if (found) found->record = fetch(found->record);
  return found;
}

Result<Store::Page> Store::executions(const std::string& session, std::uint64_t before,
                                      std::uint32_t limit) {
  Page page;
  std::uint64_t last = 0;
  const std::uint64_t from = before == 0 ? INT64_MAX : before;
  const bool done = statements_->page.with(session)
                        .with(from)
                        .with(std::uint64_t{limit} + 1)
                        .run([&](sqlite3_stmt* row) {
                          if (page.rows.size() == limit) {
                            page.next = last;
                            return;
                          }
                          last = static_cast<std::uint64_t>(sqlite3_column_int64(row, 7));
                          page.rows.push_back(exec_row(row));
                          page.rows.back().record = fetch(page.rows.back().record);
                        });
  if (!done) return failure("reading executions");
  return page;
}

}  // namespace vitrine::store
