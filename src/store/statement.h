// SPDX-License-Identifier: Apache-2.0
// One SQL statement, compiled once and run many times.
//
// Ownership: owns the compiled statement; it must go before its database is closed.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <string>

namespace vitrine::store {

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
  // Binds the next parameter.
  Statement& with(const std::string& value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& with(std::uint64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  // Runs to the end, calling `row` for each row, and unbinds all parameters. False for an error.
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

// A column of the current row.
inline std::string text_column(sqlite3_stmt* row, int column) {
  const void* bytes = sqlite3_column_blob(row, column);
  const int size = sqlite3_column_bytes(row, column);
  if (bytes == nullptr) return "";
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}
inline std::uint64_t number_column(sqlite3_stmt* row, int column) {
  return static_cast<std::uint64_t>(sqlite3_column_int64(row, column));
}

}  // namespace vitrine::store
