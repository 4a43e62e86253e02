// SPDX-License-Identifier: Apache-2.0
#include "provision/provisioner.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <set>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "base/sha256.h"
#include "packages/requirements.h"
#include "provision/layer_plan.h"

namespace vitrine::provision {

namespace {

constexpr std::size_t kMostAtOnce = 2;  // installations; each may fill its disk limit

}  // namespace

void add_imports(const std::vector<std::string>& names, PackageRequest& wish) {
  for (const std::string& name : names)
    (packages::is_module_name(name) ? wish.imports : wish.packages).push_back(name);
}

Provisioner::Provisioner(asio::any_io_executor executor, session::Registry& registry,
                         session::Accounts& accounts, backend::KeeperLink& keeper,
                         packages::Config config, packages::Layers layers)
    : executor_(executor),
      registry_(registry),
      accounts_(accounts),
      config_(std::move(config)),
      layers_(std::move(layers)),
      index_(executor, keeper, config_),
      inventories_(executor, registry, config_, index_),
      installer_(registry, keeper, config_, layers_, inventories_),
      turns_(kMostAtOnce),
      changed_(executor) {}

Provisioner::~Provisioner() {
  for (auto& [key, pending] : pending_) pending->orphaned = true;
}

Error Provisioner::explain_layers(const LayerList& layers, Error error) {
  if (error.reason != "layer_missing") return error;
  error.reason.clear();
  std::size_t lost = 0;
  for (const std::string& layer : layers) lost += layers_.forget_lost(layer) ? 1 : 0;
  if (lost == 0) return error;
  return Error{.code = Code::unavailable,
               .message = "the session's packages were removed from the server's disk",
               .remedy = "try again: they are then installed again"};
}

Task<Result<Provided>> Provisioner::provide_within(PackageRequest wish,
                                                   std::chrono::milliseconds patience) {
  struct Shared {
    explicit Shared(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::optional<Result<Provided>> provided;
    session::Condition changes;
  };
  auto shared = std::make_shared<Shared>(executor_);
  spawn(
      executor_,
      [](Provisioner* self, std::shared_ptr<Shared> to, PackageRequest what) -> Task<void> {
        Result<Provided> got = co_await self->provide(std::move(what), {});
        to->provided = std::move(got);
        to->changes.notify_all();
      }(this, shared, std::move(wish)),
      "packages in time");
  const auto latest = Clock::now() + patience;
  while (!shared->provided && Clock::now() < latest) co_await shared->changes.wait(latest);
  if (!shared->provided)
    co_return Error{.code = Code::unavailable,
                    .message = "the packages are still being installed",
                    .remedy = "try again: the installation continues"};
  co_return std::move(*shared->provided);
}

std::size_t Provisioner::prune(std::uint64_t budget) {
  return layers_.prune(budget, registry_.layers_in_use());
}

// Names to requirements; the error if one of them is none.
Task<Status> Provisioner::read_names(const PackageRequest& wish, Provided& out,
                                     std::vector<std::string>& requirements) {
  if (wish.packages.size() > packages::kMaxRequirements ||
      wish.imports.size() > packages::kMaxRequirements)
    co_return package_error("too_many_packages", "more than 100 are named at once", "name fewer");
  std::map<std::string, std::string> wanted;  // text -> name
  for (const std::string& text : wish.packages) {
    Result<packages::Requirement> parsed = packages::parse_requirement(text);
    if (!parsed)
      co_return package_error("invalid_requirement", parsed.error().message, parsed.error().remedy);
    wanted[parsed->text()] = parsed->name;
  }
  for (const std::string& name : wish.imports)
    if (!packages::is_module_name(name))
      co_return package_error("invalid_import",
                              packages::quoted(name) + " is not the name of a module",
                              "name modules as in `import`: matplotlib.pyplot, cv2");
  Status learned = co_await inventories_.learn(wish.environment);
  if (!learned) co_return std::move(learned.error());
  const packages::Inventory& inventory = inventories_.of(wish.environment);
  std::set<std::string> in_image;
  for (const auto& [module, package] : inventory.image)
    in_image.insert(packages::normalised(package));
  for (const std::string& name : wish.imports) {
    packages::Import import = packages::resolve_import(name, inventory);
    if (import.meaning == packages::Meaning::unknown) {
      std::string remedy =
          import.suggestions.empty()
              ? "check its spelling"
              : "did you mean " + boost::algorithm::join(import.suggestions, ", ") + "?";
      remedy += "; a package whose name you are sure of goes into `packages`";
      co_return package_error("unknown_module", "no module " + packages::quoted(name) + " is known",
                              remedy);
    }
    if (import.meaning == packages::Meaning::corrected)
      out.notes.push_back(name + " -> " + import.module);
    if (import.meaning == packages::Meaning::package) wanted[import.package] = import.package;
    out.modules.push_back(import.module);
  }
  for (const auto& [text, name] : wanted) {
    if (text == name && in_image.contains(name)) continue;  // any version will do
    if (auto refusal = forbidden(config_, name)) co_return std::move(*refusal);
    requirements.push_back(text);
  }
  co_return ok();
}

std::string Provisioner::request_key(const std::vector<std::string>& requirements,
                                     const PackageRequest& wish) const {
  std::string index_for;
  for (const auto& [name, url] : config_.index_for) index_for += name + "=" + url + " ";
  std::string text = inventories_.python() + "\n" + config_.index_url + "\n" +
                     boost::algorithm::join(config_.extra_index_urls, " ") + "\n" + index_for +
                     "\n" + (wish.allow_sdist ? "sdist" : "wheels") + "\n" +
                     boost::algorithm::join(wish.layers, " ") + "\n" + wish.environment + "\n";
  for (const std::string& one : requirements) text += one + "\n";
  return sha256_hex(text);
}

std::optional<LayerList> Provisioner::recall(const std::vector<std::string>& requirements,
                                             const PackageRequest& wish,
                                             const std::string& key) const {
  if (std::optional<packages::Answer> known = layers_.recall(key, packages::kRemembered))
    return known->layers;
  if (wish.layers.empty()) return std::nullopt;
  PackageRequest alone = wish;
  alone.layers.clear();
  const std::optional<packages::Answer> known =
      layers_.recall(request_key(requirements, alone), packages::kRemembered);
  if (!known) return std::nullopt;
  return joined(layers_.find_all(wish.layers), layers_.find_all(known->layers));
}

// Of a session with as many layers as one mount takes, all are merged into the new one.
InstallJob Provisioner::job_of(std::vector<std::string> requirements, const PackageRequest& wish,
                               std::string key) const {
  InstallJob job{.requirements = std::move(requirements),
                 .pins = layers_.pins_of(wish.layers),
                 .allow_sdist = wish.allow_sdist,
                 .wish = std::move(key),
                 .environment = wish.environment};
  if (wish.layers.size() < kMaxLayers) {
    job.layers = wish.layers;
    for (const packages::Layer& layer : layers_.find_all(wish.layers))
      if (layer.sdist) job.built.insert(job.built.end(), layer.pins.begin(), layer.pins.end());
  } else {
    job.requirements.insert(job.requirements.end(), job.pins.begin(), job.pins.end());
  }
  return job;
}

Task<Result<Provided>> Provisioner::provide(PackageRequest wish, Progress progress) {
  Provided out;
  std::vector<std::string> requirements;
  Status read = co_await read_names(wish, out, requirements);
  if (!read) co_return std::move(read.error());
  out.layers = wish.layers;
  out.packages = layers_.pins_of(wish.layers);
  const std::vector<std::string> had = out.packages;
  if (requirements.empty()) co_return out;
  if (!config_.on)
    co_return package_error("packages_off", "this server installs no packages",
                            "do without " + requirements.front() +
                                "; the image holds numpy, pandas, scipy, matplotlib and more");
  if (wish.allow_sdist && !config_.sdist)
    co_return package_error("sdist_off", "this server builds no source distributions",
                            "leave allow_sdist out, and request versions that have wheels");
  const std::string key = request_key(requirements, wish);
  const std::optional<LayerList> known = recall(requirements, wish, key);
  if (!known) {
    const auto found = pending_.find(key);
    std::shared_ptr<PendingInstall> pending = found == pending_.end() ? nullptr : found->second;
    const std::vector<packages::Layer> has = layers_.find_all(wish.layers);
    const bool built = std::ranges::any_of(has, [](const auto& layer) { return layer.sdist; });
    if (has.size() >= kMaxLayers && built && !wish.allow_sdist)
      co_return package_error("only_sdist",
                              "packages of this session were built from source, and merging its " +
                                  std::to_string(kMaxLayers) + " layers builds them again",
                              "let the client add it, with allow_sdist: true");
    if (!pending || pending->installation->abandoned) {
      if (auto refusal = accounts_.refuses_installation(wish.owner)) co_return std::move(*refusal);
      pending = std::make_shared<PendingInstall>();
      pending->installation = std::make_shared<InstallSession>(
          executor_, registry_, config_, index_, job_of(requirements, wish, key));
      pending->base = layers_.hold(wish.layers);
      pending->owner = wish.owner;
      pending_[key] = pending;
      accounts_.installation_begins(pending->owner);
      pending->turn = turns_.ask(pending->owner);
      spawn(
          executor_,
          [](Provisioner* self, std::string of, std::shared_ptr<PendingInstall> it) -> Task<void> {
            co_await self->run_install(std::move(of), std::move(it));
          }(this, key, pending),
          "installation");
    }
    ++pending->waiting;
    pending->turn.join(wish.owner);
    // When the last one who waits is gone, so is the reason to go on.
    struct Waiting {
      std::shared_ptr<PendingInstall> pending;
      Provisioner* self;
      ~Waiting() {
        if (--pending->waiting > 0 || pending->result || pending->orphaned) return;
        pending->installation->abandoned = true;
        self->changed_.notify_all();  // it may still queue
        spawn(
            self->executor_,
            [](std::shared_ptr<InstallSession> it) -> Task<void> {
              co_await it->close();
            }(pending->installation),
            "end of an installation");
      }
    } waiting{pending, this};
    std::shared_ptr<PendingInstall> mine = pending;
    const auto latest = wish.time ? Clock::now() + *wish.time : Clock::time_point::max();
    std::size_t told = 0;
    while (!mine->result) {
      const std::vector<std::string>& said = mine->installation->progress;
      for (; told < said.size(); ++told)
        if (progress) progress(said[told]);
      if (mine->result) break;
      if (Clock::now() >= latest)
        co_return package_error(
            "install_timeout",
            "the installation took longer than the session's install_timeout_s allows",
            "set limits.install_timeout_s higher when the session is created, or install the "
            "packages before it with POST /v1/packages",
            Code::unavailable);
      co_await mine->installation->changes.wait(latest);
    }
    const Result<Provided>& done = *mine->result;
    if (!done) co_return done.error();
    out.layers = done->layers;
    out.hold = done->hold;
  } else {
    // The operator's lists may have changed since it was made.
    for (const std::string& pin : layers_.pins_of(*known))
      if (auto refusal = forbidden(config_, pin_of(pin).name)) co_return std::move(*refusal);
    out.layers = *known;
  }
  out.hold = layers_.hold(out.layers);
  out.packages = layers_.pins_of(out.layers);
  for (const std::string& pin : out.packages)
    if (std::ranges::find(had, pin) == had.end()) out.added.push_back(pin);
  for (const packages::Layer& layer : layers_.find_all(out.layers)) {
    layers_.touch(layer.id);
    out.shadows = out.shadows || layer.shadows;
  }
  if (out.shadows)
    out.notes.push_back(
        "these packages need other versions than the image has; the session starts "
        "with nothing imported, and these come first on sys.path: " +
        boost::algorithm::join(out.packages, ", "));
  co_return out;
}

Task<void> Provisioner::run_install(std::string key, std::shared_ptr<PendingInstall> pending) {
  const std::shared_ptr<InstallSession> installation = pending->installation;
  while (!pending->turn.is_called() && !installation->abandoned) co_await changed_.wait();
  installation->latest = Clock::now() + config_.time;  // queueing does not count
  Result<Provided> result = Provided{};
  try {
    result = co_await installer_.install(installation);
  } catch (const std::exception& error) {
    result = explain("", error.what());
  }
  co_await installation->close();
  installation->leave();
  pending->turn.leave();
  accounts_.installation_ends(pending->owner);
  changed_.notify_all();
  if (result) {
    layers_.remember(key, {.layers = result->layers});
  }
  pending->result = std::move(result);
  if (const auto found = pending_.find(key); found != pending_.end() && found->second == pending)
    pending_.erase(found);
  installation->changes.notify_all();
}

}  // namespace vitrine::provision
