// SPDX-License-Identifier: Apache-2.0
// The database's tables and every statement that the store runs on them.
#pragma once

#include "store/statement.h"

namespace vitrine::store {

inline constexpr int kSchema = 3;
// The oldest version that is still opened: it has the same tables except `recordings`.
inline constexpr int kOldestSchema = 2;

// Makes the tables that are missing and sets the version. False for an error.
bool make_tables(sqlite3* database);

struct Statements {
  // False for an error.
  bool compile(sqlite3* database);

  Statement open, commit, roll_back;
  Statement put_session, set_state, set_keeper_id, sessions_of, end_sessions, lose_executions;
  Statement begin, finish, running, one, page, prune_executions, prune_sessions, forget_sessions;
  Statement put_recording, drop_recording, recordings;
};

}  // namespace vitrine::store
