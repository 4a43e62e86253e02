// SPDX-License-Identifier: Apache-2.0
// The fields of the native API's requests, read into the model.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "api/fields.h"
#include "service/operations.h"

namespace vitrine::api {

// Mistakes are left in `fields`; the caller asks fields.problem().
void read_session(Fields& fields, service::SessionRequest& request);
// `packages`, `imports` and `allow_sdist`: a part of read_session().
void read_packages(Fields& fields, service::SessionRequest& request);
void read_exec(Fields& fields, ExecRequest& request);

struct Page {
  std::string after;
  std::size_t limit = 0;
};
std::variant<Page, Problem> read_page(const std::map<std::string, std::string>& query,
                                      std::size_t usual, std::size_t most);

// Where a page of sessions ends: by what they are ordered by, so that the next page is found even when
// that session is gone. As text it is "CREATED_AT_ID"; "" = before the first.
struct SessionCursor {
  std::string created_at;
  std::string id;
  auto operator<=>(const SessionCursor&) const = default;
};
std::string to_text(const SessionCursor& cursor);
std::variant<SessionCursor, Problem> read_session_cursor(const std::string& text);

// Where a page of history ends: a number from 1; "" = before the newest, which is 0 here.
std::variant<std::uint64_t, Problem> read_history_cursor(const std::string& text);

// A finished one as it was answered; a running or lost one with what is known of it. With the code.
std::string stored_execution_json(const service::StoredExecution& row);

}  // namespace vitrine::api
