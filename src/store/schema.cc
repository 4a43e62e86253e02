// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

namespace vitrine::store {

namespace {

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

}  // namespace

bool make_tables(sqlite3* database) {
  static_assert(kSchema == 3, "the pragma below names the version");
  return sqlite3_exec(database, kTables, nullptr, nullptr, nullptr) == SQLITE_OK &&
         sqlite3_exec(database, "PRAGMA user_version=3", nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool Statements::compile(sqlite3* database) {
  return open.compile(database, "BEGIN IMMEDIATE") && commit.compile(database, "COMMIT") &&
         roll_back.compile(database, "ROLLBACK") &&
         put_session.compile(database, "INSERT OR REPLACE INTO sessions VALUES(?,?,?,?,?,?,?)") &&
         set_state.compile(database, "UPDATE sessions SET state=?, cause=? WHERE id=?") &&
         set_keeper_id.compile(
             database, "UPDATE sessions SET engine=?, state='ready', cause='' WHERE id=?") &&
         sessions_of.compile(database,
                             "SELECT id, engine, keeper, spec, created_at, state, cause FROM "
                             "sessions WHERE keeper=? AND state!='ended' ORDER BY created_at") &&
         end_sessions.compile(
             database, "UPDATE sessions SET state='ended' WHERE keeper!=? AND state!='ended'") &&
         lose_executions.compile(
             database,
             "UPDATE executions SET state='lost' WHERE state='running' AND session IN "
             "(SELECT id FROM sessions WHERE state='ended')") &&
         begin.compile(database,
                       "INSERT OR IGNORE INTO executions(id, session, number, code, started_at, "
                       "state, record, limit_ms) VALUES(?,?,?,?,?,'running','',?)") &&
         finish.compile(database, "UPDATE executions SET state='finished', record=? WHERE id=?") &&
         running.compile(
             database,
             "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms "
             "FROM executions WHERE session=? AND state='running' "
             "ORDER BY sequence DESC LIMIT 1") &&
         one.compile(
             database,
             "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms FROM "
             "executions WHERE id=? AND session=?") &&
         page.compile(
             database,
             "SELECT id, session, number, code, started_at, state, record, sequence, limit_ms FROM "
             "executions WHERE session=? AND sequence<? ORDER BY sequence DESC LIMIT ?") &&
         prune_executions.compile(
             database,
             "DELETE FROM executions WHERE session=?1 AND state!='running' AND sequence <= "
             "(SELECT sequence FROM executions WHERE session=?1 ORDER BY sequence DESC "
             "LIMIT 1 OFFSET ?2) RETURNING record") &&
         prune_sessions.compile(
             database,
             "DELETE FROM executions WHERE session IN (SELECT id FROM sessions WHERE state='ended' "
             "ORDER BY created_at DESC LIMIT -1 OFFSET ?) RETURNING record") &&
         forget_sessions.compile(
             database,
             "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE state='ended' "
             "ORDER BY created_at DESC LIMIT -1 OFFSET ?)") &&
         put_recording.compile(database, "INSERT OR REPLACE INTO recordings VALUES(?,?,?,?,?,?)") &&
         drop_recording.compile(database, "DELETE FROM recordings WHERE id=?") &&
         recordings.compile(database,
                            "SELECT id, session, owner, started_at, state, facts FROM recordings "
                            "ORDER BY started_at, id");
}

}  // namespace vitrine::store
