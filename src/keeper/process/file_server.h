// SPDX-License-Identifier: Apache-2.0
// Inside a file server: the process that does the file verbs of sessions (keeper/process/files.h) for the
// keeper, one request at a time.
//
// Descriptors of a request: the home, then, of CommitFile, the file. Of a reply: the file that was opened.
// Privileges: of root's it keeps the right to take on a session's file ids, and nothing else; a system call
//             filter leaves it what the verbs need (seal/seal.h).
// Lifetime:   until the keeper closes the socket.
// Trust:      the server trusts the keeper. The keeper decodes replies as it decodes any peer's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/control.h"

namespace vitrine::keeper {

struct FileRequest {
  std::optional<uid_t> user = {};  // none = the keeper's own
  wire::Request request;           // one of the file verbs; its session is not looked at
};
struct FileReply {
  bool more = false;  // a removal is done in part: send the request again; `reply` says nothing
  wire::Reply reply;
};
inline constexpr std::size_t kMaxFileRequest = wire::kMaxControl + 16;
inline constexpr std::size_t kMaxFileReply = wire::kMaxControl + 16;

std::string encode_file_request(const FileRequest& request);
Result<FileRequest> decode_file_request(std::string_view packet);
std::string encode_file_reply(const FileReply& reply);
Result<FileReply> decode_file_reply(std::string_view packet);

// What a forked child of the keeper becomes. Fails closed: a step that cannot be done ends it.
[[noreturn]] void run_file_server(int socket);

}  // namespace vitrine::keeper
