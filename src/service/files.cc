// SPDX-License-Identifier: Apache-2.0
#include "service/files.h"

#include "service/errors.h"

namespace vitrine::service {

using backend::expect;
using backend::KeeperReply;

namespace {

constexpr std::size_t kMaxEntries = 100'000;

Error no_file() {
  return {.code = Code::internal, .message = "the keeper sent no file", .remedy = "try again"};
}

}  // namespace

Error file_error(Error error) {
  if (error.code == Code::not_found) return not_found();
  if (error.code == Code::invalid_argument) error.reason = "invalid_path";
  if (error.code == Code::over_limit) {
    error.reason = "disk_full";
    error.remedy = "delete files in the session, or create one with a larger limits.disk_mb";
  }
  return error;
}

Task<Result<OpenFile>> FileOperations::open(SessionRef session, std::string path) {
  const wire::Request request = wire::OpenFile{session->keeper_id(), std::move(path)};
  KeeperReply reply = co_await keeper_.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::FileOpened> opened = expect<wire::FileOpened>(std::move(reply));
  if (!opened) co_return file_error(std::move(opened.error()));
  if (fds.size() != 1) co_return no_file();
  OpenFile out;
  out.file = std::move(fds[0]);
  out.size = opened->size;
  out.modified_ms = opened->modified_ms;
  co_return out;
}

Task<Result<Upload>> FileOperations::begin(SessionRef session, std::string path) {
  const wire::Request request = wire::NewFile{session->keeper_id(), path};
  KeeperReply reply = co_await keeper_.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::FileOpened> opened = expect<wire::FileOpened>(std::move(reply));
  if (!opened) co_return file_error(std::move(opened.error()));
  if (fds.size() != 1) co_return no_file();
  Upload out;
  out.file = std::move(fds[0]);
  out.path = std::move(path);
  out.hidden = opened->hidden;
  co_return out;
}

Task<Status> FileOperations::commit(SessionRef session, Upload upload) {
  const wire::Request request = wire::CommitFile{session->keeper_id(), upload.path, upload.hidden};
  Result<wire::Done> done = expect<wire::Done>(co_await keeper_.call(request));
  if (!done) co_return file_error(std::move(done.error()));
  co_return ok();
}

void FileOperations::discard(const SessionRef& session, const Upload& upload) {
  keeper_.post(wire::RemoveFile{session->keeper_id(), upload.hidden});
}

Task<Status> FileOperations::remove(SessionRef session, std::string path) {
  const wire::Request request = wire::RemoveFile{session->keeper_id(), std::move(path)};
  Result<wire::Done> done = expect<wire::Done>(co_await keeper_.call(request));
  if (!done) co_return file_error(std::move(done.error()));
  co_return ok();
}

Task<Result<std::vector<FileEntry>>> FileOperations::list(SessionRef session, std::string path) {
  std::vector<FileEntry> all;
  std::string after;
  for (;;) {
    const wire::Request request = wire::ListFiles{session->keeper_id(), path, after};
    Result<wire::FilesListed> listed = expect<wire::FilesListed>(co_await keeper_.call(request));
    if (!listed) co_return file_error(std::move(listed.error()));
    if (!listed->entries.empty()) after = listed->entries.back().name;
    for (auto& entry : listed->entries) all.push_back(std::move(entry));
    if (!listed->more || listed->entries.empty()) co_return all;
    if (all.size() > kMaxEntries)
      co_return file_error(Error{Code::over_limit, "the directory is too big"});
  }
}

Task<Status> FileOperations::check_directory(SessionRef session, std::string path) {
  const wire::Request request = wire::ListFiles{session->keeper_id(), std::move(path), ""};
  Result<wire::FilesListed> first = expect<wire::FilesListed>(co_await keeper_.call(request));
  if (!first) co_return file_error(std::move(first.error()));
  co_return ok();
}

}  // namespace vitrine::service
