// SPDX-License-Identifier: Apache-2.0
// Packages as HTTP shows them: the fields of a request, progress as NDJSON, troubles as problems, and
// the routes below /v1/packages.
#pragma once

#include "api/problem.h"
#include "api/router.h"
#include "provision/live_packages.h"

namespace vitrine::api {

provision::PackageWish wish_of(const session::SessionSpec& spec);
Problem problem_of(const provision::PackageTrouble& trouble);

// An answer that may begin as a stream of progress before it is known what it will be.
class Streamed {
 public:
  explicit Streamed(Exchange& exchange)
      : exchange_(exchange),
        wanted_(exchange.header("Accept").find("application/x-ndjson") != std::string::npos) {}
  bool wanted() const { return wanted_; }
  bool begun() const { return begun_; }
  Task<bool> write(std::string line);
  Task<void> begin();
  // The problem as an answer, or as the last line of what has begun.
  Task<void> fail(Problem problem);

 private:
  Exchange& exchange_;
  bool wanted_;
  bool begun_ = false;
};

// Gets what the spec asks for and puts it there. False after it has answered, or the client has left.
Task<bool> provide(Exchange& exchange, Streamed& streamed, provision::Provisioner* provisioner,
                   session::SessionSpec& spec);

void add_package_routes(Router& router, session::Registry& registry,
                        provision::Provisioner& packages, provision::LivePackages& live);

}  // namespace vitrine::api
