// SPDX-License-Identifier: Apache-2.0
#include "api/files.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "api/problem.h"
#include "api/request_parts.h"
#include "api/send_file.h"
#include "api/tar.h"
#include "api/text.h"

namespace vitrine::api {

namespace json = boost::json;
using backend::expect;
using backend::KeeperReply;
using session::Session;

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxEntries = 100'000;

struct FileRoutes {
  session::Registry& registry;
  std::uint64_t max_upload;

  Task<void> get(Exchange& exchange);
  Task<void> put(Exchange& exchange);
  Task<void> remove(Exchange& exchange);
  Task<void> list(Exchange& exchange);
  Task<void> refuse(Exchange& exchange, const Error& error);
  Task<Result<std::uint64_t>> receive(Exchange& exchange, int file);
  Task<void> send_archive(Exchange& exchange, Session& session, const std::string& path);
  Task<bool> archive(Exchange& exchange, Session& session, const std::string& path,
                     const std::string& name, int depth, std::size_t& entries);
  Task<Result<std::vector<wire::FilesListed::Entry>>> entries_of(Session& session,
                                                                 std::string path);
};

Task<void> FileRoutes::refuse(Exchange& exchange, const Error& error) {
  Problem problem = problem_of(error);
  if (error.code == Code::not_found) problem = not_found();
  if (error.code == Code::invalid_argument) problem.code = "invalid_path";
  if (error.code == Code::over_limit) {
    problem.code = "disk_full";
    problem.remedy = "delete files in the session, or create one with a larger limits.disk_mb";
  }
  co_await respond(exchange, problem);
}

Task<void> FileRoutes::get(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const std::string path = exchange.parameters[1];
  const wire::Request open = wire::OpenFile{session->engine, path};
  KeeperReply reply = co_await registry.keeper().call(open);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::FileOpened> opened = expect<wire::FileOpened>(std::move(reply));
  if (!opened && opened.error().code == Code::conflict && exchange.query["archive"] == "tar")
    co_return co_await send_archive(exchange, *session, path);
  if (!opened) co_return co_await refuse(exchange, opened.error());
  if (fds.size() != 1)
    co_return co_await respond(exchange,
                               make_problem(http::status::internal_server_error, "internal",
                                            "the keeper sent no file", "try again"));
  co_await send_file(exchange, fds[0].get(), opened->size, path, "application/octet-stream");
}

Task<Result<std::uint64_t>> FileRoutes::receive(Exchange& exchange, int file) {
  std::uint64_t total = 0;
  for (;;) {
    Result<std::string> part = co_await exchange.body_part();
    if (!part) co_return std::move(part.error());
    if (part->empty()) co_return total;
    total += part->size();
    if (total > max_upload) co_return Error{Code::over_limit, "the file is too large"};
    for (std::size_t done = 0; done < part->size();) {
      const ssize_t put = ::write(file, part->data() + done, part->size() - done);
      if (put < 0) co_return Error::from_errno("writing the file");
      done += static_cast<std::size_t>(put);
    }
  }
}

Task<void> FileRoutes::put(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const std::string path = exchange.parameters[1];
  if (auto size = exchange.body_size(); size && *size > session->spec.limits.disk_bytes)
    co_return co_await respond(exchange,
                               make_problem(http::status::payload_too_large, "too_large",
                                            "the file is larger than the session's disk_mb",
                                            "create the session with a larger limits.disk_mb"));
  const wire::Request make = wire::NewFile{session->engine, path};
  KeeperReply reply = co_await registry.keeper().call(make);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::FileOpened> opened = expect<wire::FileOpened>(std::move(reply));
  if (!opened) co_return co_await refuse(exchange, opened.error());
  if (fds.size() != 1)
    co_return co_await respond(exchange,
                               make_problem(http::status::internal_server_error, "internal",
                                            "the keeper sent no file", "try again"));
  Result<std::uint64_t> received = co_await receive(exchange, fds[0].get());
  if (!received) {
    registry.keeper().post(wire::RemoveFile{session->engine, opened->hidden});
    if (received.error().code == Code::over_limit)
      co_return co_await refuse(exchange, received.error());
    co_return co_await respond(exchange, problem_of(received.error()));
  }
  const wire::Request commit = wire::CommitFile{session->engine, path, opened->hidden};
  Result<wire::Done> done = expect<wire::Done>(co_await registry.keeper().call(commit));
  if (!done) co_return co_await refuse(exchange, done.error());
  const json::object stored{{"path", as_text(path)}, {"size", *received}};
  co_await exchange.respond(http::status::created, "application/json", json::serialize(stored));
}

Task<void> FileRoutes::remove(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  const wire::Request request = wire::RemoveFile{session->engine, exchange.parameters[1]};
  Result<wire::Done> done = expect<wire::Done>(co_await registry.keeper().call(request));
  if (!done) co_return co_await refuse(exchange, done.error());
  co_await exchange.respond(http::status::no_content, "", "");
}

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::file: return "file";
    case FileKind::directory: return "directory";
    case FileKind::link: return "link";
    case FileKind::other: return "other";
  }
  return "other";
}

