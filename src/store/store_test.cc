// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

namespace vitrine::store {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "vitrine-store-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  Store open(Retention retention = {}) {
    Result<Store> store = Store::open(directory_, retention);
    EXPECT_TRUE(store) << (store ? "" : store.error().describe());
    return std::move(*store);
  }
  static void add_session(Store& store, const std::string& id, const std::string& keeper = "k",
                          const std::string& created_at = "2026-01-01T00:00:00.000Z") {
    SessionRow row;
    row.id = id;
    row.keeper_id = 7;
    row.keeper = keeper;
    row.spec = "{}";
    row.created_at = created_at;
    ASSERT_TRUE(store.put_session(row));
  }
  static void begin(Store& store, const std::string& id, const std::string& session = "s") {
    ExecRow row;
    row.id = id;
    row.session = session;
    row.code = "code of " + id;
    ASSERT_TRUE(store.begin_execution(row));
  }
  static void execute(Store& store, const std::string& id, const std::string& session = "s") {
    begin(store, id, session);
    ASSERT_TRUE(store.finish_execution(id, "{\"id\":\"" + id + "\"}"));
  }
  static std::vector<std::string> ids(const Store::Page& page) {
    std::vector<std::string> all;
    for (const ExecRow& row : page.rows) all.push_back(row.id);
    return all;
  }
  std::size_t blobs() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_ + "/blobs"), fs::directory_iterator()));
  }

  std::string directory_;
};

TEST_F(StoreTest, KeepsSessionsOverARestart) {
  {
    Store store = open();
    add_session(store, "s");
    ASSERT_TRUE(store.set_session_state("s", "dead", "{\"cause\":\"oom\"}"));
  }
  Store store = open();

  const auto rows = store.sessions_of("k");

  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().id, "s");
  EXPECT_EQ(rows->front().keeper_id, 7u);
  EXPECT_EQ(rows->front().state, "dead");
  EXPECT_EQ(rows->front().cause, "{\"cause\":\"oom\"}");
}

TEST_F(StoreTest, GivesAResetSessionItsNewEngine) {
  Store store = open();
  add_session(store, "s");
  ASSERT_TRUE(store.set_session_state("s", "dead", "why"));

  ASSERT_TRUE(store.set_keeper_id("s", 8));

  const SessionRow row = store.sessions_of("k")->front();
  EXPECT_EQ(row.keeper_id, 8u);
  EXPECT_EQ(row.state, "ready");
  EXPECT_EQ(row.cause, "");
}

TEST_F(StoreTest, EndsTheSessionsOfOtherKeepersAndLosesWhatRanThere) {
  Store store = open();
  add_session(store, "old", "before");
  add_session(store, "new", "now");
  begin(store, "a", "old");
  begin(store, "b", "new");
  execute(store, "c", "old");

  ASSERT_TRUE(store.end_others("now"));

  EXPECT_TRUE(store.sessions_of("before")->empty());
  EXPECT_EQ(store.sessions_of("now")->size(), 1u);
  EXPECT_EQ(store.execution("old", "a").value()->state, "lost");
  EXPECT_EQ(store.execution("new", "b").value()->state, "running");
  EXPECT_EQ(store.execution("old", "c").value()->state, "finished");
}

TEST_F(StoreTest, ForgetsAnEndedSessionInItsList) {
  Store store = open();
  add_session(store, "s");

  ASSERT_TRUE(store.set_session_state("s", "ended", ""));

  EXPECT_TRUE(store.sessions_of("k")->empty());
}

TEST_F(StoreTest, PagesNewestFirstWithoutGapOrRepetition) {
  Store store = open();
  for (int n = 0; n < 7; ++n) execute(store, "e" + std::to_string(n));
  execute(store, "other", "another session");

  const auto first = store.executions("s", 0, 3);
  const auto second = store.executions("s", first->next, 3);
  const auto third = store.executions("s", second->next, 3);

  EXPECT_EQ(ids(*first), (std::vector<std::string>{"e6", "e5", "e4"}));
  EXPECT_EQ(ids(*second), (std::vector<std::string>{"e3", "e2", "e1"}));
  EXPECT_EQ(ids(*third), (std::vector<std::string>{"e0"}));
  EXPECT_EQ(third->next, 0u);
}

