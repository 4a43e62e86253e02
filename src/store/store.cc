// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <sqlite3.h>

#include <utility>

#include "store/schema.h"
#include "wire/codec.h"

namespace vitrine::store {

namespace {

constexpr std::size_t kPageBytes = 4u << 20;  // of a page's rows, the last one excepted
constexpr std::size_t kMaxPending = 512;      // changes in the log
constexpr std::size_t kMaxPendingBytes = 4u << 20;

enum class Change : std::uint8_t {
  put_session,
  set_state,
  set_keeper_id,
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

}  // namespace

Store::Store(sqlite3* database, const std::string& directory, Retention retention)
    : database_(database),
      blobs_(directory),
      retention_(retention),
      statements_(std::make_unique<Statements>()) {}

Store::Store(Store&& other) noexcept = default;

Store::~Store() {
  if (log_.is_open()) (void)settle();
}

void Store::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Error Store::failure(const char* doing) const {
  const int code = sqlite3_errcode(database_.get());
  const bool full = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  return Error{.code = full ? Code::over_limit : Code::internal,
               .message = std::string(doing) + " failed: " + sqlite3_errstr(code),
               .detail = sqlite3_errmsg(database_.get()),
               .remedy = full ? "free space on the disk that holds the data directory" : ""};
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
  if (version != 0 && (version < kOldestSchema || version > kSchema))
    return Error{.code = Code::invalid_argument,
                 .message = "the database has version " + std::to_string(version) +
                            ", this program supports " + std::to_string(kSchema),
                 .remedy = "use another data directory, or the program that created it"};
  if (!make_tables(database)) return store.failure("making the tables");
  if (!store.statements_->compile(database)) return store.failure("preparing statements");
  Result<ChangeLog> log = ChangeLog::open(directory + "/changes.log");
  if (!log) return std::move(log.error());
  store.log_ = std::move(*log);
  if (Status s = store.settle(); !s) return std::move(s.error());
  return store;
}

Status Store::note(std::string one) {
  if (log_.changes().size() >= kMaxPending || log_.bytes() >= kMaxPendingBytes) {
    Status settled = settle();
    if (!settled && log_.bytes() >= ChangeLog::kMaxBytes / 2) return settled;
  }
  return log_.append(std::move(one));
}

Status Store::settle() {
  if (log_.changes().empty()) return ok();
  std::set<std::string> sessions;
  if (!statements_->open.run()) return failure("writing to the database");
  if (Status s = apply_all(sessions); !s) {
    (void)statements_->roll_back.run();
    unneeded_.clear();
    return s;
  }
  for (const std::string& row : std::exchange(unneeded_, {})) blobs_.remove(row);
  // After a crash here the changes are in both places. Applying them again changes nothing.
  return log_.clear();
}

Status Store::apply_all(std::set<std::string>& sessions) {
  for (const std::string& one : log_.changes())
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
    case Change::set_keeper_id: {
      s.set_keeper_id.with(in.u64());
      return texts(s.set_keeper_id, 1).run();
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
  out.bytes(row.id).u64(row.keeper_id).bytes(row.keeper).bytes(row.spec).bytes(row.created_at);
  return note(out.bytes(row.state).bytes(row.cause).take());
}

Status Store::set_session_state(const std::string& id, const std::string& state,
                                const std::string& cause) {
  return note(change(Change::set_state).bytes(state).bytes(cause).bytes(id).take());
}

Status Store::set_keeper_id(const std::string& id, std::uint64_t keeper_id) {
  return note(change(Change::set_keeper_id).u64(keeper_id).bytes(id).take());
}

Result<std::vector<SessionRow>> Store::sessions_of(const std::string& keeper) {
  if (Status s = settle(); !s) return std::move(s.error());
  std::vector<SessionRow> rows;
  const bool done = statements_->sessions_of.with(keeper).run([&](sqlite3_stmt* row) {
    rows.push_back({text_column(row, 0), number_column(row, 1), text_column(row, 2),
                    text_column(row, 3), text_column(row, 4), text_column(row, 5),
                    text_column(row, 6)});
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

Status Store::begin_execution(const ExecRow& row) {
  wire::Writer out = change(Change::begin);
  out.bytes(row.id).bytes(row.session).u64(row.number).bytes(row.code).bytes(row.started_at);
  return note(out.u64(row.limit_ms).take());
}

Status Store::finish_execution(const std::string& id, const std::string& record) {
  Result<std::string> kept = blobs_.keep(record);
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
    rows.push_back({text_column(row, 0), text_column(row, 1), text_column(row, 2),
                    text_column(row, 3), text_column(row, 4), text_column(row, 5)});
  });
  if (!done) return failure("reading recordings");
  return rows;
}

Status Store::prune(const std::set<std::string>& sessions) {
  const auto remove_blob = [&](sqlite3_stmt* row) {
    std::string stored = text_column(row, 0);
    if (Blobs::is_file(stored)) unneeded_.push_back(std::move(stored));
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
  return {text_column(row, 0), text_column(row, 1), number_column(row, 2), text_column(row, 3),
          text_column(row, 4), text_column(row, 5), text_column(row, 6),   number_column(row, 8)};
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
  if (found) found->record = blobs_.fetch(found->record);
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
                          last = number_column(row, 7);
                          page.rows.push_back(exec_row(row));
                          page.rows.back().record = blobs_.fetch(page.rows.back().record);
                          bytes += page.rows.back().record.size() + page.rows.back().code.size();
                        });
  if (!done) return failure("reading executions");
  return page;
}

}  // namespace vitrine::store
