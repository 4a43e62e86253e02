// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kPageBytes = 48 * 1024;   // of entries; they must fit a control packet
constexpr std::size_t kEntryBytes = 32;         // what an entry takes beside its name, at most
constexpr std::size_t kMaxDirectory = 200'000;  // more than a session's inodes by default
constexpr int kMaxDepth = 64;

// While it lives, file access is the session's.
class As {
 public:
  explicit As(std::optional<uid_t> user) : active_(user.has_value()) {
    if (!active_) return;
    ::setfsgid(*user);
    ::setfsuid(*user);
  }
  ~As() {
    if (!active_) return;
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
  }
  As(const As&) = delete;
  As& operator=(const As&) = delete;

 private:
  bool active_;
};

// What a client can do something about is told with its remedy.
Error plainly(std::string_view doing) {
  const int error = errno;
  switch (error) {
    case EXDEV:
    case ELOOP:
      return Error{.code = Code::invalid_argument,
                   .message = "the path leads outside the home",
                   .remedy = "name the file itself, below the home directory, and no link to it"};
    case ENXIO:
    case ENODEV:
      return Error{.code = Code::conflict,
                   .message = "it is no regular file",
                   .remedy = "ask for a file, or list the directory"};
    case EACCES:
    case EPERM:
      return Error{.code = Code::conflict,
                   .message = "its permissions do not allow it",
                   .remedy = "change them in the session, with os.chmod, or choose another path"};
    case EAGAIN:
      return Error{.code = Code::conflict,
                   .message = "code in the session holds a lease on it",
                   .remedy = "let that code go, then try again"};
    case ENOTDIR:
      return Error{.code = Code::not_found, .message = "a part of the path is no directory"};
    case ETXTBSY:
      return Error{.code = Code::conflict,
                   .message = "it is a program that runs",
                   .remedy = "end it first, or choose another path"};
    default: return Error::from_errno(doing, error);
  }
}

