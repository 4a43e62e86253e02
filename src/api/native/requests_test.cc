// SPDX-License-Identifier: Apache-2.0
#include "api/native/requests.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

using namespace std::chrono_literals;

// What is wrong with it, "" = nothing.
std::string mistake_in_session(const std::string& text, service::SessionRequest& request) {
  const json::value parsed = json::parse(text);
  Fields fields(parsed.as_object());
  read_session(fields, request);
  const auto problem = fields.problem();
  return problem ? problem->detail : "";
}
std::string mistake_in_exec(const std::string& text, ExecRequest& request) {
  const json::value parsed = json::parse(text);
  Fields fields(parsed.as_object());
  read_exec(fields, request);
  const auto problem = fields.problem();
  return problem ? problem->detail : "";
}

TEST(ReadSession, TakesAllLimitsInTheirUnits) {
  service::SessionRequest request;
  const session::SessionSpec& spec = request.spec;

  EXPECT_EQ(mistake_in_session(
                R"({"name": "n", "seed": 7, "env": {"K": "v"}, "isolation": "process",
                    "policy": "native", "packages": [], "imports": [],
                    "limits": {"memory_mb": 64, "cpus": 0.5, "processes": 9, "disk_mb": 2,
                               "output_kb": 3, "exec_timeout_s": 1.5, "idle_timeout_s": 60}})",
                request),
            "");

  EXPECT_EQ(spec.name, "n");
  EXPECT_EQ(spec.seed, 7u);
  EXPECT_EQ(spec.variant, Variant::seeded);
  EXPECT_EQ(spec.env, (std::map<std::string, std::string>{{"K", "v"}}));
  EXPECT_EQ(spec.limits.memory_bytes, 64u << 20);
  EXPECT_EQ(spec.limits.cpu_permille, 500u);
  EXPECT_EQ(spec.limits.processes, 9u);
  EXPECT_EQ(spec.limits.disk_bytes, 2u << 20);
  EXPECT_EQ(spec.limits.output_bytes, 3u << 10);
  EXPECT_EQ(spec.limits.exec_time, 1500ms);
  EXPECT_EQ(spec.limits.idle_time, 60s);
  EXPECT_TRUE(spec.limits.validate());
}

TEST(ReadSession, TakesAPolicyAndWhatItAllows) {
  service::SessionRequest request;
  const session::SessionSpec& spec = request.spec;
  EXPECT_EQ(mistake_in_session(R"({"policy": "restrictedpython", "imports": ["glob", "xml.dom"]})",
                               request),
            "");
  EXPECT_EQ(spec.policy, Policy::restricted);
  EXPECT_EQ(request.packages.imports, (std::vector<std::string>{"glob", "xml.dom"}));

  service::SessionRequest usual;  // the server's default stays where none is named
  usual.spec.policy = Policy::smolagents;
  EXPECT_EQ(mistake_in_session(R"({"imports": ["json"]})", usual), "");
  EXPECT_EQ(usual.spec.policy, Policy::smolagents);
}

TEST(ReadSession, NamesWhatItDoesNotTake) {
  for (const auto& [text, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"nope": 1})", "nope: "},
           {R"({"limits": {"nope": 1}})", "limits.nope: "},
           {R"({"limits": {"memory_mb": 0}})", "limits.memory_mb: "},
           {R"({"limits": {"cpus": 1e300}})", "limits.cpus: "},
           {R"({"packages": "polars"})", "packages: "},
           {R"({"policy": "wild"})", "policy: "},
           {R"({"policy": "restricted", "imports": ["a b"]})", "imports: "},
           {R"({"policy": "restricted", "imports": [1]})", "imports: "},
           {R"({"display": {"width": 63}})", "display.width: "},
           {R"({"display": {"height": 4097}})", "display.height: "},
           {R"({"display": {"depth": 8}})", "display.depth: "},
           {R"({"isolation": "none"})", "isolation: "},
           {R"({"env": {"LD_PRELOAD": "x"}})", "env: "},
           {R"({"env": {"A=B": "x"}})", "env: "},
           {R"({"seed": -1})", "seed: "}}) {
    service::SessionRequest request;
    EXPECT_TRUE(mistake_in_session(text, request).starts_with(field)) << text;
  }
}

