// SPDX-License-Identifier: Apache-2.0
#include "service/packages.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "service/errors.h"

namespace vitrine::service {

using namespace boost::asio::experimental::awaitable_operators;
using provision::LivePackages;
using provision::PackageRequest;
using provision::Provided;
using provision::Provisioner;

namespace {

// WorkerFds of progress between the installation and the client that reads them.
struct Progress {
  explicit Progress(boost::asio::any_io_executor executor) : changes(std::move(executor)) {}
  std::vector<std::string> lines;
  bool over = false;
  session::Condition changes;
};

Task<bool> write_all(Client* to, std::shared_ptr<Progress> progress) {
  for (std::size_t at = 0;;) {
    while (at < progress->lines.size()) {
      std::string line = progress->lines[at++];
      const bool there = co_await to->progress(std::move(line));
      if (!there) co_return false;
    }
    if (progress->over) co_return true;
    co_await progress->changes.wait();
  }
}

Task<bool> left(Client* client) {
  co_await client->gone();
  co_return true;
}

}  // namespace

bool Packages::wants(const SessionRequest& request) const {
  return !request.packages.empty() ||
         (request.additional_imports && !provisioner_.config().imports.empty());
}

Task<Result<Provided>> Packages::while_there(Client& client, Provide provide) {
  auto progress = std::make_shared<Progress>(co_await boost::asio::this_coro::executor);
  const bool wanted = client.wants_progress();
  Provisioner::Progress tell = [progress, wanted](const std::string& text) {
    if (!wanted) return;
    progress->lines.push_back(text);
    progress->changes.notify_all();
  };
  const auto get = [](Provide from, Provisioner::Progress to,
                      std::shared_ptr<Progress> shown) -> Task<Result<Provided>> {
    Result<Provided> result = co_await from(std::move(to));
    shown->over = true;
    shown->changes.notify_all();
    co_return result;
  };
  auto first = co_await (
      (get(std::move(provide), std::move(tell), progress) && write_all(&client, progress)) ||
      left(&client));
  if (first.index() == 1) co_return client_left();
  auto both = std::move(std::get<0>(first));
  if (!std::get<1>(both)) co_return client_left();
  co_return std::move(std::get<0>(both));
}

Task<Status> Packages::prepare(SessionRequest& request, session::Prepared& prepared,
                               Client& client) {
  PackageRequest& wish = request.packages;
  if (request.additional_imports) provision::add_imports(provisioner_.config().imports, wish);
  if (wish.empty()) co_return ok();
  wish.environment = request.spec.environment;
  wish.owner = request.spec.owner;
  wish.time = request.spec.install_time;
  Result<Provided> provided = Provided{};
  if (request.patience) {
    provided = co_await provisioner_.provide_within(wish, *request.patience);
  } else {
    Provide provide = [this, wish](Provisioner::Progress progress) {
      return provisioner_.provide(wish, std::move(progress));
    };
    provided = co_await while_there(client, std::move(provide));
  }
  if (!provided) co_return std::move(provided.error());
  session::SessionSpec& spec = request.spec;
  spec.layers = provided->layers;
  spec.packages = provided->packages;
  spec.layer_first = provided->shadows;
  if (provided->shadows) spec.variant = Variant::bare;
  spec.imports = provided->modules;
  prepared.layer_hold = provided->hold;
  prepared.notes = provided->notes;
  co_return ok();
}

InstalledPackages Packages::view_of(const Provided& provided) {
  return {.layer = provided.layers.empty() ? "" : provided.layers.back(),
          .pins = provided.packages,
          .notes = provided.notes};
}

Task<Result<InstalledPackages>> Packages::install(PackageRequest wish, Client& client) {
  Provide provide = [this, wish](Provisioner::Progress progress) {
    return provisioner_.provide(wish, std::move(progress));
  };
  Result<Provided> provided = co_await while_there(client, std::move(provide));
  if (!provided) co_return std::move(provided.error());
  co_return view_of(*provided);
}

Task<Result<InstalledPackages>> Packages::add(SessionRef session, PackageRequest wish,
                                              Client& client) {
  const std::shared_ptr<session::Session> to = own(session);
  wish.time = to->spec().install_time;
  std::shared_ptr<LivePackages::Turn> turn;  // until the layers are mounted
  Provide provide = [this, to, wish, &turn](Provisioner::Progress progress) {
    return live_.provide_for(to, wish, std::move(progress), &turn);
  };
  Result<Provided> provided = co_await while_there(client, std::move(provide));
  if (!provided) co_return std::move(provided.error());
  if (provided->shadows && !to->spec().layer_first)
    co_return Error{.code = Code::conflict,
                    .message = "these packages need other versions than the session's image has",
                    .remedy = "create a session with them in `packages`"};
  if (!provided->layers.empty() && provided->layers != to->spec().layers) {
    Status added = co_await registry_.set_layers(to, provided->layers, provided->packages);
    if (!added) co_return explain_layers(provided->layers, std::move(added.error()));
  }
  co_return view_of(*provided);
}

Error Packages::explain_layers(const LayerList& layers, Error error) {
  return provisioner_.explain_layers(layers, std::move(error));
}

std::vector<LayerView> Packages::list() {
  const std::set<std::string> used = registry_.layers_in_use();
  std::vector<LayerView> all;
  for (const packages::Layer& layer : provisioner_.layers().list())
    all.push_back({layer, used.contains(layer.id)});
  return all;
}

Packages::Pruned Packages::prune(std::uint64_t keep) {
  const std::uint64_t before = bytes();
  const std::size_t removed = provisioner_.prune(keep);
  return {removed, before - bytes()};
}

}  // namespace vitrine::service
