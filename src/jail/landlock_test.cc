// SPDX-License-Identifier: Apache-2.0
#include "jail/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

namespace vitrine::jail {
namespace {

const LandlockPath* find(const LandlockRules& rules, std::string_view path) {
  const auto found = std::find_if(rules.paths.begin(), rules.paths.end(),
                                  [&](const LandlockPath& p) { return p.path == path; });
  return found == rules.paths.end() ? nullptr : &*found;
}

TEST(LandlockRules, AreEmptyWithoutLandlock) {
  const LandlockRules rules = session_rules(0);

  EXPECT_EQ(rules.handled_fs | rules.handled_net | rules.scoped, 0u);
  EXPECT_TRUE(rules.paths.empty());
}

TEST(LandlockRules, HandleEveryRightOfEachAbi) {
  EXPECT_EQ(session_rules(1).handled_fs, 0x1FFFu);
  EXPECT_EQ(session_rules(2).handled_fs, 0x3FFFu);
  EXPECT_EQ(session_rules(3).handled_fs, 0x7FFFu);
  EXPECT_EQ(session_rules(4).handled_fs, 0x7FFFu);
  EXPECT_EQ(session_rules(5).handled_fs, 0xFFFFu);
  EXPECT_EQ(session_rules(7).handled_fs, 0xFFFFu);
  EXPECT_EQ(session_rules(5).scoped, 0u);
  EXPECT_EQ(session_rules(6).scoped, 3u);
  EXPECT_EQ(session_rules(99).handled_fs, 0xFFFFu) << "a later ABI adds, it does not take away";
}

TEST(LandlockRules, GrantNothingThatIsNotHandled) {
  for (int abi = 1; abi <= 8; ++abi) {
    const LandlockRules rules = session_rules(abi);
    for (const LandlockPath& path : rules.paths)
      EXPECT_EQ(path.access & ~rules.handled_fs, 0u) << "ABI " << abi << " " << path.path;
  }
}

TEST(LandlockRules, NeverGrantMakingDevices) {
  const LandlockRules rules = session_rules(7);

  for (const LandlockPath& path : rules.paths)
    EXPECT_EQ(path.access & (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK), 0u)
        << path.path;
}

TEST(LandlockRules, LetOnlyTheImageHomeAndTmpExecute) {
  const LandlockRules rules = session_rules(7);

  EXPECT_TRUE(find(rules, "/usr")->access & LANDLOCK_ACCESS_FS_EXECUTE);
  EXPECT_TRUE(find(rules, "/home")->access & LANDLOCK_ACCESS_FS_EXECUTE);
  EXPECT_TRUE(find(rules, "/tmp")->access & LANDLOCK_ACCESS_FS_EXECUTE);
  for (const char* path : {"/", "/etc", "/proc", "/dev/shm", "/dev/null", "/dev/pts"})
    EXPECT_FALSE(find(rules, path)->access & LANDLOCK_ACCESS_FS_EXECUTE) << path;
}

TEST(LandlockRules, NeverLieInsideAWiderRule) {
  const LandlockRules rules = session_rules(7);

  for (const LandlockPath& outer : rules.paths) {
    for (const LandlockPath& inner : rules.paths) {
      const bool nested = inner.path.starts_with(outer.path + "/");
      EXPECT_TRUE(!nested || (outer.access & ~inner.access) == 0)
          << inner.path << " in " << outer.path;
    }
  }
  EXPECT_EQ(find(rules, "/")->access, LANDLOCK_ACCESS_FS_READ_DIR) << "all others lie inside it";
}

TEST(LandlockRules, RefuseTcpOnlyWhenAsked) {
  EXPECT_EQ(session_rules(promised_by(7)).handled_net, 0u);
  EXPECT_EQ(session_rules(promised_by(7), Tcp::refused).handled_net, 3u);
  EXPECT_EQ(session_rules(promised_by(3), Tcp::refused).handled_net, 0u);
}

TEST(LandlockSupport, ProbesWhatTheAbiPromises) {
  Result<LandlockSupport> support = landlock_support();

  ASSERT_TRUE(support) << support.error().describe();
  EXPECT_EQ(support->scopes & ~promised_by(support->abi).scopes, 0u);
}

// A little session root of plain directories, and children bound to its rules.
class LandlockWall : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<LandlockSupport> support = landlock_support();
    ASSERT_TRUE(support);
    if (support->abi == 0) GTEST_SKIP() << "this kernel has no Landlock";
    support_ = *support;
    char name[] = "/var/tmp/vitrine-landlock-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    for (const char* dir : {"usr", "usr/bin", "etc", "home", "home/sandbox", "tmp", "dev",
                            "dev/shm", "secret", "tmp/a", "tmp/b"})
      ASSERT_EQ(::mkdir((root_ + "/" + dir).c_str(), 0755), 0) << dir;
    ASSERT_EQ(::symlink("usr/bin", (root_ + "/bin").c_str()), 0);
    for (const char* file : {"usr/bin/tool", "etc/conf", "home/sandbox/tool", "tmp/tool",
                             "dev/shm/tool", "secret/key"})
      Fd(::open((root_ + "/" + file).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
    dir_ = Fd(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }

  // What `attempt` returns in a child bound to `rules`.
  int behind(const LandlockRules& rules, const std::function<int()>& attempt) {
    Result<Fd> ruleset = make_ruleset(rules, dir_.get());
    EXPECT_TRUE(ruleset) << ruleset.error().describe();
    if (!ruleset) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      const bool bound =
          ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && restrict_self(ruleset->get());
      ::_exit(bound ? attempt() : 126);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int behind(const std::function<int()>& attempt) {
    return behind(session_rules(support_), attempt);
  }

  int error_of_open(const char* path, int flags) {
    return behind([&] { return Fd(::open((root_ + path).c_str(), flags, 0600)) ? 0 : errno; });
  }
  // The files hold no program: ENOEXEC = it was allowed to run, EACCES = it was not.
  int error_of_exec(const char* path) {
    return behind([&] {
      const std::string file = root_ + path;
      ::execl(file.c_str(), "tool", nullptr);
      return errno;
    });
  }

  LandlockSupport support_;
  std::string root_;
  Fd dir_;
};

TEST_F(LandlockWall, LetsTheImageBeReadNotWritten) {
  EXPECT_EQ(error_of_open("/usr/bin/tool", O_RDONLY), 0);
  EXPECT_EQ(error_of_open("/bin/tool", O_RDONLY), 0);
  EXPECT_EQ(error_of_open("/etc/conf", O_RDONLY), 0);
  EXPECT_EQ(error_of_open("/usr/bin/tool", O_WRONLY), EACCES);
  EXPECT_EQ(error_of_open("/etc/new", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(error_of_open("/", O_RDONLY | O_DIRECTORY), 0);
}

TEST_F(LandlockWall, HidesEverythingElse) {
  EXPECT_EQ(error_of_open("/secret/key", O_RDONLY), EACCES);
  EXPECT_EQ(error_of_open("/secret/new", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(behind([] { return Fd(::open("/etc/passwd", O_RDONLY)) ? 0 : errno; }), EACCES)
      << "the host's file is outside of the root";
}

TEST_F(LandlockWall, LetsHomeAndTmpBeUsedFreely) {
  EXPECT_EQ(error_of_open("/home/sandbox/new", O_RDWR | O_CREAT), 0);
  EXPECT_EQ(error_of_open("/tmp/new", O_RDWR | O_CREAT | O_TRUNC), 0);
  EXPECT_EQ(error_of_open("/dev/shm/new", O_RDWR | O_CREAT), 0);
  const auto everything = [&] {
    const std::string tmp = root_ + "/tmp";
    if (::mkdir((tmp + "/d").c_str(), 0700) != 0) return 1;
    if (::symlink("d", (tmp + "/l").c_str()) != 0) return 2;
    if (::mkfifo((tmp + "/p").c_str(), 0600) != 0) return 3;
    if (::truncate((tmp + "/tool").c_str(), 10) != 0) return 4;
    if (::unlink((tmp + "/l").c_str()) != 0) return 5;
    if (::rmdir((tmp + "/d").c_str()) != 0) return 6;
    return 0;
  };
  EXPECT_EQ(behind(everything), 0);
}

TEST_F(LandlockWall, LetsFilesMoveBetweenDirectories) {
  if (support_.abi < 2) GTEST_SKIP() << "needs Landlock ABI 2";
  const auto move = [&] {
    Fd(::open((root_ + "/tmp/a/f").c_str(), O_CREAT | O_WRONLY, 0600));
    return ::rename((root_ + "/tmp/a/f").c_str(), (root_ + "/tmp/b/f").c_str()) == 0 ? 0 : errno;
  };

  EXPECT_EQ(behind(move), 0);
}

TEST_F(LandlockWall, LetsProgramsRunFromTheImageHomeAndTmpOnly) {
  EXPECT_EQ(error_of_exec("/usr/bin/tool"), ENOEXEC);
  EXPECT_EQ(error_of_exec("/home/sandbox/tool"), ENOEXEC);
  EXPECT_EQ(error_of_exec("/tmp/tool"), ENOEXEC);
  EXPECT_EQ(error_of_exec("/dev/shm/tool"), EACCES);
  EXPECT_EQ(error_of_exec("/secret/key"), EACCES);
}

TEST_F(LandlockWall, RefusesDeviceFilesEvenForRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto make = [&](unsigned kind) {
    return behind([&] {
      const std::string path = root_ + "/tmp/device";
      return ::mknod(path.c_str(), kind | 0600, makedev(1, 3)) == 0 ? 0 : errno;
    });
  };

  EXPECT_EQ(make(S_IFCHR), EACCES);
  EXPECT_EQ(make(S_IFBLK), EACCES);
}

TEST_F(LandlockWall, CoversWhatIsMountedBelowHomeLater) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string home = root_ + "/home/sandbox";
  Result<Fd> ruleset = make_ruleset(session_rules(support_), dir_.get());
  ASSERT_TRUE(ruleset);

  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        ::mount("none", home.c_str(), "tmpfs", 0, nullptr) != 0 || !restrict_self(ruleset->get()))
      ::_exit(126);
    ::_exit(Fd(::open((home + "/new").c_str(), O_CREAT | O_WRONLY, 0600)) ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LandlockWall, RefusesSignalsAndAbstractSocketsOfOthers) {
  if (support_.scopes != 3) GTEST_SKIP() << "this kernel has no Landlock scopes";
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX};
  const std::string name = "vitrine-test-" + std::to_string(::getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), where, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const pid_t outside = ::getpid();

  EXPECT_EQ(behind([&] {
              Fd peer(::socket(AF_UNIX, SOCK_STREAM, 0));
              return ::connect(peer.get(), where, size) == 0 ? 0 : errno;
            }),
            EPERM);
  EXPECT_EQ(behind([&] { return ::kill(outside, 0) == 0 ? 0 : errno; }), EPERM);
  EXPECT_EQ(behind([&] { return ::kill(::getpid(), 0) == 0 ? 0 : errno; }), 0);
}

TEST_F(LandlockWall, RefusesTcpWhenAsked) {
  if (support_.abi < 4) GTEST_SKIP() << "needs Landlock ABI 4";
  LandlockRules rules = session_rules(support_, Tcp::refused);
  const auto connect = [] {
    Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_storage any{.ss_family = AF_INET};
    return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), 16) == 0 ? 0 : errno;
  };

  EXPECT_EQ(behind(rules, connect), EACCES);
  EXPECT_EQ(behind(connect), 0);
}

TEST_F(LandlockWall, ReportsAMissingPathThatIsRequired) {
  LandlockRules rules = session_rules(support_);
  rules.paths.push_back({"/not/there", LANDLOCK_ACCESS_FS_READ_FILE, Presence::optional});
  EXPECT_TRUE(make_ruleset(rules, dir_.get()));

  rules.paths.back().presence = Presence::required;
  Result<Fd> ruleset = make_ruleset(rules, dir_.get());

  ASSERT_FALSE(ruleset);
  EXPECT_EQ(ruleset.error().code, Code::not_found);
  EXPECT_EQ(ruleset.error().message.find('/'), std::string::npos) << "leaks a path";
}

TEST_F(LandlockWall, ResolvesLinksInsideTheRoot) {
  ASSERT_EQ(::symlink("/secret", (root_ + "/opt").c_str()), 0);

  EXPECT_EQ(error_of_open("/secret/key", O_RDONLY), 0) << "the root's /secret, granted by name";
  ASSERT_EQ(::unlink((root_ + "/opt").c_str()), 0);
  ASSERT_EQ(::symlink("../../../../../etc", (root_ + "/opt").c_str()), 0);
  EXPECT_EQ(behind([] { return Fd(::open("/etc/passwd", O_RDONLY)) ? 0 : errno; }), EACCES);
}

TEST_F(LandlockWall, ReportsARightTheKernelDoesNotKnow) {
  LandlockRules rules = session_rules(support_);
  rules.handled_fs |= 1ull << 60;

  Result<Fd> ruleset = make_ruleset(rules, dir_.get());

  ASSERT_FALSE(ruleset);
  EXPECT_EQ(ruleset.error().code, Code::unsupported);
}

TEST_F(LandlockWall, FitsTheRealRootToo) {
  Result<Fd> ruleset = make_ruleset(session_rules(support_), AT_FDCWD);
  ASSERT_TRUE(ruleset) << ruleset.error().describe();

  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !restrict_self(ruleset->get()))
      ::_exit(126);
    Fd null(::open("/dev/null", O_RDWR));
    if (!null) ::_exit(1);
    termios settings{};
    const bool device_call = ::ioctl(null.get(), TCGETS, &settings) == 0 || errno != EACCES;
    if (support_.abi >= 5 && device_call) ::_exit(2);
    Fd terminal(::open("/dev/pts/ptmx", O_RDWR | O_NOCTTY));
    int number = -1;
    if (terminal && ::ioctl(terminal.get(), TIOCGPTN, &number) != 0) ::_exit(3);
    ::execl("/bin/sh", "sh", "-c",
            "read x < /proc/self/stat && ls / > /dev/null && ! (true > /var/tmp/vitrine-new) 2> "
            "/dev/null",
            nullptr);
    ::_exit(4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

}  // namespace
}  // namespace vitrine::jail