TEST_F(StoreTest, EndsAPageThatGrowsLarge) {
  Store store = open();
  const std::string large((4u << 20) / 4, 'x');
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    begin(store, id);
    ASSERT_TRUE(store.finish_execution(id, large));
  }

  const auto first = store.executions("s", 0, 500);
  const auto second = store.executions("s", first->next, 500);

  EXPECT_EQ(ids(*first), (std::vector<std::string>{"e", "d", "c", "b"}));
  EXPECT_EQ(ids(*second), (std::vector<std::string>{"a"}));
  EXPECT_EQ(second->next, 0u);
}

TEST_F(StoreTest, SaysThatAPageIsTheLastEvenIfItIsFull) {
  Store store = open();
  for (int n = 0; n < 3; ++n) execute(store, "e" + std::to_string(n));

  EXPECT_EQ(store.executions("s", 0, 3)->next, 0u);
}

TEST_F(StoreTest, FindsAnExecutionOfItsOwnSessionOnly) {
  Store store = open();
  execute(store, "e");

  EXPECT_TRUE(store.execution("s", "e")->has_value());
  EXPECT_FALSE(store.execution("another", "e")->has_value());
}

TEST_F(StoreTest, FindsWhatWasRunning) {
  Store store = open();
  execute(store, "a");
  begin(store, "b");

  EXPECT_EQ(store.running_execution("s").value()->id, "b");
  ASSERT_TRUE(store.finish_execution("b", "{}"));
  EXPECT_FALSE(store.running_execution("s")->has_value());
}

