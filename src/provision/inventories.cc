// SPDX-License-Identifier: Apache-2.0
#include "provision/inventories.h"

#include "backend/clock.h"
#include "backend/spawn.h"

namespace vitrine::provision {

namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kTime{30};

}  // namespace

packages::Inventory read_inventory(const json::object& said) {
  packages::Inventory inventory;
  if (const json::value* list = said.if_contains("standard"); list && list->is_array())
    for (const json::value& one : list->as_array())
      if (one.is_string()) inventory.standard.emplace(one.as_string());
  if (const json::value* map = said.if_contains("modules"); map && map->is_object())
    for (const auto& [module, package] : map->as_object())
      if (package.is_string()) inventory.image.emplace(module, package.as_string());
  return inventory;
}

Task<Status> Inventories::learn(std::string environment) {
  if (known_.contains(environment)) co_return ok();
  const auto found = asked_.find(environment);
  std::shared_ptr<Question> question = found == asked_.end() ? nullptr : found->second;
  if (!question) {
    InstallJob order;
    order.environment = environment;
    auto installation =
        std::make_shared<InstallSession>(executor_, registry_, config_, index_, std::move(order));
    installation->latest = Clock::now() + kTime;
    question = std::make_shared<Question>(executor_, std::move(installation));
    asked_[environment] = question;
    // Detached, as an installation is: who asked may leave, and the session must end.
    spawn(executor_, ask(question), "inventory");
  }
  while (!question->answered) co_await question->changes.wait();
  co_return question->done;
}

Task<void> Inventories::ask(std::shared_ptr<Question> question) {
  InstallSession& installation = *question->installation;
  Status done = co_await installation.open(InstallSession::Way::none);
  if (done) {
    json::object job = installation.job("inventory");
    Result<json::object> said = co_await installation.ask(std::move(job));
    co_await installation.close();
    if (said) {
      python_ = text_of(*said, "python");
      index_.set_default(text_of(*said, "index"));
      known_[installation.order.environment] = read_inventory(*said);
    } else {
      done = std::move(said.error());
    }
  }
  asked_.erase(installation.order.environment);
  question->done = std::move(done);
  question->answered = true;
  question->changes.notify_all();
}

}  // namespace vitrine::provision
