// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace vitrine {
namespace {

namespace fs = std::filesystem;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
bool closes_on_exec(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

Fd some_fd() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Fd, ClosesOnDestruction) {
  int number = -1;
  {
    Fd fd = some_fd();
    number = fd.get();
    ASSERT_TRUE(is_open(number));
  }

  EXPECT_FALSE(is_open(number));
}

TEST(Fd, IsEmptyAtFirst) {
  const Fd fd;

  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
}

TEST(Fd, MovesItsOwnership) {
  Fd first = some_fd();
  const int number = first.get();

  const Fd second = std::move(first);

  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, ClosesWhatItHeldWhenAnotherMovesIn) {
  Fd first = some_fd();
  Fd second = some_fd();
  const int old = first.get();
  const int kept = second.get();

  first = std::move(second);

  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(kept));
}

TEST(Fd, SurvivesBeingMovedIntoItself) {
  Fd fd = some_fd();
  const int number = fd.get();

  Fd& same = fd;
  fd = std::move(same);

  EXPECT_EQ(fd.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, ReleasesWithoutClosing) {
  Fd fd = some_fd();

  const int number = fd.release();

  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(Fd, ResetsToNothing) {
  Fd fd = some_fd();
  const int number = fd.get();

  fd.reset();

  EXPECT_FALSE(fd);
  EXPECT_FALSE(is_open(number));
}

TEST(MakeSocketpair, KeepsMessageBordersAndClosesOnExec) {
  Result<FdPair> pair = make_socketpair();

  ASSERT_TRUE(pair);
  int type = 0;
  socklen_t size = sizeof type;
  ASSERT_EQ(::getsockopt(pair->first.get(), SOL_SOCKET, SO_TYPE, &type, &size), 0);
  EXPECT_EQ(type, SOCK_SEQPACKET);
  EXPECT_TRUE(closes_on_exec(pair->first.get()));
  EXPECT_TRUE(closes_on_exec(pair->second.get()));
}

TEST(MakePipe, GoesFromSecondToFirstAndClosesOnExec) {
  Result<FdPair> pipe = make_pipe();

  ASSERT_TRUE(pipe);
  ASSERT_EQ(::write(pipe->second.get(), "x", 1), 1);
  char got = 0;
  ASSERT_EQ(::read(pipe->first.get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  EXPECT_TRUE(closes_on_exec(pipe->first.get()));
  EXPECT_TRUE(closes_on_exec(pipe->second.get()));
}

TEST(Duplicate, IsAnotherDescriptorThatClosesOnExec) {
  const Fd fd = some_fd();

  Result<Fd> copy = duplicate(fd.get());

  ASSERT_TRUE(copy);
  EXPECT_NE(copy->get(), fd.get());
  EXPECT_GE(copy->get(), 3) << "would take the place of a standard stream";
  EXPECT_TRUE(closes_on_exec(copy->get()));
}

TEST(Duplicate, RefusesAClosedDescriptor) {
  Result<Fd> copy = duplicate(-1);

  EXPECT_FALSE(copy);
}

TEST(SetNonblocking, KeepsTheOtherFlags) {
  Result<FdPair> pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_EQ(::fcntl(pipe->second.get(), F_SETFL, O_APPEND), 0);

  ASSERT_TRUE(set_nonblocking(pipe->second.get()));

  const int flags = ::fcntl(pipe->second.get(), F_GETFL);
  EXPECT_TRUE(flags & O_NONBLOCK);
  EXPECT_TRUE(flags & O_APPEND);
}

TEST(SetNonblocking, RefusesAClosedDescriptor) { EXPECT_FALSE(set_nonblocking(-1)); }

// A directory `home` with a few files, and a secret beside it that must stay out of reach.
class OpenBelow : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "vitrine-fd-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    home_ = base_ / "home";
    fs::create_directories(home_ / "sub");
    write(base_ / "secret", "outside");
    write(home_ / "file", "inside");
    write(home_ / "sub" / "deep", "deep inside");
    dir_ = Fd(::open(home_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(dir_);
  }
  void TearDown() override { fs::remove_all(base_); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(int fd) {
    std::string text(100, '\0');
    const ssize_t got = ::read(fd, text.data(), text.size());
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }
  void expect_refused(const std::string& path, Code code) {
    Result<Fd> file = open_below(dir_.get(), path, O_RDONLY);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, code) << path << ": " << file.error().describe();
    EXPECT_EQ(file.error().message.find('/'), std::string::npos) << "leaks a host path";
  }

  fs::path base_;
  fs::path home_;
  Fd dir_;
};

TEST_F(OpenBelow, OpensAFileInside) {
  Result<Fd> file = open_below(dir_.get(), "sub/deep", O_RDONLY);

  ASSERT_TRUE(file) << file.error().describe();
  EXPECT_EQ(read(file->get()), "deep inside");
  EXPECT_TRUE(closes_on_exec(file->get()));
}

TEST_F(OpenBelow, FollowsASymlinkThatStaysInside) {
  fs::create_symlink("sub/deep", home_ / "link");
  fs::create_symlink("../file", home_ / "sub" / "up");

  Result<Fd> link = open_below(dir_.get(), "link", O_RDONLY);
  Result<Fd> up = open_below(dir_.get(), "sub/up", O_RDONLY);

  ASSERT_TRUE(link) << link.error().describe();
  ASSERT_TRUE(up) << up.error().describe();
  EXPECT_EQ(read(up->get()), "inside");
}

TEST_F(OpenBelow, AllowsDotsThatStayInside) {
  EXPECT_TRUE(open_below(dir_.get(), "sub/../file", O_RDONLY));
}

TEST_F(OpenBelow, RefusesEveryWayOut) {
  fs::create_symlink("../secret", home_ / "relative");
  fs::create_symlink(base_ / "secret", home_ / "absolute");
  fs::create_symlink("..", home_ / "parent");
  fs::create_symlink(home_ / "file", home_ / "absolute_but_inside");

  expect_refused("../secret", Code::invalid_argument);
  expect_refused("sub/../../secret", Code::invalid_argument);
  expect_refused((base_ / "secret").string(), Code::invalid_argument);
  expect_refused("/", Code::invalid_argument);
  expect_refused("relative", Code::invalid_argument);
  expect_refused("absolute", Code::invalid_argument);
  expect_refused("parent/secret", Code::invalid_argument);
  expect_refused("absolute_but_inside", Code::invalid_argument);
}

TEST_F(OpenBelow, RefusesALoopOfSymlinks) {
  fs::create_symlink("loop", home_ / "loop");

  expect_refused("loop", Code::invalid_argument);
}

TEST_F(OpenBelow, RefusesANulByte) {
  expect_refused(std::string("file\0/../../secret", 18), Code::invalid_argument);
}

TEST_F(OpenBelow, SaysNotFoundForWhatIsNotThere) {
  expect_refused("missing", Code::not_found);
  expect_refused("file/below", Code::not_found);
  expect_refused("", Code::not_found);
}

TEST_F(OpenBelow, RefusesANameThatIsTooLong) {
  expect_refused(std::string(300, 'x'), Code::invalid_argument);
}

TEST_F(OpenBelow, CreatesAFileWithItsMode) {
  const mode_t before = ::umask(0);

  Result<Fd> file = open_below(dir_.get(), "new", O_WRONLY | O_CREAT | O_EXCL, 0640);

  ::umask(before);
  ASSERT_TRUE(file) << file.error().describe();
  struct stat status {};
  ASSERT_EQ(::fstat(file->get(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(OpenBelow, RefusesToCreateTwice) {
  Result<Fd> file = open_below(dir_.get(), "file", O_WRONLY | O_CREAT | O_EXCL, 0600);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::conflict);
}

TEST_F(OpenBelow, DoesNotCreateThroughASymlinkThatLeadsOut) {
  fs::create_symlink("../planted", home_ / "trap");

  EXPECT_FALSE(open_below(dir_.get(), "trap", O_WRONLY | O_CREAT, 0600));

  EXPECT_FALSE(fs::exists(base_ / "planted"));
}

TEST_F(OpenBelow, DoesNotWaitForTheOtherEndOfAFifo) {
  ASSERT_EQ(::mkfifo((home_ / "fifo").c_str(), 0600), 0);

  Result<Fd> reader = open_below(dir_.get(), "fifo", O_RDONLY);  // would block for ever

  EXPECT_TRUE(reader);
}

TEST_F(OpenBelow, OpensAPathWithoutReadingIt) {
  Result<Fd> directory = open_below(dir_.get(), "sub", O_PATH | O_DIRECTORY);

  ASSERT_TRUE(directory) << directory.error().describe();
  EXPECT_TRUE(open_below(directory->get(), "deep", O_RDONLY));
}

TEST_F(OpenBelow, NeverLeadsOutWhileNamesAreMovedAbout) {
  // `flip` is now a folder inside, now a symlink to the folder outside that holds `secret`.
  fs::create_directories(home_ / "flip");
  write(home_ / "flip" / "secret", "inside");
  fs::create_symlink("..", home_ / "flop");
  std::atomic<bool> stop = false;
  std::thread mover([&] {
    while (!stop.load()) ::renameat2(dir_.get(), "flip", dir_.get(), "flop", RENAME_EXCHANGE);
  });

  int opened = 0;
  for (int i = 0; i < 5000; ++i) {
    Result<Fd> file = open_below(dir_.get(), "flip/secret", O_RDONLY);
    if (!file) continue;
    ++opened;
    EXPECT_EQ(read(file->get()), "inside");
  }

  stop = true;
  mover.join();
  EXPECT_GT(opened, 0);
}

TEST(OpenBelowProc, RefusesAMagicLink) {
  const Fd dir(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));

  Result<Fd> file = open_below(dir.get(), "exe", O_RDONLY);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message.find('/'), std::string::npos) << "leaks a host path";
}

TEST_F(OpenBelow, RefusesToCrossIntoAnotherFileSystem) {
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));

  Result<Fd> file = open_below(root.get(), "proc/version", O_RDONLY);

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::invalid_argument);
}

class SmallFiles : public OpenBelow {};

TEST_F(SmallFiles, AreReadWhole) {
  Result<std::string> text = read_file(dir_.get(), "file");

  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "inside");
}

TEST_F(SmallFiles, AreReadUpToExactlyTheLimit) {
  write(home_ / "big", std::string(10'000, 'b'));

  EXPECT_TRUE(read_file(dir_.get(), "big", 10'000));
  Result<std::string> over = read_file(dir_.get(), "big", 9'999);

  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::over_limit);
}

TEST_F(SmallFiles, ThatNeverEndStopAtTheLimit) {
  Result<std::string> text = read_file(AT_FDCWD, "/dev/zero", 100'000);

  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::over_limit);
}

TEST_F(SmallFiles, ThatAreMissingAreNotFound) {
  EXPECT_EQ(read_file(dir_.get(), "missing").error().code, Code::not_found);
  EXPECT_EQ(write_file(dir_.get(), "missing", "x").error().code, Code::not_found);
  EXPECT_FALSE(fs::exists(home_ / "missing")) << "control files are never made";
}

TEST_F(SmallFiles, AreWrittenInPlace) {
  ASSERT_TRUE(write_file(dir_.get(), "file", "IN"));

  EXPECT_EQ(*read_file(dir_.get(), "file"), "INside");
}

TEST_F(SmallFiles, ThatAreFullSaySo) {
  const Status status = write_file(AT_FDCWD, "/dev/full", "x");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::over_limit);
}

}  // namespace
}  // namespace vitrine
