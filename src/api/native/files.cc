// SPDX-License-Identifier: Apache-2.0
#include "api/native/files.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "api/problem.h"
#include "api/route_helpers.h"
#include "api/send_file.h"
#include "api/tar.h"
#include "api/text.h"

namespace vitrine::api {

namespace json = boost::json;
using service::FileEntry;
using service::SessionRef;

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxEntries = 100'000;

struct FileRoutes {
  service::Operations& operations;
  service::FileOperations& files;
  std::uint64_t max_upload;

  Task<void> get(Exchange& exchange);
  Task<void> put(Exchange& exchange);
  Task<void> remove(Exchange& exchange);
  Task<void> list(Exchange& exchange);
  Task<Result<std::uint64_t>> receive(Exchange& exchange, int file);
  Task<void> send_archive(Exchange& exchange, SessionRef session, const std::string& path);
  Task<bool> archive(Exchange& exchange, SessionRef session, const std::string& path,
                     const std::string& name, int depth, std::size_t& entries);
};

Task<void> FileRoutes::get(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  const std::string path = exchange.parameters[1];
  Result<service::OpenFile> opened = co_await files.open(session, path);
  if (!opened && opened.error().code == Code::conflict && exchange.query["archive"] == "tar")
    co_return co_await send_archive(exchange, session, path);
  if (!opened) co_return co_await respond(exchange, problem_of(opened.error()));
  co_await send_file(exchange, opened->file.get(), opened->size, path, "application/octet-stream");
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
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  const std::string path = exchange.parameters[1];
  if (auto size = exchange.body_size(); size && *size > session->spec().limits.disk_bytes)
    co_return co_await respond(exchange,
                               make_problem(http::status::payload_too_large, "too_large",
                                            "the file is larger than the session's disk_mb",
                                            "create the session with a larger limits.disk_mb"));
  Result<service::Upload> upload = co_await files.begin(session, path);
  if (!upload) co_return co_await respond(exchange, problem_of(upload.error()));
  Result<std::uint64_t> received = co_await receive(exchange, upload->file.get());
  if (!received) {
    files.discard(session, *upload);
    const bool full = received.error().code == Code::over_limit;
    const Problem problem =
        problem_of(full ? service::file_error(received.error()) : received.error());
    co_return co_await respond(exchange, problem);
  }
  Status done = co_await files.commit(session, std::move(*upload));
  if (!done) co_return co_await respond(exchange, problem_of(done.error()));
  const json::object stored{{"path", as_text(path)}, {"size", *received}};
  co_await exchange.respond(http::status::created, "application/json", json::serialize(stored));
}

Task<void> FileRoutes::remove(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  Status done = co_await files.remove(session, exchange.parameters[1]);
  if (!done) co_return co_await respond(exchange, problem_of(done.error()));
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

Task<void> FileRoutes::list(Exchange& exchange) {
  SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::string path = exchange.query["path"];
  while (path.ends_with('/')) path.pop_back();
  if (path == ".") path.clear();
  if (exchange.query["archive"] == "tar") co_return co_await send_archive(exchange, session, path);
  Result<std::vector<FileEntry>> entries = co_await files.list(session, path);
  if (!entries) co_return co_await respond(exchange, problem_of(entries.error()));
  json::array found;
  for (const auto& entry : *entries) {
    found.push_back(json::object{{"name", as_text(entry.name)},
                                 {"type", json::string(kind_name(entry.kind))},
                                 {"size", entry.size},
                                 {"modified_ms", entry.modified_ms}});
  }
  const json::object listing{{"path", as_text(path)}, {"files", std::move(found)}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(listing));
}

Task<bool> FileRoutes::archive(Exchange& exchange, SessionRef session, const std::string& path,
                               const std::string& name, int depth, std::size_t& entries) {
  Result<std::vector<FileEntry>> listed = co_await files.list(session, path);
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
    Result<service::OpenFile> opened = co_await files.open(session, below);
    if (!opened) continue;
    if (!co_await exchange.write(tar_header(member, opened->size, opened->modified_ms, '0')) ||
        !co_await send_bytes(exchange, opened->file.get(), 0, opened->size) ||
        !co_await exchange.write(tar_padding(opened->size)))
      co_return false;
  }
  co_return true;
}

Task<void> FileRoutes::send_archive(Exchange& exchange, SessionRef session,
                                    const std::string& path) {
  // Before the answer begins: does the directory exist?
  Status there = co_await files.check_directory(session, path);
  if (!there) co_return co_await respond(exchange, problem_of(there.error()));
  const std::string name = path.empty() ? "home" : path.substr(path.rfind('/') + 1);
  const std::vector<Header> headers{{"Content-Disposition", disposition(name + ".tar")},
                                    {"Cache-Control", "no-store"}};
  co_await exchange.stream(http::status::ok, "application/x-tar", std::nullopt, headers);
  std::size_t entries = 0;
  if (!co_await archive(exchange, session, path, "", 0, entries)) co_return;
  if (co_await exchange.write(tar_end())) co_await exchange.finish();
}

}  // namespace

void add_file_routes(Router& router, service::Operations& operations,
                     service::FileOperations& files, std::uint64_t max_upload) {
  auto routes = std::make_shared<FileRoutes>(FileRoutes{operations, files, max_upload});
  const auto add = [&](http::verb method, const char* pattern, const char* summary,
                       Task<void> (FileRoutes::*member)(Exchange&)) {
    router.add({method, pattern, summary, Access::ordinary,
                [routes, member](Exchange& exchange) { return (*routes.*member)(exchange); }});
  };
  add(http::verb::get, "/v1/sessions/{id}/files", "List a directory", &FileRoutes::list);
  add(http::verb::get, "/v1/sessions/{id}/files/{path...}", "Download", &FileRoutes::get);
  add(http::verb::put, "/v1/sessions/{id}/files/{path...}", "Upload", &FileRoutes::put);
  add(http::verb::delete_, "/v1/sessions/{id}/files/{path...}", "Delete", &FileRoutes::remove);
}

}  // namespace vitrine::api
