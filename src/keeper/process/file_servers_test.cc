// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/file_servers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "keeper/process/file_server.h"

namespace vitrine::keeper {
namespace {

namespace fs = std::filesystem;
using Answer = std::optional<Result<FileServers::Reply>>;

class FileServersTest : public testing::Test {
 protected:
  FileServersTest() {
    std::string pattern = "/dev/shm/vitrine-files-XXXXXX";  // as a home is: in memory
    home = ::mkdtemp(pattern.data());
    directory = Fd(::open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(reaper.start(loop));
    EXPECT_TRUE(servers.start());
    client.emplace(servers, Home{.directory = directory.get()});
  }
  ~FileServersTest() override {
    client.reset();
    servers.stop();
    run_until([&] { return servers.pids().empty(); });
    fs::remove_all(home);
  }

  Answer submit(FileServers::Client& to, wire::Request request, Fd file = {}) {
    Answer answer;
    to.submit({.request = std::move(request), .file = std::move(file), .answered = [&](auto got) {
                 answer = std::move(got);
               }});
    run_until([&] { return answer.has_value(); });
    return answer;
  }
  void begin(FileServers::Client& to, wire::Request request, std::string& order, char letter) {
    to.submit({.request = std::move(request),
               .answered = [&order, letter](const auto& got) { order += got ? letter : '-'; }});
  }
  template <class Condition>
  void run_until(Condition condition) {
    const auto latest = Clock::now() + std::chrono::seconds(30);
    while (!condition() && Clock::now() < latest) loop.poll();
    ASSERT_TRUE(condition());
  }
  void make_files(const std::string& name, int count) {
    fs::create_directory(home + "/" + name);
    for (int i = 0; i < count; ++i)
      std::ofstream(home + "/" + name + "/" + std::to_string(i)) << "";
  }
  void signal_all(int signal) {
    for (const int pid : servers.pids()) ASSERT_TRUE(reaper.signal(pid, signal));
  }
  static std::ptrdiff_t open_descriptors() {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{});
  }