Error directory_there() {
  return Error{.code = Code::conflict,
               .message = "there is a directory of that name",
               .remedy = "choose another name, or delete the directory first"};
}

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Result<Fd> open_directory(int home, const std::string& path) {
  Result<Fd> directory = open_below(home, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  if (!directory) return plainly("opening a directory");
  return directory;
}

Result<Fd> make_directories(int home, const std::string& path) {
  Result<Fd> here = open_directory(home, "");
  for (std::size_t at = 0; here && at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (::mkdirat(here->get(), part.c_str(), 0755) != 0 && errno != EEXIST)
      return plainly("making a directory");
    // Through the home each time: a link planted in between must not lead outside.
    here = open_directory(home, path.substr(0, end));
    at = end + 1;
  }
  return here;
}

std::uint64_t milliseconds(const timespec& time) {
  if (time.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::file;
  if (S_ISDIR(mode)) return FileKind::directory;
  if (S_ISLNK(mode)) return FileKind::link;
  return FileKind::other;
}

struct CloseDir {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

Result<Dir> read_directory(Fd directory) {
  Dir stream(::fdopendir(directory.get()));
  if (!stream) return plainly("reading a directory");
  directory.release();
  return stream;
}

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

using SliceClock = std::chrono::steady_clock;

Result<Removed> remove_tree(int parent, const char* name, int depth,
                            SliceClock::time_point latest) {
  if (::unlinkat(parent, name, 0) == 0) return Removed::whole;
  if (errno != EISDIR) return plainly("removing a file");
  if (depth == kMaxDepth) return Error{Code::over_limit, "the directory is nested too deeply"};
  Fd directory(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return plainly("opening a directory");
  Result<Dir> stream = read_directory(std::move(directory));
  if (!stream) return std::move(stream.error());
  while (dirent* entry = ::readdir(stream->get())) {
    if (is_dots(entry->d_name)) continue;
    Result<Removed> inside = remove_tree(::dirfd(stream->get()), entry->d_name, depth + 1, latest);
    if (!inside || *inside == Removed::in_part) return inside;
    if (SliceClock::now() >= latest) return Removed::in_part;
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) != 0) return plainly("removing a directory");
  return Removed::whole;
}

}  // namespace

Status check_path(const std::string& path) {
  const auto bad = [](const char* why) {
    return Error{.code = Code::invalid_argument,
                 .message = std::string("the path ") + why,
                 .remedy = "give a path relative to the home directory, such as data/in.csv"};
  };
  if (path.empty()) return bad("is empty");
  if (path.size() > kMaxPath) return bad("is longer than 4096 bytes");
  if (path.find('\0') != std::string::npos) return bad("holds a NUL byte");
  if (path.front() == '/') return bad("is absolute");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part(path.data() + at, end - at);
    if (part.empty()) return bad("has an empty part");
    if (is_dots(part)) return bad("has a part that is . or ..");
    if (part.size() > 255) return bad("has a part longer than 255 bytes");
    at = end + 1;
  }
  return ok();
}

Result<OpenedFile> open_file(const Home& home, const std::string& path) {
  if (Status s = check_path(path); !s) return std::move(s.error());
  const As session(home.user);
  Result<Fd> file = open_below(home.directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return plainly("opening the file");
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return plainly("looking at the file");
  if (!S_ISREG(info.st_mode))
    return Error{.code = Code::conflict,
                 .message = S_ISDIR(info.st_mode) ? "it is a directory" : "it is no regular file",
                 .remedy = "ask for a file, or list the directory"};
  return OpenedFile{std::move(*file),
                    {.size = static_cast<std::uint64_t>(info.st_size),
                     .modified_ms = milliseconds(info.st_mtim),
                     .hidden = {}}};
}

Result<Fd> new_file(const Home& home, const std::string& path) {
  if (Status s = check_path(path); !s) return std::move(s.error());
  const As session(home.user);
  const auto [parent, name] = split(path);
  Result<Fd> directory = make_directories(home.directory, parent);
  if (!directory) return std::move(directory.error());
  struct stat info {};
  if (::fstatat(directory->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(info.st_mode))
    return directory_there();
  Fd file(::openat(directory->get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644));
  if (!file) return plainly("making the file");
  return file;
}

Status commit_file(const Home& home, const std::string& path, int file, const std::string& hidden) {
  if (Status s = check_path(path); !s) return s;
  const As session(home.user);
  const auto [parent, name] = split(path);
  Result<Fd> directory = open_directory(home.directory, parent);
  if (!directory) return std::move(directory.error());
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file);
  const auto link = [&](const std::string& as) {
    return ::linkat(AT_FDCWD, unnamed.c_str(), directory->get(), as.c_str(), AT_SYMLINK_FOLLOW) ==
           0;
  };
  if (link(name)) return ok();
  if (errno == EXDEV)
    return Error{.code = Code::conflict,
                 .message = "the session was reset meanwhile",
                 .remedy = "send the file again"};
  if (errno != EEXIST) return plainly("naming the file");
  // A link replaces nothing, a rename does. Both are done before anything is listed again.
  if (!link(hidden)) return plainly("naming the file");
  if (::renameat(directory->get(), hidden.c_str(), directory->get(), name.c_str()) == 0)
    return ok();
  Error failed = errno == EISDIR ? directory_there() : plainly("naming the file");
  ::unlinkat(directory->get(), hidden.c_str(), 0);
  return failed;
}

Result<Removed> remove_file(const Home& home, const std::string& path,
                            std::chrono::milliseconds slice) {
  if (Status s = check_path(path); !s) return std::move(s.error());
  const As session(home.user);
  const auto [parent, name] = split(path);
  Result<Fd> directory = open_directory(home.directory, parent);
  if (!directory) return std::move(directory.error());
  return remove_tree(directory->get(), name.c_str(), 0, SliceClock::now() + slice);
}

Result<wire::FilesListed> list_files(const Home& home, const std::string& path,
                                     const std::string& after) {
  if (!path.empty())
    if (Status s = check_path(path); !s) return std::move(s.error());
  const As session(home.user);
  Result<Fd> directory = open_directory(home.directory, path);
  if (!directory) return std::move(directory.error());
  Result<Dir> stream = read_directory(std::move(*directory));
  if (!stream) return std::move(stream.error());
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(stream->get())) {
    if (is_dots(entry->d_name) || entry->d_name <= after) continue;
    if (names.size() == kMaxDirectory) return Error{Code::over_limit, "the directory is too big"};
    names.emplace_back(entry->d_name);
  }
  constexpr std::size_t kMost = kPageBytes / kEntryBytes;
  const std::size_t sorted = std::min(names.size(), kMost);
  std::ranges::partial_sort(names, names.begin() + static_cast<std::ptrdiff_t>(sorted));
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < sorted; ++count) {
    bytes += kEntryBytes + names[count].size();
    if (bytes > kPageBytes) break;
  }
  wire::FilesListed listed;
  listed.more = names.size() > count;
  for (std::size_t i = 0; i < count; ++i) {
    struct stat info {};
    if (::fstatat(::dirfd(stream->get()), names[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;  // gone meanwhile
    listed.entries.push_back({.name = std::move(names[i]),
                              .kind = kind_of(info.st_mode),
                              .size = static_cast<std::uint64_t>(info.st_size),
                              .modified_ms = milliseconds(info.st_mtim)});
  }
  return listed;
}

}  // namespace vitrine::keeper
