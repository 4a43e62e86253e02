// SPDX-License-Identifier: Apache-2.0
// What happens in sessions, for those who keep account of it: history, metrics, log.
//
// Ownership: whoever is told of events is built first and given to the constructors of sessions and
//            recordings; it outlives them.
// Threading: the front's one thread. An observer neither blocks nor throws, and does nothing to the
//            session that it is told of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/network.h"

namespace vitrine::session {

class Execution;
struct Pictured;
struct Recording;

// Every method has an empty default: an observer names the events that it is interested in.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;

  // Before its code is sent to the worker.
  virtual void begun(Execution& /*execution*/) {}
  // Its record is complete; whoever waits for it continues afterwards.
  virtual void ended(Execution& /*execution*/) {}
  // Session code asked the network proxy for a connection.
  virtual void network_decided(const std::string& /*session*/, const NetworkEntry& /*entry*/) {}
  // A screenshot was taken, or could not be.
  virtual void screenshot_taken(const Pictured& /*picture*/) {}
  // The session has lost its X server; `why` is empty if it was reset.
  virtual void display_ended(const std::string& /*session*/, const std::string& /*why*/) {}
  // A recording began, or has ended; its file has so many bytes.
  virtual void recording_changed(const Recording& /*recording*/, std::uint64_t /*bytes*/) {}
};

// Tells several observers, in the order given.
class Observers final : public ExecutionObserver {
 public:
  explicit Observers(std::vector<ExecutionObserver*> all) : all_(std::move(all)) {}

  void begun(Execution& execution) override {
    for (ExecutionObserver* one : all_) one->begun(execution);
  }
  void ended(Execution& execution) override {
    for (ExecutionObserver* one : all_) one->ended(execution);
  }
  void network_decided(const std::string& session, const NetworkEntry& entry) override {
    for (ExecutionObserver* one : all_) one->network_decided(session, entry);
  }
  void screenshot_taken(const Pictured& picture) override {
    for (ExecutionObserver* one : all_) one->screenshot_taken(picture);
  }
  void display_ended(const std::string& session, const std::string& why) override {
    for (ExecutionObserver* one : all_) one->display_ended(session, why);
  }
  void recording_changed(const Recording& recording, std::uint64_t bytes) override {
    for (ExecutionObserver* one : all_) one->recording_changed(recording, bytes);
  }

 private:
  std::vector<ExecutionObserver*> all_;
};

}  // namespace vitrine::session
