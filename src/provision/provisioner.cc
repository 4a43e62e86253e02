// SPDX-License-Identifier: Apache-2.0
#include "provision/provisioner.h"

#include <boost/algorithm/string/join.hpp>
#include <set>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "base/sha256.h"
#include "packages/requirements.h"

namespace vitrine::provision {

namespace {

constexpr std::size_t kMostAtOnce = 2;  // installations; each may fill its disk limit

}  // namespace

void add_imports(const std::vector<std::string>& names, session::SessionSpec& spec) {
  for (const std::string& name : names)
    (packages::is_module_name(name) ? spec.imports : spec.packages).push_back(name);
}

Provisioner::Provisioner(asio::any_io_executor executor, session::Registry& registry,
                         packages::Config config, packages::Layers layers)
    : executor_(executor),
      registry_(registry),
      config_(std::move(config)),
      layers_(std::move(layers)),
      index_(executor, config_),
      inventories_(executor, registry, config_, index_),
      installer_(registry, config_, layers_, inventories_),
      turns_(kMostAtOnce),
      landed_(executor) {}

Provisioner::~Provisioner() {
  for (auto& [key, flight] : flights_) flight->orphaned = true;
}

void Provisioner::apply(const Provided& provided, session::SessionSpec& spec) {
  spec.layer = provided.layer;
  spec.layer_first = provided.shadows;
  spec.layer_hold = provided.hold;
  spec.provided = true;
  if (provided.shadows) spec.variant = Variant::bare;
  spec.package_notes = provided.notes;
  spec.imports = provided.modules;
}

Task<Status> Provisioner::provide_in_time(session::SessionSpec* spec,
                                          std::chrono::milliseconds patience) {
  struct Shared {
    explicit Shared(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::optional<Provided> provided;
    session::Changes changes;
  };
  auto shared = std::make_shared<Shared>(executor_);
  if (spec->additional) add_imports(config_.imports, *spec);
  PackageWish wish;
  wish.packages = spec->packages;
  wish.imports = spec->imports;
  if (wish.empty()) co_return ok();
  wish.allow_sdist = spec->allow_sdist;
  wish.environment = spec->environment;
  wish.owner = spec->owner;
  spawn(
      executor_,
      [](Provisioner* self, std::shared_ptr<Shared> to, PackageWish what) -> Task<void> {
        Provided got = co_await self->provide(std::move(what), {});
        to->provided = std::move(got);
        to->changes.tell();
      }(this, shared, std::move(wish)),
      "packages in time");
  const auto latest = Clock::now() + patience;
  while (!shared->provided && Clock::now() < latest) co_await shared->changes.wait(latest);
  if (!shared->provided)
    co_return Error{.code = Code::unavailable,
                    .message = "the packages are still being installed",
                    .remedy = "try again: the installation goes on meanwhile"};
  if (const auto& why = shared->provided->trouble)
    co_return Error{.code = why->status >= 500 ? Code::unavailable : Code::invalid_argument,
                    .message = why->code + ": " + why->detail,
                    .remedy = why->remedy};
  apply(*shared->provided, *spec);
  co_return ok();
}

std::size_t Provisioner::prune(std::uint64_t budget) {
  return layers_.prune(budget, registry_.layers_in_use());
}

// Names to requirements; the trouble if one of them is none.
Task<std::optional<PackageTrouble>> Provisioner::read_names(
    const PackageWish& wish, Provided& out, std::vector<std::string>& requirements) {
  if (wish.packages.size() > packages::kMaxRequirements ||
      wish.imports.size() > packages::kMaxRequirements)
    co_return trouble("too_many_packages", "more than 100 are named at once", "name fewer");
  std::map<std::string, std::string> wanted;  // text -> name
  for (const std::string& text : wish.packages) {
    Result<packages::Requirement> parsed = packages::parse_requirement(text);
    if (!parsed)
      co_return trouble("invalid_requirement", parsed.error().message, parsed.error().remedy);
    wanted[parsed->text()] = parsed->name;
  }
  for (const std::string& name : wish.imports)
    if (!packages::is_module_name(name))
      co_return trouble("invalid_import", packages::quoted(name) + " is not the name of a module",
                        "name modules as in `import`: matplotlib.pyplot, cv2");
  std::optional<PackageTrouble> unknown = co_await inventories_.learn(wish.environment);
  if (unknown) co_return unknown;
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
      co_return trouble("unknown_module", "no module " + packages::quoted(name) + " is known",
                        remedy);
    }
    if (import.meaning == packages::Meaning::corrected)
      out.notes.push_back(name + " -> " + import.module);
    if (import.meaning == packages::Meaning::package) wanted[import.package] = import.package;
    out.modules.push_back(import.module);
  }
  for (const auto& [text, name] : wanted) {
    if (text == name && in_image.contains(name)) continue;  // any version will do
    if (auto refusal = forbidden(config_, name)) co_return refusal;
    requirements.push_back(text);
  }
  co_return std::nullopt;
}

std::string Provisioner::wish_key(const std::vector<std::string>& requirements,
                                  const PackageWish& wish) const {
  std::string text = inventories_.python() + "\n" + config_.index_url + "\n" +
                     boost::algorithm::join(config_.extra_index_urls, " ") + "\n" +
                     (wish.allow_sdist ? "sdist" : "wheels") + "\n" + wish.layer + "\n" +
                     wish.environment + "\n";
  for (const std::string& one : requirements) text += one + "\n";
  return sha256_hex(text);
}

