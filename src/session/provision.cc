// SPDX-License-Identifier: Apache-2.0
#include "session/provision.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <set>

#include "base/sha256.h"
#include "model/layer.h"
#include "packages/copy.h"
#include "packages/requirements.h"

namespace vitrine::session {

namespace json = boost::json;
using namespace boost::asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t kMostAtOnce = 2;  // installations; each may fill its disk limit
constexpr std::size_t kMaxProgress = 500;
constexpr std::size_t kMaxHosts = 16;       // that the pages of one wish lead to
constexpr std::size_t kMaxKnownHosts = 32;  // of all wishes

PackageTrouble trouble(std::string code, std::string detail, std::string remedy, int status = 422) {
  return {std::move(code), std::move(detail), std::move(remedy), status};
}

PackageTrouble busy(std::string detail, std::string remedy) {
  PackageTrouble out = trouble("no_capacity", std::move(detail), std::move(remedy), 503);
  out.retry_after_s = 2;
  return out;
}

Provided refused(PackageTrouble why) {
  Provided out;
  out.trouble = std::move(why);
  return out;
}

// What each failure of the installer means for who asked.
PackageTrouble explain(const std::string& code, const std::string& detail) {
  static const std::map<std::string, std::pair<int, const char*>> kRemedies{
      {"package_not_found",
       {422, "check the name of the package on its index; `imports` takes the name of a module"}},
      {"no_wheel",
       {422, "choose a version that has a wheel for this Python, or one without compiled code"}},
      {"only_sdist",
       {422,
        "set allow_sdist to true (--allow-sdist) to have it built here, or choose a version that "
        "has "
        "a wheel"}},
      {"build_failed",
       {422, "choose a version that has a wheel, or one that builds with what the index offers"}},
      {"needs_compiler",
       {422,
        "no compiler is in the image: choose a version or a package that has a wheel for this "
        "Python"}},
      {"conflict", {422, "loosen the versions that the explanation names"}},
      {"offline",
       {503, "the index cannot be reached; try again, or let the operator check --index-url"}},
      {"too_big", {422, "ask for fewer or smaller packages; the operator may raise --layer-mb"}},
      {"hash_mismatch", {502, "the index or something on the way is broken; tell its operator"}},
      {"bad_package", {422, "the package is damaged or hostile: do without it"}},
      {"install_timeout",
       {504,
        "try again later: what was downloaded is lost; the operator may raise --install-timeout"}},
      {"cancelled", {503, "try again"}}};
  const auto found = kRemedies.find(code);
  if (found == kRemedies.end())
    return trouble("install_failed", detail, "try again, or ask for other packages", 502);
  return trouble(code, detail, found->second.second, found->second.first);
}

std::string text_of(const json::object& in, const char* key) {
  const json::value* value = in.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

json::array to_array(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

// The installer's word, checked: it handled hostile archives.
bool is_pin(const json::value& value) {
  const json::object* pin = value.if_object();
  if (pin == nullptr || !pin->contains("hashes") || !pin->at("hashes").is_array()) return false;
  return static_cast<bool>(
      packages::parse_requirement(text_of(*pin, "name") + "==" + text_of(*pin, "version")));
}

// {"packages": [...]} of a worker.
PackageWish read_wish(const std::string& text) {
  PackageWish wish;
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (!failed && parsed.is_object() && parsed.as_object().contains("packages") &&
      parsed.as_object().at("packages").is_array())
    for (const json::value& one : parsed.as_object().at("packages").as_array())
      if (one.is_string()) wish.packages.emplace_back(one.as_string());
  return wish;
}

}  // namespace

void add_imports(const std::vector<std::string>& names, SessionSpec& spec) {
  for (const std::string& name : names)
    (packages::is_module_name(name) ? spec.imports : spec.packages).push_back(name);
}

Provisioner::Provisioner(asio::any_io_executor executor, Registry& registry,
                         packages::Config config, packages::Layers layers)
    : executor_(executor),
      registry_(registry),
      config_(std::move(config)),
      layers_(std::move(layers)),
      gateway_(executor, config_.certificates),
      live_(std::make_shared<Live>(executor)),
      turns_(kMostAtOnce),
      landed_(executor) {}

Provisioner::~Provisioner() {
  for (auto& [key, flight] : flights_) flight->orphaned = true;
  live_->orphaned = true;
}

void Provisioner::apply(const Provided& provided, SessionSpec& spec) {
  spec.layer = provided.layer;
  spec.layer_first = provided.shadows;
  spec.layer_hold = provided.hold;
  spec.provided = true;
  if (provided.shadows) spec.variant = Variant::bare;
  spec.package_notes = provided.notes;
  spec.imports = provided.modules;
}

class Provisioner::Turn {
 public:
  Turn(std::shared_ptr<Live> live, std::string session)
      : live_(std::move(live)), session_(std::move(session)) {}
  ~Turn() {
    live_->adding.erase(session_);
    if (!live_->orphaned) live_->changes.tell();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::shared_ptr<Live> live_;
  std::string session_;
};

Task<Provided> Provisioner::provide_for(std::shared_ptr<Session> session, PackageWish wish,
                                        Progress progress, std::shared_ptr<Turn>* turn) {
  const std::shared_ptr<Live> live = live_;
  while (live->adding.contains(session->id)) co_await live->changes.wait();
  live->adding.insert(session->id);
  *turn = std::make_shared<Turn>(live, session->id);
  wish.layer = session->spec.layer;
  wish.environment = session->spec.environment;
  wish.owner = session->spec.owner;
  co_return co_await provide(std::move(wish), std::move(progress));
}

Task<std::optional<Provided>> Provisioner::provided_while_asked(
    std::shared_ptr<Session> session, std::shared_ptr<Execution> execution,
    std::shared_ptr<Asked> asked, PackageWish wish, std::shared_ptr<Turn>* turn) {
  const auto ended = [](std::shared_ptr<Execution> it) -> Task<bool> {
    co_await it->finished();
    co_return true;
  };
  const auto replaced = [](std::shared_ptr<Asked> it) -> Task<bool> {
    while (!it->newest) co_await it->changes.wait();
    co_return true;
  };
  Progress silent;
  auto first = co_await (provide_for(session, std::move(wish), std::move(silent), turn) ||
                         ended(execution) || replaced(asked));
  if (first.index() != 0 || execution->is_finished()) co_return std::nullopt;
  co_return std::move(std::get<0>(first));
}

Task<void> Provisioner::answer(std::shared_ptr<Session> session,
                               std::shared_ptr<Execution> execution, std::string text) {
  const std::shared_ptr<Live> live = live_;
  if (const auto found = live->questions.find(execution); found != live->questions.end()) {
    found->second->newest = std::move(text);
    found->second->changes.tell();
    co_return;
  }
  struct Question {
    std::shared_ptr<Live> live;
    std::shared_ptr<Execution> of;
    ~Question() { live->questions.erase(of); }
  } question{live, execution};
  const auto asked = std::make_shared<Asked>(executor_);
  live->questions[execution] = asked;
  asked->newest = std::move(text);
  while (asked->newest && !execution->is_finished()) {
    const std::string newest = std::move(*asked->newest);
    asked->newest.reset();
    PackageWish wish = read_wish(newest);
    wish.allow_sdist = session->spec.allow_sdist;  // its client's word, not its code's
    std::shared_ptr<Turn> turn;
    std::optional<Provided> provided =
        co_await provided_while_asked(session, execution, asked, std::move(wish), &turn);
    if (!provided) continue;
    if (!provided->trouble && provided->shadows)
      provided->trouble =
          trouble("conflict", "these packages need other versions than the image has",
                  "create a session with them in `packages`");
    if (!provided->trouble && !provided->layer.empty() && provided->layer != session->spec.layer) {
      Status added = co_await registry_.add_layer(session, provided->layer);
      if (!added) provided->trouble = trouble("install_failed", added.error().message, "try again");
    }
    if (asked->newest) continue;  // nobody waits for this one
    json::object out;
    if (const auto& why = provided->trouble) {
      out = {{"code", why->code}, {"detail", why->detail}, {"remedy", why->remedy}};
    } else {
      json::array& pins = out["added"].emplace_array();
      if (const packages::Layer* layer = layers_.find(provided->layer))
        for (const std::string& pin : layer->pins) pins.emplace_back(pin);
    }
    session->answer_input(*execution, json::serialize(out));
  }
}

Task<Status> Provisioner::provide_in_time(SessionSpec* spec, std::chrono::milliseconds patience) {
  struct Shared {
    explicit Shared(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::optional<Provided> provided;
    Changes changes;
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
  asio::co_spawn(
      executor_,
      [](Provisioner* self, std::shared_ptr<Shared> to, PackageWish what) -> Task<void> {
        Provided got = co_await self->provide(std::move(what), {});
        to->provided = std::move(got);
        to->changes.tell();
      }(this, shared, std::move(wish)),
      asio::detached);
  const auto latest = std::chrono::steady_clock::now() + patience;
  while (!shared->provided && std::chrono::steady_clock::now() < latest)
    co_await shared->changes.wait(latest);
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

std::optional<PackageTrouble> Provisioner::forbidden(const std::string& name) const {
  if (config_.permits(name)) return std::nullopt;
  return trouble("package_forbidden",
                 "the operator of this server does not allow the package " + name,
                 "do without it, or ask the operator", 403);
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
  std::optional<PackageTrouble> unknown = co_await know_image(wish.environment);
  if (unknown) co_return unknown;
  const packages::Inventory& inventory = inventories_.at(wish.environment);
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
    if (auto refusal = forbidden(name)) co_return refusal;
    requirements.push_back(text);
  }
  co_return std::nullopt;
}

std::string Provisioner::wish_key(const std::vector<std::string>& requirements,
                                  const PackageWish& wish) const {
  std::string text = python_ + "\n" + config_.index_url + "\n" +
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
    if (!flight || flight->abandoned) {
      if (auto refusal = registry_.accounts().refuses_installation(wish.owner)) {
        PackageTrouble why = trouble(refusal->code, refusal->detail, refusal->remedy, 429);
        why.retry_after_s = refusal->retry_after_s;
        co_return refused(std::move(why));
      }
      flight = std::make_shared<Flight>(executor_);
      flights_[key] = flight;
      flight->requirements = requirements;
      flight->allow_sdist = wish.allow_sdist;
      flight->wish = key;
      flight->environment = wish.environment;
      flight->owner = wish.owner;
      registry_.accounts().installation_begins(flight->owner);
      flight->turn = turns_.ask(flight->owner);
      if (has != nullptr) flight->pins = has->pins;
      flight->requirements.insert(flight->requirements.end(), flight->pins.begin(),
                                  flight->pins.end());
      asio::co_spawn(
          executor_,
          [](Provisioner* self, std::string of, std::shared_ptr<Flight> it) -> Task<void> {
            co_await self->fly(std::move(of), std::move(it));
          }(this, key, flight),
          asio::detached);
    }
    ++flight->waiting;
    flight->turn.join(wish.owner);
    // When the last one who waits is gone, so is the reason to go on.
    struct Waiting {
      std::shared_ptr<Flight> flight;
      Provisioner* self;
      ~Waiting() {
        if (--flight->waiting > 0 || flight->result || flight->orphaned) return;
        flight->abandoned = true;
        self->landed_.tell();  // it may still queue
        asio::co_spawn(
            self->executor_,
            [](Provisioner* of, std::shared_ptr<Flight> it) -> Task<void> {
              co_await of->close(std::move(it));
            }(self, flight),
            asio::detached);
      }
    } waiting{flight, this};
    std::shared_ptr<Flight> mine = flight;
    std::size_t told = 0;
    while (!mine->result) {
      for (; told < mine->progress.size(); ++told)
        if (progress) progress(mine->progress[told]);
      if (mine->result) break;
      co_await mine->changes.wait();
    }
    if (mine->result->trouble) co_return *mine->result;
    out.layer = mine->result->layer;
    out.hold = mine->result->hold;
  } else {
    // The operator's lists may have changed since it was made.
    if (const packages::Layer* layer = layers_.find(known->layer))
      for (const std::string& pin : layer->pins)
        if (auto refusal = forbidden(packages::normalised(pin.substr(0, pin.find("==")))))
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
  while (!flight->turn.is_called() && !flight->abandoned) co_await landed_.wait();
  flight->latest = std::chrono::steady_clock::now() + config_.time;  // queueing does not count
  Provided result;
  try {
    result = co_await install(flight);
  } catch (const std::exception& error) {
    result = refused(explain("", error.what()));
  }
  co_await close(flight);
  flight->tickets.clear();
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
  flight->changes.tell();
}

Task<Provided> Provisioner::install(std::shared_ptr<Flight> flight) {
  if (flight->abandoned) co_return refused(explain("cancelled", "nobody waited for it"));
  co_return co_await install_in(flight);
}

Task<void> Provisioner::close(std::shared_ptr<Flight> flight) {
  std::shared_ptr<Session> session = std::exchange(flight->session, nullptr);
  if (!session) co_return;
  (void)co_await registry_.end(session);
}

std::vector<std::string> Provisioner::indexes() const {
  std::vector<std::string> all;
  if (config_.index_url == "none") return all;
  all.push_back(config_.index_url.empty() ? default_index_ : config_.index_url);
  all.insert(all.end(), config_.extra_index_urls.begin(), config_.extra_index_urls.end());
  return all;
}

// Where an index wants credentials, its session is told of our gateway in its place.
std::optional<PackageTrouble> Provisioner::admit(Flight& flight) {
  flight.urls = indexes();
  for (std::string& url : flight.urls) {
    const auto secret = config_.secrets.find(url);
    if (secret == config_.secrets.end()) continue;
    Status opened = gateway_.open();
    auto ticket = opened ? gateway_.admit(secret->second) : nullptr;
    if (!ticket)
      return explain("offline", opened ? "no ticket for the index" : opened.error().message);
    url = ticket->url();
    flight.tickets.push_back(std::move(ticket));
  }
  return std::nullopt;
}

// As the operator calls the index, and not as the installer does.
std::string Provisioner::without_gate(std::string text) const {
  if (gateway_.port() == 0 || config_.secrets.empty()) return text;
  const std::string here = "http://127.0.0.1:" + std::to_string(gateway_.port());
  const std::string there = config_.secrets.begin()->second.origin();
  boost::algorithm::replace_all(text, here, there);
  return text;
}

std::vector<std::string> Provisioner::index_hosts() const {
  std::vector<std::string> hosts;
  for (const std::string& url : indexes())
    if (std::optional<packages::IndexUrl> index = packages::parse_index_url(url);
        index && !config_.secrets.contains(url))
      hosts.push_back(index->authority());
  if (config_.index_url != "none")
    hosts.insert(hosts.end(), config_.index_hosts.begin(), config_.index_hosts.end());
  std::erase_if(hosts, [](const std::string& host) { return !parse_network_rule(host); });
  return hosts;
}

Task<std::optional<PackageTrouble>> Provisioner::find_hosts(std::shared_ptr<Flight> flight) {
  const std::vector<std::string> known = index_hosts();
  if (flight->urls.empty()) co_return std::nullopt;
  json::object asked = job("hosts", *flight);
  Said said = co_await ask(flight, std::move(asked));
  if (said.trouble) co_return std::move(said.trouble);
  std::set<std::string> hosts;
  if (const json::value* list = said.done.if_contains("hosts"); list && list->is_array())
    for (const json::value& one : list->as_array())
      if (one.is_string() && hosts.size() < kMaxHosts)
        if (std::string host(one.as_string()); parse_network_rule(host))
          hosts.insert(std::move(host));
  if (hosts.empty()) co_return std::nullopt;  // a package that is not there: uv will tell
  for (const std::string& host : known) hosts.erase(host);
  hosts.erase("127.0.0.1:" + std::to_string(gateway_.port()));
  const std::vector<std::string> before = flight->hosts;  // that its session reaches already
  flight->hosts.assign(hosts.begin(), hosts.end());
  for (const std::string& host : before) hosts.erase(host);
  // The newest first: what a package needs often lies where others were found.
  std::erase_if(hosts_, [&](const std::string& host) { return hosts.contains(host); });
  hosts_.insert(hosts_.begin(), hosts.begin(), hosts.end());
  if (hosts_.size() > kMaxKnownHosts) hosts_.resize(kMaxKnownHosts);
  if (hosts.empty()) co_return std::nullopt;
  co_await close(flight);
  co_return co_await open(flight, Way::index);
}

Task<std::optional<PackageTrouble>> Provisioner::open(std::shared_ptr<Flight> flight, Way way) {
  SessionSpec spec;
  spec.name = "packages";
  spec.variant = Variant::bare;
  spec.lifetime = Lifetime::one_shot;  // is in no list, and of no use to the next front
  spec.stored = false;
  spec.limits.memory_bytes = 1ull << 30;
  spec.limits.disk_bytes = config_.layer_bytes + config_.layer_bytes / 2;  // and what is downloaded
  spec.limits.processes = 128;
  spec.limits.exec_time = std::chrono::duration_cast<std::chrono::milliseconds>(config_.time);
  spec.environment = flight->environment;
  if (config_.find_links) spec.layer = kWheels;
  std::vector<std::string> hosts = index_hosts();
  if (way == Way::index && (!hosts.empty() || !flight->tickets.empty())) {
    const std::set<std::string> own(flight->hosts.begin(), flight->hosts.end());
    hosts.insert(hosts.end(), own.begin(), own.end());
    for (const std::string& host : hosts_)
      if (!own.contains(host)) hosts.push_back(host);
    flight->hosts.assign(hosts.begin(), hosts.end());
    if (!flight->tickets.empty())
      hosts.insert(hosts.begin(), std::string(kGateMark) + std::to_string(gateway_.port()));
    hosts.insert(hosts.begin(), std::string(kIndexMark));
    spec.network = Network{std::move(hosts)};
  }
  Result<std::shared_ptr<Session>> made = co_await registry_.create(std::move(spec));
  if (!made && made.error().code != Code::unavailable && made.error().code != Code::over_limit)
    co_return explain("offline", made.error().message);
  if (!made)
    co_return busy("there is no room to install packages: " + made.error().message,
                   "try again later");
  flight->session = std::move(*made);
  ++flight->session->attached;
  co_return std::nullopt;
}

json::object Provisioner::job(const char* action, const Flight& flight) const {
  json::object out{{"action", action},
                   {"requirements", to_array(flight.requirements)},
                   {"allow_sdist", flight.allow_sdist},
                   {"environment", !flight.environment.empty()},
                   {"find_links", config_.find_links},
                   {"certificates", config_.certificates}};
  if (flight.urls.empty()) return out;
  out["index_url"] = flight.urls.front();
  out["extra_index_urls"] = to_array({flight.urls.begin() + 1, flight.urls.end()});
  return out;
}

Task<Provisioner::Said> Provisioner::ask(std::shared_ptr<Flight> flight, json::object job) {
  Said said;
  ExecRequest request;
  request.code = "from vitrine_runtime import installer; installer.main()";
  request.stdin_text = json::serialize(job);
  request.timeout = std::max(std::chrono::milliseconds(100),
                             std::chrono::duration_cast<std::chrono::milliseconds>(
                                 flight->latest - std::chrono::steady_clock::now()));
  std::shared_ptr<Session> session = flight->session;
  if (!session || flight->abandoned) {
    said.trouble = explain("cancelled", "nobody waited for it");
    co_return said;
  }
  Result<std::shared_ptr<Execution>> started = session->execute(std::move(request));
  if (!started) {
    said.trouble = explain("cancelled", started.error().message);
    co_return said;
  }
  std::shared_ptr<Execution> execution = *started;
  std::string line;
  std::size_t cursor = 0;
  bool done = false;
  for (;;) {
    std::optional<Event> event = co_await execution->next(cursor);
    if (!event) break;
    const auto* output = std::get_if<OutputEvent>(&*event);
    if (output == nullptr || output->stream != Stream::out) continue;
    for (char c : output->text) {
      if (c != '\n') {
        line += c;
        continue;
      }
      boost::system::error_code failed;
      json::value parsed = json::parse(line, failed);
      line.clear();
      json::object* message = failed ? nullptr : parsed.if_object();
      if (message == nullptr) continue;
      if (message->contains("progress") && flight->progress.size() < kMaxProgress) {
        const std::string text = without_gate(text_of(*message, "progress"));
        flight->progress.push_back(packages::quoted(text));
        std::string& shown = flight->progress.back();
        shown = shown.substr(1, shown.size() - 2);
        flight->changes.tell();
      }
      if (json::value* result = message->if_contains("done"); result && result->is_object()) {
        said.done = result->as_object();
        done = true;
      }
      if (json::value* why = message->if_contains("failed"); why && why->is_object())
        said.trouble = explain(text_of(why->as_object(), "code"),
                               without_gate(text_of(why->as_object(), "detail")));
    }
  }
  co_await execution->finished();
  const ExecRecord& record = execution->record;
  if (said.trouble && said.trouble->code == "offline" && record.network)
    for (const NetworkEntry& entry : *record.network)
      if (entry.decision != NetworkDecision::allowed) {  // the proxy knows better why
        said.trouble->detail = "the index cannot be reached: " + entry.reason;
        if (entry.decision == NetworkDecision::refused)
          said.trouble->remedy = "the operator may allow its network with --egress-allow-private";
        break;
      }
  if (record.outcome == Outcome::timeout)
    said.trouble = explain("install_timeout", "the installation took longer than " +
                                                  std::to_string(config_.time.count()) + " s");
  else if (record.outcome == Outcome::oom)
    said.trouble = explain("too_big", "unpacking the packages took more memory than there is");
  else if (record.outcome != Outcome::ok)
    said.trouble = explain(flight->abandoned ? "cancelled" : "",
                           "the installer ended as " + std::string(to_string(record.outcome)));
  else if (!done && !said.trouble) said.trouble = explain("", "the installer said nothing");
  co_return said;
}

Task<std::optional<PackageTrouble>> Provisioner::know_image(std::string environment) {
  if (inventories_.contains(environment)) co_return std::nullopt;
  // Detached, as an installation is: who asked may leave, and the session must end.
  const std::string key = "inventory " + environment;
  const auto found = flights_.find(key);
  std::shared_ptr<Flight> flight = found == flights_.end() ? nullptr : found->second;
  if (!flight) {
    flight = std::make_shared<Flight>(executor_);
    flight->latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    flight->environment = environment;
    flights_[key] = flight;
    const auto learn = [](Provisioner* self, std::shared_ptr<Flight> it) -> Task<void> {
      std::optional<PackageTrouble> closed = co_await self->open(it, Way::none);
      if (!closed) {
        json::object asked = self->job("inventory", *it);
        Said said = co_await self->ask(it, std::move(asked));
        co_await self->close(it);
        closed = std::move(said.trouble);
        if (!closed) {
          packages::Inventory inventory;
          if (const json::value* list = said.done.if_contains("standard"); list && list->is_array())
            for (const json::value& one : list->as_array())
              if (one.is_string()) inventory.standard.emplace(one.as_string());
          if (const json::value* map = said.done.if_contains("modules"); map && map->is_object())
            for (const auto& [module, package] : map->as_object())
              if (package.is_string()) inventory.image.emplace(module, package.as_string());
          self->python_ = text_of(said.done, "python");
          self->default_index_ = text_of(said.done, "index");
          self->inventories_[it->environment] = std::move(inventory);
        }
      }
      self->flights_.erase("inventory " + it->environment);
      it->result.emplace();
      it->result->trouble = std::move(closed);
      it->changes.tell();
    };
    asio::co_spawn(executor_, learn(this, flight), asio::detached);
  }
  while (!flight->result) co_await flight->changes.wait();
  co_return flight->result->trouble;
}

Task<Provided> Provisioner::install_in(std::shared_ptr<Flight> flight) {
  if (auto refusal = admit(*flight)) co_return refused(std::move(*refusal));
  std::optional<PackageTrouble> closed = co_await open(flight, Way::index);
  if (closed) co_return refused(std::move(*closed));
  std::optional<PackageTrouble> lost = co_await find_hosts(flight);
  if (lost) co_return refused(std::move(*lost));
  json::object resolve = job("resolve", *flight);
  resolve["pins"] = to_array(flight->pins);
  Said said = co_await ask(flight, std::move(resolve));
  if (said.trouble) co_return refused(std::move(*said.trouble));
  packages::Layer layer;
  layer.shadows = said.done.contains("shadows") && said.done.at("shadows").is_bool() &&
                  said.done.at("shadows").as_bool();
  json::value pins = said.done.contains("pins") ? said.done.at("pins") : json::value(nullptr);
  if (!pins.is_array()) co_return refused(explain("", "the installer spoke nonsense"));
  std::string resolved = python_ + (layer.shadows ? "\nshadows\n" : "\n");
  for (const json::value& pin : pins.as_array()) {
    if (!is_pin(pin)) co_return refused(explain("", "the installer named no package"));
    const std::string name = text_of(pin.as_object(), "name");
    if (auto refusal = forbidden(name)) co_return refused(std::move(*refusal));
    layer.pins.push_back(name + "==" + text_of(pin.as_object(), "version"));
    resolved += json::serialize(pin) + "\n";
  }
  Provided out;
  if (layer.pins.empty()) co_return out;  // the image has it all
  // Code of packages may have run here, and may have chosen these very words: what it made is for those
  // who asked for the same and for nobody else.
  layer.sdist = flight->allow_sdist;
  if (layer.sdist) resolved += "sdist\n" + flight->wish + "\n";
  layer.id = sha256_hex(resolved);
  out.layer = layer.id;
  out.hold = layers_.hold(layer.id);
  if (layers_.find(layer.id) != nullptr) co_return out;
  json::object install = job("install", *flight);
  install["pins"] = std::move(pins);
  Said installed = co_await ask(flight, std::move(install));
  if (installed.trouble) co_return refused(std::move(*installed.trouble));
  co_return co_await fill_layer(flight, std::move(layer));
}

Task<Provided> Provisioner::fill_layer(std::shared_ptr<Flight> flight, packages::Layer layer) {
  std::shared_ptr<Session> session = flight->session;
  if (!session || flight->abandoned)
    co_return refused(explain("cancelled", "nobody waited for it"));
  Result<packages::Layers::Draft> draft = layers_.begin();
  if (!draft)
    co_return refused(
        trouble("disk_full", draft.error().message, "make room on the server's disk", 507));
  packages::CopyLimits limits;
  limits.bytes = config_.layer_bytes;
  limits.files = config_.layer_files;
  Result<packages::Copied> copied = co_await packages::copy_tree(
      registry_.keeper(), session->engine, "layer", draft->directory.get(), limits);
  if (!copied) {
    layers_.discard(*draft);
    const Code code = copied.error().code;
    co_return refused(explain(code == Code::over_limit         ? "too_big"
                              : code == Code::invalid_argument ? "bad_package"
                                                               : "",
                              copied.error().message));
  }
  layer.bytes = copied->bytes;
  layer.files = copied->files;
  Provided out;
  out.layer = layer.id;
  out.hold = layers_.hold(layer.id);
  if (layers_.find(layer.id) != nullptr) {  // another wish came to the same, and was first
    layers_.discard(*draft);
    co_return out;
  }
  if (Status s = layers_.commit(std::move(*draft), std::move(layer)); !s)
    co_return refused(
        trouble("disk_full", s.error().message, "make room on the server's disk", 507));
  ++installations_;
  layers_.prune(config_.budget_bytes, registry_.layers_in_use());
  co_return out;
}

}  // namespace vitrine::session