  Loop loop = *Loop::make();
  Reaper reaper;
  FileServers servers{loop, reaper};
  std::string home;
  Fd directory;
  std::optional<FileServers::Client> client;
};

TEST_F(FileServersTest, ListADirectory) {
  make_files("d", 3);

  const Answer answer = submit(*client, wire::ListFiles{.path = "d"});

  ASSERT_TRUE(*answer);
  EXPECT_EQ(std::get<wire::FilesListed>((*answer)->reply).entries.size(), 3u);
}

TEST_F(FileServersTest, OpenAFile) {
  std::ofstream(home + "/a") << "hello";

  const Answer answer = submit(*client, wire::OpenFile{.path = "a"});

  ASSERT_TRUE(*answer);
  char text[8] = {};
  EXPECT_EQ(::read((*answer)->file.get(), text, sizeof text), 5);
}

TEST_F(FileServersTest, WriteAFileAndGiveItItsName) {
  Answer made = submit(*client, wire::NewFile{.path = "d/new"});
  ASSERT_TRUE(*made);
  ASSERT_EQ(::write((*made)->file.get(), "hi", 2), 2);

  const Answer named =
      submit(*client, wire::CommitFile{.path = "d/new", .hidden = ".h"}, std::move((*made)->file));

  EXPECT_TRUE(std::holds_alternative<wire::Done>((*named)->reply));
  EXPECT_EQ(fs::file_size(home + "/d/new"), 2u);
}

TEST_F(FileServersTest, RefuseAPathThatLeadsOutside) {
  const Answer answer = submit(*client, wire::OpenFile{.path = "../passwd"});

  ASSERT_TRUE(*answer);
  EXPECT_EQ(std::get<Error>((*answer)->reply).code, Code::invalid_argument);
}

TEST_F(FileServersTest, RefuseWhatIsNoFileVerb) {
  const Answer answer = submit(*client, wire::Kill{.session = 1});

  ASSERT_TRUE(*answer);
  EXPECT_EQ(std::get<Error>((*answer)->reply).code, Code::invalid_argument);
}

TEST_F(FileServersTest, GiveOthersTheirTurnDuringLongRemovals) {
  std::string order;
  FileServers::Client second(servers, {.directory = directory.get()});
  FileServers::Client third(servers, {.directory = directory.get()});
  make_files("big", 20'000);
  make_files("huge", 20'000);
  begin(*client, wire::RemoveFile{.path = "big"}, order, 'a');
  begin(second, wire::RemoveFile{.path = "huge"}, order, 'a');

  begin(third, wire::ListFiles{}, order, 'b');
  run_until([&] { return order.size() == 3; });

  EXPECT_EQ(order, "baa");
  EXPECT_FALSE(fs::exists(home + "/big"));
  EXPECT_FALSE(fs::exists(home + "/huge"));
}

TEST_F(FileServersTest, KeepTheOrderOfOneSandbox) {
  make_files("d", 20'000);
  std::string order;
  begin(*client, wire::RemoveFile{.path = "d"}, order, 'a');
  begin(*client, wire::ListFiles{}, order, 'b');
  begin(*client, wire::OpenFile{.path = "none"}, order, 'c');

  run_until([&] { return order.size() == 3; });

  EXPECT_EQ(order, "abc");
}

TEST_F(FileServersTest, AreQuietOnlyWhenNoneWorksForAClosedClient) {
  signal_all(SIGSTOP);
  std::string order;
  bool quiet = false;
  begin(*client, wire::ListFiles{}, order, 'a');
  begin(*client, wire::ListFiles{}, order, 'b');

  client->close([&] { quiet = true; });
  run_until([&] { return order.size() == 2; });
  const bool too_early = quiet;
  signal_all(SIGCONT);
  run_until([&] { return quiet; });

  EXPECT_EQ(order, "--") << "both answer at once, and with an error";
  EXPECT_FALSE(too_early);
  begin(*client, wire::ListFiles{}, order, 'c');
  run_until([&] { return order.size() == 3; });
  EXPECT_EQ(order, "---");
}

TEST_F(FileServersTest, AreReplacedWhenTheyDieAndAnswerWhatWaited) {
  const std::vector<int> old = servers.pids();
  const std::ptrdiff_t descriptors = open_descriptors();
  signal_all(SIGSTOP);
  std::string order;
  begin(*client, wire::ListFiles{}, order, 'a');
  begin(*client, wire::ListFiles{}, order, 'b');

  reaper.signal(old[0], SIGKILL);
  run_until([&] { return order == "-"; });
  reaper.signal(old[1], SIGCONT);
  run_until([&] { return order.size() == 2; });

  EXPECT_EQ(order, "-b") << "the one under way is lost, the other is done";
  run_until([&] { return servers.pids().size() == old.size(); });
  EXPECT_NE(servers.pids(), old);
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(FileServersTest, LeaveNoHiddenNameWhenTheyDieWhileReplacing) {
  std::ofstream(home + "/d") << "before";
  signal_all(SIGSTOP);
  bool answered = false;
  client->submit({.request = wire::CommitFile{.path = "d", .hidden = ".hidden"},
                  .file = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
                  .answered = [&](const auto& got) { answered = !got; }});
  std::ofstream(home + "/.hidden") << "as if it had come so far";

  signal_all(SIGKILL);
  run_until([&] { return answered && !fs::exists(home + "/.hidden"); });

  EXPECT_TRUE(answered);
  EXPECT_TRUE(fs::exists(home + "/d"));
}

TEST_F(FileServersTest, EndWithTheirKeeper) {
  Result<FdPair> pair = make_socketpair();
  ASSERT_TRUE(pair);
  const pid_t server = ::fork();
  if (server == 0) run_file_server(pair->second.get());
  reaper.watch(server, [](Ending) { FAIL() << "reaped by the test itself"; });

  pair->first.reset();
  pair->second.reset();

  int status = -1;
  EXPECT_EQ(::waitpid(server, &status, 0), server);
  EXPECT_EQ(status, 0);
}

TEST(FileReply, RefusesWhatNoServerSays) {
  EXPECT_FALSE(decode_file_reply(""));
  EXPECT_FALSE(decode_file_reply("\2"));
  EXPECT_FALSE(decode_file_reply(std::string("\0junk", 5)));
  EXPECT_FALSE(decode_file_reply(std::string(1, '\0') + wire::encode_event(wire::Died{})));
}

TEST(FileRequest, ComesBackWithItsUser) {
  const std::string packet =
      encode_file_request({.user = 70'001, .request = wire::RemoveFile{.path = "a/b"}});

  Result<FileRequest> back = decode_file_request(packet);

  ASSERT_TRUE(back);
  EXPECT_EQ(back->user, uid_t{70'001});
  EXPECT_EQ(std::get<wire::RemoveFile>(back->request).path, "a/b");
}

}  // namespace
}  // namespace vitrine::keeper