Task<Provided> Provisioner::provide(PackageWish wish, Progress progress) {
  Provided out;
  std::vector<std::string> requirements;
  std::optional<PackageTrouble> wrong = co_await read_names(wish, out, requirements);
  if (wrong) co_return refused(std::move(*wrong));
  out.layer = wish.layer;
  if (requirements.empty()) co_return out;
  if (!config_.on)
    co_return refused(trouble("packages_off", "this server installs no packages",
                              "do without " + requirements.front() +
                                  "; the image holds numpy, pandas, scipy, matplotlib and more"));
  if (wish.allow_sdist && !config_.sdist)
    co_return refused(trouble("sdist_off", "this server builds no source distributions",
                              "leave allow_sdist out, and ask for versions that have wheels", 403));
  const std::string key = wish_key(requirements, wish);
  std::optional<packages::Answer> known = layers_.recall(key, packages::kRemembered);
  if (!known) {
    const auto found = flights_.find(key);
    std::shared_ptr<Flight> flight = found == flights_.end() ? nullptr : found->second;
    // The new layer covers the old one, so it must hold all of it, in the same versions.
    const packages::Layer* has = layers_.find(wish.layer);
    if (has != nullptr && has->sdist && !wish.allow_sdist)
      co_return refused(trouble("only_sdist",
                                "packages of this session were built from source, and adding to "
                                "them builds them again",
                                "let the client add it, with allow_sdist: true"));
    if (!flight || flight->workshop->abandoned) {
      if (auto refusal = registry_.accounts().refuses_installation(wish.owner)) {
        PackageTrouble why = trouble(refusal->code, refusal->detail, refusal->remedy, 429);
        why.retry_after_s = refusal->retry_after_s;
        co_return refused(std::move(why));
      }
      WorkOrder order{.requirements = requirements,
                      .allow_sdist = wish.allow_sdist,
                      .wish = key,
                      .environment = wish.environment};
      if (has != nullptr) order.pins = has->pins;
      order.requirements.insert(order.requirements.end(), order.pins.begin(), order.pins.end());
      flight = std::make_shared<Flight>();
      flight->workshop =
          std::make_shared<Workshop>(executor_, registry_, config_, index_, std::move(order));
      flight->owner = wish.owner;
      flights_[key] = flight;
      registry_.accounts().installation_begins(flight->owner);
      flight->turn = turns_.ask(flight->owner);
      spawn(
          executor_,
          [](Provisioner* self, std::string of, std::shared_ptr<Flight> it) -> Task<void> {
            co_await self->fly(std::move(of), std::move(it));
          }(this, key, flight),
          "installation");
    }
    ++flight->waiting;
    flight->turn.join(wish.owner);
    // When the last one who waits is gone, so is the reason to go on.
    struct Waiting {
      std::shared_ptr<Flight> flight;
      Provisioner* self;
      ~Waiting() {
        if (--flight->waiting > 0 || flight->result || flight->orphaned) return;
        flight->workshop->abandoned = true;
        self->landed_.tell();  // it may still queue
        spawn(
            self->executor_,
            [](std::shared_ptr<Workshop> it) -> Task<void> {
              co_await it->close();
            }(flight->workshop),
            "end of an installation");
      }
    } waiting{flight, this};
    std::shared_ptr<Flight> mine = flight;
    std::size_t told = 0;
    while (!mine->result) {
      const std::vector<std::string>& said = mine->workshop->progress;
      for (; told < said.size(); ++told)
        if (progress) progress(said[told]);
      if (mine->result) break;
      co_await mine->workshop->changes.wait();
    }
    if (mine->result->trouble) co_return *mine->result;
    out.layer = mine->result->layer;
    out.hold = mine->result->hold;
  } else {
    // The operator's lists may have changed since it was made.
    if (const packages::Layer* layer = layers_.find(known->layer))
      for (const std::string& pin : layer->pins)
        if (auto refusal = forbidden(config_, packages::normalised(pin.substr(0, pin.find("==")))))
          co_return refused(std::move(*refusal));
    out.layer = known->layer;
  }
  if (const packages::Layer* layer = layers_.find(out.layer)) {
    layers_.touch(out.layer);
    out.hold = layers_.hold(out.layer);
    out.shadows = layer->shadows;
    if (layer->shadows)
      out.notes.push_back(
          "these packages need other versions than the image has; the session starts "
          "with nothing imported, and finds these first: " +
          boost::algorithm::join(layer->pins, ", "));
  }
  co_return out;
}

Task<void> Provisioner::fly(std::string key, std::shared_ptr<Flight> flight) {
  const std::shared_ptr<Workshop> workshop = flight->workshop;
  while (!flight->turn.is_called() && !workshop->abandoned) co_await landed_.wait();
  workshop->latest = Clock::now() + config_.time;  // queueing does not count
  Provided result;
  try {
    result = co_await installer_.install(workshop);
  } catch (const std::exception& error) {
    result = refused(explain("", error.what()));
  }
  co_await workshop->close();
  workshop->leave();
  flight->turn.leave();
  registry_.accounts().installation_ends(flight->owner);
  landed_.tell();
  if (!result.trouble) {
    packages::Answer answer;
    answer.layer = result.layer;
    layers_.remember(key, answer);
  }
  flight->result = std::move(result);
  if (const auto found = flights_.find(key); found != flights_.end() && found->second == flight)
    flights_.erase(found);
  workshop->changes.tell();
}

}  // namespace vitrine::provision
