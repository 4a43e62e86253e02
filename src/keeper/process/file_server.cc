// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/file_server.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "base/packet.h"
#include "keeper/process/files.h"
#include "seal/seal.h"
#include "wire/codec.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kSlice{
    20};                              // of a removal; then other sessions have their turn
constexpr std::uint32_t kNumber = 1;  // one request at a time: nothing to tell apart
constexpr int kSocket = 3;
constexpr int kNice = 5;  // executions come first

// What the verbs of keeper/process/files.h need.
constexpr int kCalls[] = {
    SCMP_SYS(openat),   SCMP_SYS(openat2),  SCMP_SYS(getdents64), SCMP_SYS(newfstatat),
    SCMP_SYS(mkdirat),  SCMP_SYS(unlinkat), SCMP_SYS(linkat),     SCMP_SYS(renameat),
    SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(geteuid),    SCMP_SYS(getegid),
    SCMP_SYS(fcntl),    SCMP_SYS(lseek),
};
constexpr seal::Limit kLimits[] = {{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, 0}};

struct Answer {
  FileReply reply;
  Fd file = {};
};

Answer refuse(Error error) { return {.reply = {.reply = std::move(error)}}; }

struct Verbs {
  Home home;
  int file;

  Answer operator()(const wire::OpenFile& r) const {
    Result<OpenedFile> opened = open_file(home, r.path);
    if (!opened) return refuse(std::move(opened.error()));
    return {.reply = {.reply = opened->about}, .file = std::move(opened->file)};
  }
  Answer operator()(const wire::NewFile& r) const {
    Result<Fd> made = new_file(home, r.path);
    if (!made) return refuse(std::move(made.error()));
    return {.reply = {.reply = wire::FileOpened{}}, .file = std::move(*made)};
  }
  Answer operator()(const wire::CommitFile& r) const {
    if (Status s = commit_file(home, r.path, file, r.hidden); !s)
      return refuse(std::move(s.error()));
    return {.reply = {.reply = wire::Done{}}};
  }
  Answer operator()(const wire::RemoveFile& r) const {
    Result<Removed> removed = remove_file(home, r.path, kSlice);
    if (!removed) return refuse(std::move(removed.error()));
    return {.reply = {.more = *removed == Removed::in_part, .reply = wire::Done{}}};
  }
  Answer operator()(const wire::ListFiles& r) const {
    Result<wire::FilesListed> listed = list_files(home, r.path, r.after);
    if (!listed) return refuse(std::move(listed.error()));
    return {.reply = {.reply = std::move(*listed)}};
  }
  template <class Other>
  Answer operator()(const Other&) const {
    return refuse(Error{Code::invalid_argument, "it is no file verb"});
  }
};

bool keep_one_descriptor(int socket) {
  const int high = ::fcntl(socket, F_DUPFD_CLOEXEC, kSocket + 1);
  return high >= 0 && ::dup2(high, kSocket) == kSocket &&
         ::syscall(SYS_close_range, kSocket + 1, ~0U, 0) == 0;
}

void restore_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// With the ids of a session it has the session's rights; without, none at all.
bool drop_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[2] = {};
  if (::geteuid() == 0) kept[0].permitted = kept[0].effective = 1U << CAP_SETUID | 1U << CAP_SETGID;
  return ::syscall(SYS_capset, &header, kept) == 0;
}

[[noreturn]] void serve(int socket) {
  while (true) {
    Result<Packet> packet = receive_packet(socket, kMaxFileRequest, 2);
    if (!packet || packet->fds.empty()) ::_exit(0);
    Result<FileRequest> request = decode_file_request(packet->bytes);
    if (!request) ::_exit(1);
    const Verbs verbs{.home = {packet->fds[0].get(), request->user},
                      .file = packet->fds.size() > 1 ? packet->fds[1].get() : -1};
    const Answer answer = std::visit(verbs, request->request);
    packet->fds.clear();  // before the keeper hears that nobody holds the home
    std::vector<int> fds;
    if (answer.file) fds.push_back(answer.file.get());
    if (!send_packet(socket, encode_file_reply(answer.reply), fds)) ::_exit(0);
  }
}

}  // namespace

std::string encode_file_request(const FileRequest& request) {
  wire::Writer out;
  out.u8(request.user ? 1 : 0).u32(request.user.value_or(0));
  return out.take() + wire::encode_request(kNumber, request.request);
}

Result<FileRequest> decode_file_request(std::string_view packet) {
  constexpr std::size_t kHeader = 5;
  if (packet.size() < kHeader) return Error{Code::invalid_argument, "a file request is too short"};
  wire::Reader in(packet.substr(0, kHeader));
  const bool has_user = in.u8() != 0;
  const std::uint32_t user = in.u32();
  Result<wire::NumberedRequest> request = wire::decode_request(packet.substr(kHeader));
  if (!request) return std::move(request.error());
  FileRequest out{.request = std::move(request->request)};
  if (has_user) out.user = user;
  return out;
}

std::string encode_file_reply(const FileReply& reply) {
  wire::Writer out;
  out.u8(reply.more ? 1 : 0);
  return out.take() + wire::encode_reply(kNumber, reply.reply);
}

Result<FileReply> decode_file_reply(std::string_view packet) {
  const Error malformed{Code::invalid_argument, "a file reply is malformed"};
  if (packet.empty() || static_cast<unsigned char>(packet[0]) > 1) return malformed;
  Result<wire::FromKeeper> reply = wire::decode_from_keeper(packet.substr(1));
  if (!reply) return std::move(reply.error());
  auto* numbered = std::get_if<wire::NumberedReply>(&*reply);
  if (numbered == nullptr || numbered->number != kNumber) return malformed;
  return FileReply{.more = packet[0] == 1, .reply = std::move(numbered->reply)};
}

void run_file_server(int socket) {
  ::prctl(PR_SET_NAME, "vitrine-files", 0, 0, 0);
  ::setsid();
  restore_signals();
  // The kernel forgets this one with the first session's ids; from then on the end of the socket counts.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  if (!keep_one_descriptor(socket) || !drop_privileges()) ::_exit(125);
  if (!seal::apply({.calls = kCalls, .limits = kLimits})) ::_exit(125);
  serve(kSocket);
}

}  // namespace vitrine::keeper
