// SPDX-License-Identifier: Apache-2.0
#include "provision/live_packages.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "backend/spawn.h"

namespace vitrine::provision {

using namespace boost::asio::experimental::awaitable_operators;

class LivePackages::Turn {
 public:
  Turn(std::shared_ptr<Live> live, std::string session)
      : live_(std::move(live)), session_(std::move(session)) {}
  ~Turn() {
    live_->adding.erase(session_);
    if (!live_->orphaned) live_->changes.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::shared_ptr<Live> live_;
  std::string session_;
};

Task<Result<Provided>> LivePackages::provide_for(std::shared_ptr<session::Session> session,
                                                 PackageRequest wish,
                                                 Provisioner::Progress progress,
                                                 std::shared_ptr<Turn>* turn) {
  const std::shared_ptr<Live> live = live_;
  while (live->adding.contains(session->id)) co_await live->changes.wait();
  live->adding.insert(session->id);
  *turn = std::make_shared<Turn>(live, session->id);
  wish.layers = session->spec().layers;
  wish.environment = session->spec().environment;
  wish.owner = session->spec().owner;
  co_return co_await provisioner_.provide(std::move(wish), std::move(progress));
}

Task<std::optional<Result<Provided>>> LivePackages::provided_while_asked(
    std::shared_ptr<session::Session> session, std::shared_ptr<session::Execution> execution,
    std::shared_ptr<Asked> asked, PackageRequest wish, std::shared_ptr<Turn>* turn) {
  const auto ended = [](std::shared_ptr<session::Execution> it) -> Task<bool> {
    co_await it->finished();
    co_return true;
  };
  const auto replaced = [](std::shared_ptr<Asked> it) -> Task<bool> {
    while (!it->newest) co_await it->changes.wait();
    co_return true;
  };
  Provisioner::Progress progress = [execution](const std::string& text) {
    execution->add_progress(text);
  };
  auto first = co_await (provide_for(session, std::move(wish), std::move(progress), turn) ||
                         ended(execution) || replaced(asked));
  if (first.index() != 0 || execution->is_finished()) co_return std::nullopt;
  co_return std::move(std::get<0>(first));
}

Task<void> LivePackages::serve(session::PackageQuestions& questions) {
  for (;;) {
    session::PackageQuestion question = co_await questions.next();
    spawn(executor_, answer(question.session, question.execution, std::move(question.packages)),
          "packages on demand");
  }
}

Task<void> LivePackages::answer(std::shared_ptr<session::Session> session,
                                std::shared_ptr<session::Execution> execution,
                                std::vector<std::string> packages) {
  const std::shared_ptr<Live> live = live_;
  if (const auto found = live->questions.find(execution); found != live->questions.end()) {
    found->second->newest = std::move(packages);
    found->second->changes.notify_all();
    co_return;
  }
  struct Question {
    std::shared_ptr<Live> live;
    std::shared_ptr<session::Execution> of;
    std::shared_ptr<session::Session> session;
    ~Question() {
      live->questions.erase(of);
      if (!live->orphaned) session->end_installing(*of);
    }
  } question{live, execution, session};
  session->begin_installing(*execution);
  const auto asked = std::make_shared<Asked>(executor_);
  live->questions[execution] = asked;
  asked->newest = std::move(packages);
  while (asked->newest && !execution->is_finished()) {
    PackageRequest wish{.packages = std::move(*asked->newest)};
    asked->newest.reset();
    wish.allow_sdist = session->spec().allow_sdist;  // its client's word, not its code's
    // All installations of an execution together, or code that requests one after another would run
    // for ever.
    wish.time = std::chrono::duration_cast<std::chrono::milliseconds>(session->spec().install_time -
                                                                      execution->time_installing());
    std::shared_ptr<Turn> turn;
    std::optional<Result<Provided>> answered =
        co_await provided_while_asked(session, execution, asked, std::move(wish), &turn);
    if (!answered) continue;
    Result<Provided> provided = std::move(*answered);
    if (provided && provided->shadows && !session->spec().layer_first)
      provided = package_error("conflict", "these packages need other versions than the image has",
                               "create a session with them in `packages`");
    if (provided && !provided->layers.empty() && provided->layers != session->spec().layers) {
      Status added = co_await registry_.set_layers(session, provided->layers, provided->packages);
      if (!added) {
        const Error why = provisioner_.explain_layers(provided->layers, std::move(added.error()));
        provided = package_error("install_failed", why.message, "try again");
      }
    }
    if (asked->newest) continue;  // nobody waits for this one
    wire::PackageReply reply;
    if (!provided) {
      const Error& why = provided.error();
      reply = {.code = why.reason, .detail = why.message, .remedy = why.remedy};
    } else {
      reply.added = provided->added;
    }
    session->end_installing(*execution);
    session->answer_packages(*execution, reply);
  }
}

}  // namespace vitrine::provision
