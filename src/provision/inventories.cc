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

Task<std::optional<PackageTrouble>> Inventories::learn(std::string environment) {
  if (known_.contains(environment)) co_return std::nullopt;
  const auto found = asked_.find(environment);
  std::shared_ptr<Question> question = found == asked_.end() ? nullptr : found->second;
  if (!question) {
    WorkOrder order;
    order.environment = environment;
    auto workshop =
        std::make_shared<Workshop>(executor_, registry_, config_, index_, std::move(order));
    workshop->latest = Clock::now() + kTime;
    question = std::make_shared<Question>(executor_, std::move(workshop));
    asked_[environment] = question;
    // Detached, as an installation is: who asked may leave, and the session must end.
    spawn(executor_, ask(question), "inventory");
  }
  while (!question->answered) co_await question->changes.wait();
  co_return question->trouble;
}

Task<void> Inventories::ask(std::shared_ptr<Question> question) {
  Workshop& workshop = *question->workshop;
  std::optional<PackageTrouble> trouble = co_await workshop.open(Workshop::Way::none);
  if (!trouble) {
    json::object job = workshop.job("inventory");
    Workshop::Said said = co_await workshop.ask(std::move(job));
    co_await workshop.close();
    trouble = std::move(said.trouble);
    if (!trouble) {
      python_ = text_of(said.done, "python");
      index_.set_default(text_of(said.done, "index"));
      known_[workshop.order.environment] = read_inventory(said.done);
    }
  }
  asked_.erase(workshop.order.environment);
  question->trouble = std::move(trouble);
  question->answered = true;
  question->changes.tell();
}

}  // namespace vitrine::provision