Task<Result<std::vector<wire::FilesListed::Entry>>> FileRoutes::entries_of(Session& session,
                                                                           std::string path) {
  std::vector<wire::FilesListed::Entry> all;
  std::string after;
  for (;;) {
    const wire::Request request = wire::ListFiles{session.engine, path, after};
    Result<wire::FilesListed> listed =
        expect<wire::FilesListed>(co_await registry.keeper().call(request));
    if (!listed) co_return std::move(listed.error());
    if (!listed->entries.empty()) after = listed->entries.back().name;
    for (auto& entry : listed->entries) all.push_back(std::move(entry));
    if (!listed->more || listed->entries.empty()) co_return all;
    if (all.size() > kMaxEntries) co_return Error{Code::over_limit, "the directory is too big"};
  }
}

Task<void> FileRoutes::list(Exchange& exchange) {
  std::shared_ptr<Session> session = co_await session_of(exchange, registry);
  if (!session) co_return;
  std::string path = exchange.query["path"];
  while (path.ends_with('/')) path.pop_back();
  if (path == ".") path.clear();
  if (exchange.query["archive"] == "tar") co_return co_await send_archive(exchange, *session, path);
  Result<std::vector<wire::FilesListed::Entry>> entries = co_await entries_of(*session, path);
  if (!entries) co_return co_await refuse(exchange, entries.error());
  json::array files;
  for (const auto& entry : *entries) {
    files.push_back(json::object{{"name", as_text(entry.name)},
                                 {"type", json::string(kind_name(entry.kind))},
                                 {"size", entry.size},
                                 {"modified_ms", entry.modified_ms}});
  }
  const json::object listing{{"path", as_text(path)}, {"files", std::move(files)}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(listing));
}

Task<bool> FileRoutes::archive(Exchange& exchange, Session& session, const std::string& path,
                               const std::string& name, int depth, std::size_t& entries) {
  Result<std::vector<wire::FilesListed::Entry>> listed = co_await entries_of(session, path);
  if (!listed || depth > kMaxDepth) co_return true;  // gone meanwhile, or absurd: left out
  for (const auto& entry : *listed) {
    if (++entries > kMaxEntries) co_return true;
    const std::string below = path.empty() ? entry.name : path + "/" + entry.name;
    const std::string member = name.empty() ? entry.name : name + "/" + entry.name;
    if (entry.kind == FileKind::directory) {
      if (!co_await exchange.write(tar_header(member + "/", 0, entry.modified_ms, '5')) ||
          !co_await archive(exchange, session, below, member, depth + 1, entries))
        co_return false;
      continue;
    }
    if (entry.kind != FileKind::file) continue;  // links and devices mean nothing outside
    const wire::Request open = wire::OpenFile{session.engine, below};
    KeeperReply reply = co_await registry.keeper().call(open);
    std::vector<Fd> fds = std::move(reply.fds);
    Result<wire::FileOpened> opened = expect<wire::FileOpened>(std::move(reply));
    if (!opened || fds.size() != 1) continue;
    if (!co_await exchange.write(tar_header(member, opened->size, opened->modified_ms, '0')) ||
        !co_await send_bytes(exchange, fds[0].get(), 0, opened->size) ||
        !co_await exchange.write(tar_padding(opened->size)))
      co_return false;
  }
  co_return true;
}

Task<void> FileRoutes::send_archive(Exchange& exchange, Session& session, const std::string& path) {
  // Before the answer begins: does the directory exist?
  const wire::Request request = wire::ListFiles{session.engine, path, ""};
  Result<wire::FilesListed> first =
      expect<wire::FilesListed>(co_await registry.keeper().call(request));
  if (!first) co_return co_await refuse(exchange, first.error());
  const std::string name = path.empty() ? "home" : path.substr(path.rfind('/') + 1);
  const std::vector<Header> headers{{"Content-Disposition", disposition(name + ".tar")},
                                    {"Cache-Control", "no-store"}};
  co_await exchange.stream(http::status::ok, "application/x-tar", std::nullopt, headers);
  std::size_t entries = 0;
  if (!co_await archive(exchange, session, path, "", 0, entries)) co_return;
  if (co_await exchange.write(tar_end())) co_await exchange.finish();
}

}  // namespace

void add_file_routes(Router& router, session::Registry& registry, std::uint64_t max_upload) {
  auto files = std::make_shared<FileRoutes>(FileRoutes{registry, max_upload});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (FileRoutes::*member)(Exchange&)) {
    router.add({method, pattern, summary, Access::ordinary,
                [files, member](Exchange& exchange) { return (*files.*member)(exchange); }});
  };
  add(http::verb::get, "/v1/sessions/{id}/files", "List a directory", &FileRoutes::list);
  add(http::verb::get, "/v1/sessions/{id}/files/{path...}", "Download", &FileRoutes::get);
  add(http::verb::put, "/v1/sessions/{id}/files/{path...}", "Upload", &FileRoutes::put);
  add(http::verb::delete_, "/v1/sessions/{id}/files/{path...}", "Delete", &FileRoutes::remove);
}

}  // namespace vitrine::api
