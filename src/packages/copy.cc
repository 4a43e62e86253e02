// SPDX-License-Identifier: Apache-2.0
#include "packages/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

namespace vitrine::packages {

namespace asio = boost::asio;
using backend::Task;

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kBlock = 1u << 20;

struct Directory {
  std::string path;  // below `from`; "" = itself
  int depth = 0;
};

bool is_plain(std::string_view name) {
  for (char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/') return false;
  return !name.empty() && name != "." && name != "..";
}

// Yields after each block, because the front has one thread.
Task<Result<std::uint64_t>> copy_file(int source, int target, std::uint64_t most) {
  std::string block(kBlock, '\0');
  std::uint64_t copied = 0;
  for (;;) {
    const ssize_t got = ::read(source, block.data(), block.size());
    if (got < 0) co_return Error::from_errno("reading an installed file");
    if (got == 0) co_return copied;
    copied += static_cast<std::uint64_t>(got);
    if (copied > most) co_return Error{Code::over_limit, "the packages are too big"};
    for (ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(target, block.data() + at, static_cast<std::size_t>(got - at));
      if (put < 0) co_return Error::from_errno("writing a layer");
      at += put;
    }
    auto executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, asio::use_awaitable);
  }
}

}  // namespace

Task<Result<Copied>> copy_tree(backend::KeeperLink& keeper, std::uint64_t session, std::string from,
                               int into, CopyLimits limits) {
  Copied sum;
  std::deque<Directory> directories(1);
  while (!directories.empty()) {
    const Directory here = directories.front();
    directories.pop_front();
    const std::string prefix = here.path.empty() ? "" : here.path + "/";
    std::string after;
    for (bool more = true; more;) {
      wire::ListFiles ask;
      ask.session = session;
      ask.path = here.path.empty() ? from : from + "/" + here.path;
      ask.after = after;
      const wire::Request request = ask;
      backend::KeeperReply reply = co_await keeper.call(request);
      Result<wire::FilesListed> listed = backend::expect<wire::FilesListed>(std::move(reply));
      if (!listed) co_return std::move(listed.error());
      more = listed->more && !listed->entries.empty();
      for (const auto& entry : listed->entries) {
        after = entry.name;
        if (!is_plain(entry.name))
          co_return Error{Code::invalid_argument, "a package contains a file with an invalid name"};
        if (++sum.files > limits.files)
          co_return Error{Code::over_limit, "the packages have too many files"};
        const std::string path = prefix + entry.name;
        if (entry.kind == FileKind::directory) {
          if (here.depth == kMaxDepth)
            co_return Error{Code::over_limit, "a package's directories are nested too deeply"};
          if (::mkdirat(into, path.c_str(), 0755) != 0 ||
              ::fchmodat(into, path.c_str(), 0755, 0) != 0)
            co_return Error::from_errno("making a directory of a layer");
          directories.push_back({path, here.depth + 1});
          continue;
        }
        if (entry.kind != FileKind::file)
          co_return Error{Code::invalid_argument,
                          "a package contains a link or another file that is not regular"};
        wire::OpenFile open;
        open.session = session;
        open.path = from + "/" + path;
        const wire::Request wanted = open;
        backend::KeeperReply opened = co_await keeper.call(wanted);
        std::vector<Fd> fds = std::move(opened.fds);
        Result<wire::FileOpened> about = backend::expect<wire::FileOpened>(std::move(opened));
        if (!about) co_return std::move(about.error());
        if (fds.empty()) co_return Error{Code::internal, "the keeper sent no file"};
        const mode_t mode = path.starts_with("bin/") ? 0755 : 0644;
        Fd target(::openat(into, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode));
        if (!target || ::fchmod(target.get(), mode) != 0)
          co_return Error::from_errno("making a file of a layer");
        Result<std::uint64_t> size =
            co_await copy_file(fds[0].get(), target.get(), limits.bytes - sum.bytes);
        if (!size) co_return std::move(size.error());
        sum.bytes += *size;
      }
    }
  }
  co_return sum;
}

}  // namespace vitrine::packages
