// SPDX-License-Identifier: Apache-2.0
#include "keeper/file_requests.h"

#include <utility>

#include "keeper/hidden_name.h"

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxUploads = 512;  // of one connection, at once

}  // namespace

void FileRequests::answer(std::uint64_t connection, std::uint32_t number, const Error& error) {
  replies_.answer(connection, number, wire::Reply(error));
}

SandboxFiles* FileRequests::files(std::uint64_t connection, std::uint32_t number,
                                  std::uint64_t session) {
  Result<SandboxFiles*> found = sessions_.files(session);
  if (found) return *found;
  answer(connection, number, found.error());
  return nullptr;
}

Done FileRequests::done(std::uint64_t connection, std::uint32_t number) {
  return [this, connection, number](const Status& status) {
    replies_.answer(connection, number,
                    status ? wire::Reply(wire::Done{}) : wire::Reply(status.error()));
  };
}

void FileRequests::list(std::uint64_t connection, std::uint32_t number,
                        const wire::ListFiles& request) {
  SandboxFiles* here = files(connection, number, request.session);
  if (here == nullptr) return;
  here->list(request.path, request.after,
             [this, connection, number](Result<wire::FilesListed> listed) {
               if (!listed) return answer(connection, number, listed.error());
               replies_.answer(connection, number, wire::Reply(std::move(*listed)));
             });
}

void FileRequests::open(std::uint64_t connection, std::uint32_t number,
                        const wire::OpenFile& request) {
  SandboxFiles* here = files(connection, number, request.session);
  if (here == nullptr) return;
  here->open(request.path, [this, connection, number](Result<OpenedFile> opened) {
    if (!opened) return answer(connection, number, opened.error());
    replies_.answer_with(connection, number, opened->about, opened->file.get());
  });
}

void FileRequests::create(std::uint64_t connection, std::uint32_t number,
                          const wire::NewFile& request) {
  SandboxFiles* here = files(connection, number, request.session);
  if (here == nullptr) return;
  Connection& sender = connections_[connection];
  if (sender.uploads.size() + sender.creating >= kMaxUploads)
    return answer(connection, number,
                  Error{.code = Code::unavailable,
                        .message = "too many files are being sent at once",
                        .remedy = "try again when some of them have arrived"});
  ++sender.creating;
  here->create(request.path,
               [this, connection, number, session = request.session](Result<Fd> file) {
                 created(connection, number, session, std::move(file));
               });
}

void FileRequests::created(std::uint64_t connection, std::uint32_t number, std::uint64_t session,
                           Result<Fd> file) {
  const auto sender = connections_.find(connection);
  if (sender == connections_.end()) return;  // it left; so does the file
  --sender->second.creating;
  if (!file) return answer(connection, number, file.error());
  const wire::FileOpened about{.hidden = hidden_name()};
  const int fd = file->get();
  sender->second.uploads[about.hidden] = {.session = session, .file = std::move(*file)};
  replies_.answer_with(connection, number, about, fd);
}

void FileRequests::commit(std::uint64_t connection, std::uint32_t number,
                          const wire::CommitFile& request) {
  auto upload = connections_[connection].uploads.extract(request.hidden);
  if (!upload || upload.mapped().session != request.session)
    return answer(connection, number, Error{Code::invalid_argument, "there is no such upload"});
  SandboxFiles* here = files(connection, number, request.session);
  if (here == nullptr) return;
  here->commit(request.path, std::move(upload.mapped().file), done(connection, number));
}

void FileRequests::remove(std::uint64_t connection, std::uint32_t number,
                          const wire::RemoveFile& request) {
  auto& uploads = connections_[connection].uploads;
  const auto found = uploads.find(request.path);
  if (found != uploads.end() && found->second.session == request.session) {
    uploads.erase(found);
    return done(connection, number)(ok());
  }
  SandboxFiles* here = files(connection, number, request.session);
  if (here != nullptr) here->remove(request.path, done(connection, number));
}

}  // namespace vitrine::keeper