TEST(ReadExec, NeedsCode) {
  ExecRequest request;

  EXPECT_TRUE(mistake_in_exec("{}", request).starts_with("code: "));
  EXPECT_TRUE(mistake_in_exec(R"({"code": null})", request).starts_with("code: "));
  EXPECT_EQ(mistake_in_exec(R"({"code": ""})", request), "");
}

TEST(ReadExec, TakesAllItsFields) {
  ExecRequest request;

  EXPECT_EQ(mistake_in_exec(R"({"code": "x", "timeout_s": 0.25, "stdin": "in", "env": {"A": "b"},
                                "on_disconnect": "continue", "capture_screenshot": true, "render_timeout": 0.1,
                                "display_time": 2})",
                            request),
            "");

  EXPECT_EQ(request.code, "x");
  EXPECT_EQ(request.timeout, 250ms);
  EXPECT_EQ(request.stdin_text, "in");
  EXPECT_EQ(request.on_disconnect, OnDisconnect::keep_going);
  EXPECT_TRUE(request.capture_screenshot);
  EXPECT_EQ(request.render_timeout, 100ms);
  EXPECT_EQ(request.display_time, 2000ms);
}

TEST(ReadPage, TakesALimitInItsRange) {
  EXPECT_EQ(std::get<Page>(read_page({}, 50, 500)).limit, 50u);
  EXPECT_EQ(std::get<Page>(read_page({{"limit", "500"}}, 50, 500)).limit, 500u);
  for (const char* limit : {"0", "501", "-1", "x", "", "1x", "99999999999999999999"})
    EXPECT_TRUE(std::holds_alternative<Problem>(read_page({{"limit", limit}}, 50, 500))) << limit;
  EXPECT_TRUE(std::holds_alternative<Problem>(read_page({{"other", "1"}}, 50, 500)));
}

TEST(SessionCursor, IsReadBackFromItsText) {
  const SessionCursor cursor{.created_at = "2026-11-15T21:37:18.467Z",
                             .id = "0123456789abcdef0123456789abcdef"};

  const auto read = read_session_cursor(to_text(cursor));

  ASSERT_TRUE(std::holds_alternative<SessionCursor>(read));
  EXPECT_EQ(std::get<SessionCursor>(read), cursor);
}

TEST(SessionCursor, OrdersByTimeThenId) {
  const SessionCursor first{.created_at = "2026-11-15T21:37:18.467Z", .id = "b"};
  const SessionCursor second{.created_at = "2026-11-15T21:37:18.468Z", .id = "a"};

  EXPECT_LT(SessionCursor{}, first);
  EXPECT_LT(first, second);
  EXPECT_LT(second, (SessionCursor{.created_at = second.created_at, .id = "b"}));
}

TEST(SessionCursor, RefusesWhatIsNone) {
  const std::string id(32, 'a');
  const std::string time = "2026-11-15T21:37:18.467Z";
  for (const std::string& text :
       std::vector<std::string>{"x", id, time + "_", time + "_" + id + "a", time + "-" + id,
                                std::string(57, 'a'), time + "_" + std::string(32, 'G')})
    EXPECT_TRUE(std::holds_alternative<Problem>(read_session_cursor(text))) << text;
}

TEST(HistoryCursor, IsANumberFromOne) {
  EXPECT_EQ(std::get<std::uint64_t>(read_history_cursor("")), 0u);
  EXPECT_EQ(std::get<std::uint64_t>(read_history_cursor("13")), 13u);
  for (const char* text : {"0", "-1", "x", "1x", " 1", "18446744073709551615", "1.5"})
    EXPECT_TRUE(std::holds_alternative<Problem>(read_history_cursor(text))) << text;
}

TEST(StoredExecution, AddsTheCodeToTheRecord) {
  service::StoredExecution row;
  row.record = R"({"id":"x","outcome":"ok"})";
  row.code = "a = \"1\"";

  EXPECT_EQ(stored_execution_json(row), R"({"id":"x","outcome":"ok","code":"a = \"1\""})");
}

TEST(StoredExecution, SaysWhatIsKnownOfOneThatWasLost) {
  service::StoredExecution row;
  row.id = "x";
  row.state = "lost";

  const json::object shown = json::parse(stored_execution_json(row)).as_object();

  EXPECT_EQ(shown.at("state"), "lost");
  EXPECT_EQ(shown.at("notes").as_array().size(), 1u);
}

}  // namespace
}  // namespace vitrine::api
