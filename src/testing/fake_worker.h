// SPDX-License-Identifier: Apache-2.0
// The worker's end of a session socket and of two output pipes: it hears what the front sends, and says
// what the test wants it to, sense or nonsense.
//
// Ownership: the test's. Threading: the test's; nothing here waits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "wire/control.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace vitrine::testing {

class FakeWorker {
 public:
  FakeWorker();

  // The front's ends, in the order in which the keeper hands them over; can be had once more, as after a
  // restart of the front.
  std::vector<Fd> descriptors() const;
  // What each of them is for.
  static wire::FdRoles roles();

  // All that the front has sent so far.
  const std::vector<wire::Message>& heard();
  std::size_t count(wire::Type type);
  // The code of the nth execution that it was told to run; nullopt before.
  std::optional<std::string> code(std::size_t nth);

  // Answers the last resume, or the one with this token.
  void ready(std::uint64_t last_execution);
  void ready(std::uint64_t last_execution, std::uint64_t token);
  void result(std::uint64_t execution, std::string_view text);
  void note(std::uint64_t execution, std::string_view text);
  void error(std::uint64_t execution, std::string_view name);
  void stack(std::uint64_t execution, std::string_view text);
  void ask_input(std::uint64_t execution, std::string_view prompt);
  void ask_packages(std::uint64_t execution, std::vector<std::string> packages);
  void painted(std::uint64_t execution);
  void finished(std::uint64_t execution, wire::Claim claim = wire::Claim::ok, int exit_code = 0);
  void print(std::string_view text);
  void print_error(std::string_view text);

  // A message as it is wanted, right or wrong. `replay` as after a resume.
  void say(wire::Type type, std::uint64_t execution, std::string_view payload,
           std::uint8_t flags = 0);
  // Bytes in place of frames.
  void say_nonsense(std::string_view bytes);
  // Frame numbers of this execution begin anew, as after `ready`.
  void count_anew() { sequence_.clear(); }
  // Closes its socket and pipes, as a process that dies does.
  void close();

 private:
  Fd socket_;
  Fd out_;
  Fd err_;
  Fd front_socket_;
  Fd front_out_;
  Fd front_err_;
  wire::Assembler assembler_{wire::Assembler::Direction::from_client};
  std::vector<wire::Message> heard_;
  std::map<std::uint64_t, std::uint32_t> sequence_;  // by execution
};

}  // namespace vitrine::testing