TEST_F(StoreTest, KeepsALargeRecordBesideTheDatabaseAndGivesItBackWhole) {
  Store store = open();
  const std::string record = "{\"stdout\":\"" + std::string(200'000, 'x') + "\"}";
  begin(store, "e");

  ASSERT_TRUE(store.finish_execution("e", record));

  EXPECT_EQ(blobs(), 1u);
  EXPECT_EQ(store.execution("s", "e").value()->record, record);
  EXPECT_EQ(store.executions("s", 0, 1)->rows[0].record, record);
}

TEST_F(StoreTest, KeepsTheNewestExecutionsOfASession) {
  Store store = open({.executions_per_session = 10, .ended_sessions = 1000});

  for (int n = 0; n < 256; ++n) execute(store, "e" + std::to_string(n));

  const auto page = store.executions("s", 0, 500);
  EXPECT_LE(page->rows.size(), 10u + 64u);
  EXPECT_EQ(page->rows[0].id, "e255");
  EXPECT_FALSE(store.execution("s", "e0")->has_value());
}

TEST_F(StoreTest, RemovesTheBlobsOfWhatItForgets) {
  Store store = open({.executions_per_session = 1, .ended_sessions = 1000});
  for (int n = 0; n < 64; ++n) {
    const std::string id = "e" + std::to_string(n);
    begin(store, id);
    ASSERT_TRUE(store.finish_execution(id, id + std::string(100'000, 'x')));
  }

  for (int n = 64; n < 128; ++n) execute(store, "e" + std::to_string(n));
  ASSERT_TRUE(store.settle());

  EXPECT_EQ(blobs(), 0u);
}

TEST_F(StoreTest, NeverForgetsWhatRuns) {
  Store store = open({.executions_per_session = 1, .ended_sessions = 1000});
  begin(store, "long");

  for (int n = 0; n < 128; ++n) execute(store, "e" + std::to_string(n));

  EXPECT_TRUE(store.execution("s", "long")->has_value());
}

TEST_F(StoreTest, KeepsTheNewestOfTheEndedSessions) {
  Store store = open({.executions_per_session = 1000, .ended_sessions = 2});
  for (int n = 0; n < 5; ++n) {
    const std::string id = "s" + std::to_string(n);
    add_session(store, id, "k", "2026-01-01T00:00:0" + std::to_string(n) + ".000Z");
    execute(store, "of " + id, id);
    ASSERT_TRUE(store.set_session_state(id, "ended", ""));
  }

  for (int n = 0; n < 64; ++n) execute(store, "e" + std::to_string(n), "living");

  EXPECT_FALSE(store.execution("s0", "of s0")->has_value());
  EXPECT_FALSE(store.execution("s2", "of s2")->has_value());
  EXPECT_TRUE(store.execution("s3", "of s3")->has_value());
  EXPECT_TRUE(store.execution("s4", "of s4")->has_value());
}

// What a process leaves that is killed between two instructions.
std::string killed_after(const std::string& directory, const std::function<void(Store&)>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    Result<Store> store = Store::open(directory, {});
    if (store) work(*store);
    ::_exit(store ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0 ? "" : "the store did not open";
}

TEST_F(StoreTest, LosesNothingWithItsProcess) {
  ASSERT_EQ(killed_after(directory_,
                         [](Store& store) {
                           add_session(store, "s");
                           execute(store, "e1");
                           begin(store, "e2");
                         }),
            "");

  Store store = open();

  ASSERT_EQ(store.sessions_of("k")->size(), 1u);
  EXPECT_EQ((*store.execution("s", "e1"))->record, "{\"id\":\"e1\"}");
  EXPECT_EQ((*store.running_execution("s"))->id, "e2");
}

TEST_F(StoreTest, ChangesMadeTwiceAreMadeOnce) {
  const std::string log = directory_ + "/changes.log";
  ASSERT_EQ(killed_after(directory_,
                         [](Store& store) {
                           add_session(store, "s");
                           execute(store, "e1");
                           (void)store.set_session_state("s", "dead", "{}");
                         }),
            "");
  fs::copy_file(log, log + ".copy");
  { (void)open(); }  // they are in the database now
  EXPECT_EQ(fs::file_size(log), 0u);
  fs::copy_file(log + ".copy", log, fs::copy_options::overwrite_existing);

  Store store = open();

  EXPECT_EQ(ids(*store.executions("s", 0, 10)), std::vector<std::string>{"e1"});
  EXPECT_EQ(store.sessions_of("k")->at(0).state, "dead");
}

TEST_F(StoreTest, ForgetsAnEntryThatWasCutOff) {
  const std::string log = directory_ + "/changes.log";
  ASSERT_EQ(killed_after(directory_,
                         [](Store& store) {
                           execute(store, "e1");
                           execute(store, "e2");
                         }),
            "");
  fs::resize_file(log, fs::file_size(log) - 1);

  Store store = open();

  EXPECT_EQ((*store.execution("s", "e2"))->state, "running");
  EXPECT_EQ((*store.execution("s", "e1"))->state, "finished");
  execute(store, "e3");
  EXPECT_EQ((*store.execution("s", "e3"))->state, "finished");
}

TEST_F(StoreTest, SettlesByItselfWhenMuchIsPending) {
  Store store = open();
  for (int n = 0; n < 2000; ++n) execute(store, "e" + std::to_string(n));
  EXPECT_LT(fs::file_size(directory_ + "/changes.log"), 100'000u);
}

TEST_F(StoreTest, KeepsTheLimitOfAnExecution) {
  Store store = open();
  ExecRow row;
  row.id = "e";
  row.session = "s";
  row.limit_ms = 1500;
  ASSERT_TRUE(store.begin_execution(row));
  EXPECT_EQ((*store.running_execution("s"))->limit_ms, 1500u);
}

TEST_F(StoreTest, KeepsWhatIsKnownOfRecordings) {
  RecordingRow row;
  row.id = "r";
  row.session = "s";
  row.owner = "ann";
  row.started_at = "2026-01-01T00:00:00.000Z";
  row.state = "recording";
  {
    Store store = open();
    ASSERT_TRUE(store.put_recording(row));
    row.state = "ended";
    row.facts = "{}";
    ASSERT_TRUE(store.put_recording(row));
  }
  Store store = open();

  const auto rows = store.recordings();

  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().state, "ended");
  EXPECT_EQ(rows->front().owner, "ann");
  EXPECT_EQ(rows->front().facts, "{}");
  ASSERT_TRUE(store.remove_recording("r"));
  EXPECT_TRUE(store.recordings()->empty());
}

TEST_F(StoreTest, TakesOverADatabaseFromBeforeRecordings) {
  {
    Store store = open();
    execute(store, "e1");
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ + "/vitrine.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "DROP TABLE recordings; PRAGMA user_version=2", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);

  Store store = open();

  EXPECT_EQ((*store.execution("s", "e1"))->state, "finished");
  EXPECT_TRUE(store.recordings()->empty());
  EXPECT_TRUE(store.put_recording({}));
}

TEST_F(StoreTest, RefusesADatabaseOfAnotherVersion) {
  { (void)open(); }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ + "/vitrine.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);

  Result<Store> store = Store::open(directory_, {});

  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::invalid_argument);
  EXPECT_NE(store.error().remedy, "");
}

}  // namespace
}  // namespace vitrine::store
