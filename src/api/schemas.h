// SPDX-License-Identifier: Apache-2.0
// The tables of the API: one Schema per JSON body, and which route takes and answers which.
#pragma once

#include <span>

#include "api/router.h"
#include "api/schema.h"

namespace vitrine::api {

// Requests.
extern const Schema kLimits, kDisplay, kNetwork, kPackages, kSession, kCapture, kExec, kReset,
    kRecording, kPrune, kInputEvent, kInput;
// The fields of kSession, kPackages and kExec in one object: /v1/run.
extern const Schema kRun;

// Answers.
extern const Schema kSessionView, kSessionPage, kExecution, kExecutionPage, kStack, kRecordingView,
    kRecordingList, kRecordAnswer, kStoredFile, kFileListing, kLayers, kProvided, kPruned, kWindows,
    kInfo, kProblem;

struct Operation {
  http::verb method{};
  std::string_view pattern;
  const Schema* body = nullptr;  // null = it has none, or one that is no JSON
  unsigned status = 200;         // of success
  const Schema* answer = nullptr;
  std::string_view content = "application/json";  // "" = no body
};
// A row for each status and media type of each route. The routes of other protocols are in
// protocols_schema.cc.
std::span<const Operation> operations();
std::span<const Operation> operations_of_protocols();
// All schemas that operations() names, and those that they name.
std::span<const Schema* const> all_schemas();

}  // namespace vitrine::api
