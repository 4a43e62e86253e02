// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/environment.h"

#include "api/render.h"
#include "service/async.h"
#include "service/errors.h"
#include "session/ids_and_time.h"

namespace vitrine::api::openenv {

using service::SessionRef;
using std::chrono::milliseconds;

namespace {

// Stock clients of the WebSocket give up after 60 s, and read a late answer as that of the next step.
// The ending of code that resists, and the judge, need some of it.
constexpr milliseconds kLongest{50'000};
constexpr milliseconds kSpare{1'000};          // what the way back and the ending of code may take
constexpr std::uint64_t kOutput = 400u << 10;  // of each stream: an answer stays below a megabyte
constexpr std::size_t kMaxResults = 600'000;
constexpr std::size_t kMaxPicture = 360'000;      // a third more in the answer
constexpr milliseconds kPackagePatience{25'000};  // and a second try after the first

std::string with_line(std::string text, const std::string& line) {
  if (line.empty()) return text;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + line;
}

milliseconds time_for(const Action& action, std::optional<double> patience, milliseconds usual) {
  const auto in_ms = [](double seconds) {
    return milliseconds(static_cast<std::int64_t>(std::min(seconds, 86'400.0) * 1000));
  };
  milliseconds limit = action.timeout_s ? in_ms(*action.timeout_s) : usual;
  if (patience) {
    const milliseconds all = in_ms(*patience);
    limit = std::min(limit, all > 2 * kSpare ? all - kSpare : all / 2);
  }
  return std::clamp(limit, milliseconds(1), kLongest);
}

json::object metadata_of(const ExecRecord& record, const ObservationOptions& of_episode,
                         const Action& action) {
  json::object metadata;
  const ObservationOptions& own = action.wishes;
  if (record.wants_screenshot) {
    if (!action.capture_screenshot)
      metadata["screenshot"] =
          record.screenshot ? json::value(base64(*record.screenshot)) : json::value(nullptr);
    // Why it is missing, or what there is to know about it.
    constexpr std::string_view kAbout = "screenshot: ";
    for (const std::string& note : record.notes)
      if (note.starts_with(kAbout))
        metadata[record.screenshot ? "screenshot_note" : "screenshot_error"] =
            note.substr(kAbout.size());
    if (!record.screenshot && !metadata.contains("screenshot_error"))
      metadata["screenshot_error"] = "none could be taken";
  }
  const bool results = own.results || of_episode.results;
  const bool usage = own.usage || of_episode.usage;
  if (!results && !usage) return metadata;
  boost::system::error_code failed;
  json::value parsed = json::parse(execution_json(record), failed);
  if (failed || !parsed.is_object()) return metadata;
  json::object& shown = parsed.as_object();
  if (usage) metadata["usage"] = shown["usage"];
  if (results && json::serialize(shown["results"]).size() <= kMaxResults)
    metadata["results"] = shown["results"];
  else if (results) metadata["results_error"] = "too_large: a response has less than a megabyte";
  return metadata;
}

}  // namespace

void add_packages(const Reset& wishes, service::SessionRequest& request) {
  request.additional_imports = true;
  request.patience = kPackagePatience;
  provision::add_imports(wishes.imports, request.packages);
  request.packages.allow_sdist = wishes.allow_sdist;
  request.spec.allow_sdist = wishes.allow_sdist;
}

std::string new_episode() {
  std::string id = session::new_id();
  id[12] = '4';  // as random UUIDs are marked
  id[16] = "89ab"[static_cast<unsigned char>(id[16]) % 4];
  for (std::size_t dash : {8u, 13u, 18u, 23u}) id.insert(dash, "-");
  return id;
}

Task<Result<SessionRef>> Environment::create() {
  service::SessionRequest request;
  session::SessionSpec& spec = request.spec;
  spec.name = "openenv";
  spec.owner = owner_;
  spec.stored = false;  // its client leaves with the front, or finds a new one
  spec.is_episode = true;
  spec.limits.output_bytes = kOutput;
  spec.seed = wishes_.seed;
  spec.policy = wishes_.policy.value_or(operations_.default_policy());
  if (wishes_.seed) spec.variant = Variant::seeded;
  spec.environment = wishes_.environment;
  add_packages(wishes_, request);
  service::NoClient nobody;
  Result<SessionRef> made = co_await operations_.create(request, nobody);
  if (made || made.error().code != Code::unavailable || !session_) co_return made;
  const SessionRef old = let_go();  // full: its own place is the one to take
  (void)co_await operations_.end(old);
  co_return co_await operations_.create(request, nobody);
}

Task<Status> Environment::make_session() {
  struct Making {
    Environment& of;
    explicit Making(Environment& one) : of(one) { of.making_ = true; }
    ~Making() {
      of.making_ = false;
      of.changes_.notify_all();
    }
  } making(*this);
  Result<SessionRef> made = co_await create();
  if (!made) co_return std::move(made.error());
  close();
  session_ = std::move(*made);
  told_ = false;
  if (life_ == Life::connection) attached_ = operations_.attach(session_);
  co_return ok();
}

SessionRef Environment::let_go() {
  SessionRef old = std::exchange(session_, nullptr);
  attached_ = {};
  return old;
}

void Environment::close() {
  const SessionRef old = let_go();
  if (!old) return;
  spawn(
      executor_,
      [](service::Operations* operations, SessionRef one) -> Task<void> {
        (void)co_await operations->end(one);
      }(&operations_, old),
      "end of an environment");
}

Task<Status> Environment::open() {
  auto self = shared_from_this();
  co_return co_await make_session();
}

Observation Environment::begin() {
  lost_ = false;
  state_ = State();
  state_.episode = wishes_.episode ? wishes_.episode : new_episode();
  Observation seen;
  const std::vector<std::string>& told = session_ ? session_->notes() : wishes_.notes;
  if (!told.empty()) {
    json::array notes;
    for (const std::string& note : told) notes.emplace_back(note);
    seen.metadata["notes"] = std::move(notes);
  }
  return seen;
}

Observation Environment::reset_later(Reset request) {
  wishes_ = std::move(request);
  close();
  return begin();
}

Task<Result<Observation>> Environment::reset(Reset request) {
  auto self = shared_from_this();
  while (making_) co_await changes_.wait();
  wishes_ = std::move(request);
  const bool is_new = is_usable() && state_.steps == 0 && !state_.episode && wishes_.is_plain();
  if (!is_new) {
    if (Status made = co_await make_session(); !made) co_return std::move(made.error());
  }
  co_return begin();
}

Task<Result<Observation>> Environment::step(Action action, std::optional<double> patience,
                                            service::Client& client) {
  auto self = shared_from_this();
  while (making_) co_await changes_.wait();
  if (!is_usable()) {
    lost_ = lost_ || (session_ && !told_);
    if (Status made = co_await make_session(); !made) co_return std::move(made.error());
  }
  const SessionRef session = session_;
  ExecRequest request;
  request.code = action.code;
  request.timeout = time_for(action, patience, session->spec().limits.exec_time);
  request.capture_screenshot =
      action.capture_screenshot || action.wishes.screenshot || wishes_.wishes.screenshot;
  request.screenshot_bytes = kMaxPicture;
  if (action.render_timeout)
    request.render_timeout =
        milliseconds(static_cast<std::int64_t>(std::min(*action.render_timeout, 30.0) * 1000));
  Result<service::Run> run = operations_.execute(session, std::move(request));
  if (!run) co_return std::move(run.error());
  if (!co_await run->finished(client)) co_return service::client_left();
  const ExecRecord& record = run->record();
  Observation seen;
  seen.exit_code = record.exit_code;
  seen.out = with_line(record.out, co_await run->value());
  if (std::exchange(lost_, false))
    seen.err =
        "note: the environment's interpreter was gone and has been replaced: its variables "
        "are lost\n";
  seen.err += record.err;
  if (record.error) seen.err = with_line(std::move(seen.err), record.error->traceback);
  if (!record.state_kept) {
    told_ = session == session_;
    seen.err = with_line(std::move(seen.err), "the environment's interpreter ended (" +
                                                  std::string(to_string(record.outcome)) +
                                                  ") and is replaced: its variables are lost\n");
  }
  Judged judged;
  judged.code = record.code;
  judged.policy = record.policy;
  judged.outcome = record.outcome;
  judged.exit_code = record.exit_code;
  if (record.error) judged.error = record.error->name;
  judged.out = seen.out;
  judged.err = seen.err;
  seen.reward = co_await judge_.reward(judged);
  seen.has_screenshot = action.capture_screenshot;
  if (action.capture_screenshot && record.screenshot) seen.screenshot = base64(*record.screenshot);
  seen.metadata = metadata_of(record, wishes_.wishes, action);
  ++state_.steps;
  state_.last_exit_code = seen.exit_code;
  co_return seen;
}

}  // namespace vitrine::api::openenv
