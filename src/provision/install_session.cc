// SPDX-License-Identifier: Apache-2.0
#include "provision/install_session.h"

#include <algorithm>
#include <set>

#include "backend/clock.h"
#include "model/layer.h"
#include "packages/requirements.h"

namespace vitrine::provision {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxProgress = 500;
constexpr std::size_t kMaxHosts = 16;  // that the pages of one wish lead to

}  // namespace

std::string text_of(const json::object& in, const char* key) {
  const json::value* value = in.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

json::array to_array(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

Task<Status> InstallSession::admit() {
  Result<IndexAccess::Pass> pass = co_await index_.admit();
  if (!pass) co_return explain("offline", pass.error().message);
  pass_ = std::move(*pass);
  co_return ok();
}

Task<Status> InstallSession::open(Way way) {
  session::SessionSpec spec;
  spec.name = "packages";
  spec.variant = Variant::bare;
  spec.lifetime = Lifetime::service;  // is in no list, and of no use to the next front
  spec.stored = false;
  spec.limits.memory_bytes = 1ull << 30;
  spec.limits.disk_bytes = config_.layer_bytes + config_.layer_bytes / 2;  // and what is downloaded
  spec.limits.processes = 128;
  spec.limits.exec_time = std::chrono::duration_cast<std::chrono::milliseconds>(config_.time);
  spec.environment = order.environment;
  if (config_.find_links) spec.layers = {std::string(kWheels)};
  std::vector<std::string> hosts = index_.hosts();
  if (way == Way::index && (!hosts.empty() || !pass_.tickets.empty())) {
    const std::set<std::string> own(hosts_.begin(), hosts_.end());
    hosts.insert(hosts.end(), own.begin(), own.end());
    for (const std::string& host : index_.found())
      if (!own.contains(host)) hosts.push_back(host);
    hosts_.assign(hosts.begin(), hosts.end());
    spec.network = Network{.allow = std::move(hosts), .index = true};
    if (!pass_.tickets.empty()) spec.network->gateway_port = index_.gate_port();
  }
  Result<std::shared_ptr<session::Session>> made = co_await registry_.create(std::move(spec));
  if (!made && made.error().code != Code::unavailable && made.error().code != Code::over_limit)
    co_return explain("offline", made.error().message);
  if (!made)
    co_return no_room("there is no capacity to install packages: " + made.error().message,
                      "try again later");
  session_ = std::move(*made);
  attached_ = session_->attach();
  co_return ok();
}

Task<void> InstallSession::close() {
  std::shared_ptr<session::Session> session = std::exchange(session_, nullptr);
  attached_ = {};
  if (!session) co_return;
  (void)co_await registry_.end(session);
}

Task<Status> InstallSession::find_hosts() {
  const std::vector<std::string> known = index_.hosts();
  if (pass_.urls.empty()) co_return ok();
  json::object asked = job("hosts");
  Result<json::object> said = co_await ask(std::move(asked));
  if (!said) co_return std::move(said.error());
  std::set<std::string> hosts;
  if (const json::value* list = said->if_contains("hosts"); list && list->is_array())
    for (const json::value& one : list->as_array())
      if (one.is_string() && hosts.size() < kMaxHosts)
        if (std::string host(one.as_string()); parse_network_rule(host))
          hosts.insert(std::move(host));
  if (hosts.empty()) co_return ok();  // a package that is not there: uv will tell
  for (const std::string& host : known) hosts.erase(host);
  hosts.erase("127.0.0.1:" + std::to_string(index_.gate_port()));
  const std::vector<std::string> before = hosts_;  // that its session reaches already
  hosts_.assign(hosts.begin(), hosts.end());
  for (const std::string& host : before) hosts.erase(host);
  index_.remember(hosts);
  if (hosts.empty()) co_return ok();
  co_await close();
  co_return co_await open(Way::index);
}

json::object InstallSession::job(const char* action) const {
  json::object out{{"action", action},
                   {"requirements", to_array(order.requirements)},
                   {"allow_sdist", order.allow_sdist},
                   {"environment", !order.environment.empty()},
                   {"find_links", config_.find_links},
                   {"limit_bytes", config_.layer_bytes},
                   {"certificates", config_.certificates}};
  const std::vector<std::string>& urls = pass_.urls;
  if (urls.empty()) return out;
  out["index_url"] = urls.front();
  out["extra_index_urls"] = to_array({urls.begin() + 1, urls.end()});
  json::object& index_for = out["index_for"].emplace_object();
  for (const auto& [name, url] : pass_.index_for) index_for[name] = url;
  return out;
}

void InstallSession::take(const std::string& line, Said& said) {
  boost::system::error_code failed;
  json::value parsed = json::parse(line, failed);
  json::object* message = failed ? nullptr : parsed.if_object();
  if (message == nullptr) return;
  if (message->contains("progress") && progress.size() < kMaxProgress) {
    const std::string text = index_.without_gate(text_of(*message, "progress"));
    progress.push_back(packages::quoted(text));
    std::string& shown = progress.back();
    shown = shown.substr(1, shown.size() - 2);
    changes.notify_all();
  }
  if (json::value* why = message->if_contains("failed"); why && why->is_object())
    said.failed = explain(text_of(why->as_object(), "code"),
                          index_.without_gate(text_of(why->as_object(), "detail")));
  json::value* result = message->if_contains("done");
  if (result != nullptr && result->is_object()) said.done = result->as_object();
}

Task<Result<json::object>> InstallSession::ask(json::object job) {
  Said said;
  ExecRequest request;
  request.code = "from vitrine_runtime import installer; installer.main()";
  request.stdin_text = json::serialize(job);
  request.timeout =
      std::max(std::chrono::milliseconds(100),
               std::chrono::duration_cast<std::chrono::milliseconds>(latest - Clock::now()));
  std::shared_ptr<session::Session> session = session_;
  if (!session || abandoned) co_return explain("cancelled", "nobody waited for it");
  Result<std::shared_ptr<session::Execution>> started = session->execute(std::move(request));
  if (!started) co_return explain("cancelled", started.error().message);
  std::shared_ptr<session::Execution> execution = *started;
  std::string line;
  session::EventLog::Reader reader(execution->events());
  for (;;) {
    std::optional<session::Event> event = co_await reader.next();
    if (!event) break;
    const auto* output = std::get_if<session::OutputEvent>(&*event);
    if (output == nullptr || output->stream != session::Stream::out) continue;
    for (char c : output->text) {
      if (c != '\n') {
        line += c;
        continue;
      }
      take(line, said);
      line.clear();
    }
  }
  co_await execution->finished();
  const ExecRecord& record = execution->record;
  if (said.failed && said.failed->reason == "offline" && record.network)
    for (const NetworkEntry& entry : *record.network)
      if (entry.decision != NetworkDecision::allowed) {  // the proxy knows better why
        said.failed->message = "the index cannot be reached: " + entry.reason;
        if (entry.decision == NetworkDecision::refused)
          said.failed->remedy = "the operator may allow its network with --egress-allow-private";
        break;
      }
  if (record.outcome == Outcome::timeout)
    co_return explain("install_timeout", "the installation took longer than " +
                                             std::to_string(config_.time.count()) + " s");
  if (record.outcome == Outcome::oom)
    co_return explain("too_big", "unpacking the packages needs more memory than the limit");
  if (record.outcome != Outcome::ok)
    co_return explain(abandoned ? "cancelled" : "",
                      "the installer ended as " + std::string(to_string(record.outcome)));
  if (said.failed) co_return std::move(*said.failed);
  if (!said.done) co_return explain("", "the installer sent no result");
  co_return std::move(*said.done);
}

}  // namespace vitrine::provision
