// SPDX-License-Identifier: Apache-2.0
#include "session/recordings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "session/ids_and_time.h"

namespace vitrine::session {

namespace json = boost::json;
namespace encoder = wire::encoder;
using namespace std::chrono_literals;

namespace {

constexpr auto kFirstAnswer = 15s;
constexpr auto kSilence = 30s;  // it tells something each second
constexpr auto kEndTime = 8s;   // of an encoder that was asked to end; then the keeper ends it
constexpr auto kSaved = 1s;     // how often what is known is stored, at most
constexpr auto kFinishTime = 4s;

constexpr const char* kSessionEnded = "the session ended";
constexpr const char* kFrontRestarted = "the server's front was restarted";

std::string facts_of(const Recording& one) {
  const auto asked = one.asked.value_or(std::pair<std::string, std::string>());
  return json::serialize(json::object{{"format", encoder::to_string(one.wish.format)},
                                      {"max_seconds", one.wish.max_seconds},
                                      {"max_bytes", one.wish.max_bytes},
                                      {"wanted_fps", one.wish.fps},
                                      {"fps", one.fps},
                                      {"width", one.width},
                                      {"height", one.height},
                                      {"codec", one.codec},
                                      {"frames", one.progress.frames},
                                      {"ms", one.progress.milliseconds},
                                      {"encoder", one.encoder},
                                      {"keeper", one.keeper},
                                      {"asked_reason", asked.first},
                                      {"asked_detail", asked.second},
                                      {"ended_at", one.ended_at},
                                      {"reason", one.reason},
                                      {"detail", one.detail}});
}

// What we wrote ourselves; a field that is missing keeps its value.
void read_facts(const std::string& text, Recording& one) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  const json::object* in = failed ? nullptr : parsed.if_object();
  if (in == nullptr) return;
  const auto number = [&](const char* key, auto& into) {
    if (const json::value* value = in->if_contains(key); value != nullptr && value->is_number())
      into = value->to_number<std::remove_reference_t<decltype(into)>>(failed);
  };
  const auto word = [&](const char* key, std::string& into) {
    if (const json::value* value = in->if_contains(key); value != nullptr && value->is_string())
      into = std::string(value->as_string());
  };
  std::string format;
  word("format", format);
  for (const auto known :
       {encoder::Format::mp4, encoder::Format::webm, encoder::Format::apng, encoder::Format::gif})
    if (encoder::to_string(known) == format) one.wish.format = known;
  number("max_seconds", one.wish.max_seconds);
  number("max_bytes", one.wish.max_bytes);
  number("wanted_fps", one.wish.fps);
  number("fps", one.fps);
  number("width", one.width);
  number("height", one.height);
  number("frames", one.progress.frames);
  number("ms", one.progress.milliseconds);
  number("encoder", one.encoder);
  word("keeper", one.keeper);
  std::pair<std::string, std::string> asked;
  word("asked_reason", asked.first);
  word("asked_detail", asked.second);
  if (!asked.first.empty()) one.asked = std::move(asked);
  word("codec", one.codec);
  word("ended_at", one.ended_at);
  word("reason", one.reason);
  word("detail", one.detail);
}

Error disk_full() {
  return Error{.code = Code::over_limit,
               .message = "the disk with the recordings is full",
               .remedy = "delete recordings, or ask the operator to free space"};
}

Error too_many(const std::string& what) {
  return Error{.code = Code::unavailable,
               .message = what,
               .remedy = "stop one of the recordings that run, or try again later"};
}

}  // namespace

Recordings::Recordings(asio::any_io_executor executor, backend::KeeperLink& keeper,
                       store::Store& store, ExecutionObserver& observer, std::string directory,
                       RecordingLimits limits)
    : executor_(std::move(executor)),
      keeper_(keeper),
      store_(store),
      observer_(observer),
      directory_(std::move(directory)),
      limits_(limits) {}

std::string Recordings::path(const Recording& one) const {
  return directory_ + "/" + one.id + "." + std::string(encoder::to_string(one.wish.format));
}

Status Recordings::open() {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return Error::from_errno("making the directory of recordings");
  Result<std::vector<store::RecordingRow>> rows = store_.recordings();
  if (!rows) return std::move(rows.error());
  std::set<std::string> known;
  for (const store::RecordingRow& row : *rows) {
    auto one = std::make_shared<Recording>(executor_);
    one->id = row.id;
    one->session = row.session;
    one->owner = row.owner;
    one->started_at = row.started_at;
    read_facts(row.facts, *one);
    if (::access(path(*one).c_str(), F_OK) != 0) {
      (void)store_.remove_recording(row.id);
      continue;
    }
    known.insert(path(*one));
    all_[one->id] = one;
  }
  // What was begun and never told to anybody.
  DIR* listing = ::opendir(directory_.c_str());
  if (listing == nullptr) return Error::from_errno("reading the directory of recordings");
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    const std::string file = directory_ + "/" + name;
    if (name != "." && name != ".." && !known.contains(file)) ::unlink(file.c_str());
  }
  ::closedir(listing);
  make_room();
  return ok();
}

Task<void> Recordings::adopt(std::string keeper_instance) {
  instance_ = std::move(keeper_instance);
  std::vector<std::shared_ptr<Recording>> left;
  for (const auto& [id, one] : all_)
    if (one->is_running()) left.push_back(one);
  for (const std::shared_ptr<Recording>& one : left) {
    Result<std::shared_ptr<display::Recorder>> recorder =
        Error{Code::not_found, "it belonged to another keeper"};
    if (one->keeper == instance_)
      recorder = co_await display::Recorder::adopt(executor_, keeper_, one->encoder);
    if (!recorder) {
      ended(*one, "front_restarted", kFrontRestarted);
      continue;
    }
    one->recorder = std::move(*recorder);
    one->latest = Clock::now() + std::chrono::seconds(one->wish.max_seconds) + kSilence;
    if (one->asked) one->latest = Clock::now() + kEndTime;
    spawn(executor_, follow(one), "recording");
  }
}

Status Recordings::save(const Recording& one) {
  return store_.put_recording({.id = one.id,
                               .session = one.session,
                               .owner = one.owner,
                               .started_at = one.started_at,
                               .state = one.is_running() ? "recording" : "ended",
                               .facts = facts_of(one)});
}

std::size_t Recordings::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all_, [](const auto& one) { return one.second->is_running(); }));
}

std::optional<Error> Recordings::refuses(const Identity& asks) const {
  const char* remedy = "stop one of the recordings that run, or try again later";
  auto of_owner = std::ranges::count_if(all_, [&](const auto& one) {
    return one.second->is_running() && one.second->owner == asks.name;
  });
  of_owner += std::ranges::count(starting_, asks.name);
  if (asks.is_named() && static_cast<std::size_t>(of_owner) >= limits_.running_of_named)
    return Error{
        .code = Code::unavailable,
        .message = "'" + asks.name + "' has " + std::to_string(of_owner) + " running recordings",
        .remedy = remedy,
        .reason = "too_many_recordings",
        .retry_after = std::chrono::seconds(1)};
  if (running() + starting_.size() < limits_.running) return std::nullopt;
  return Error{
      .code = Code::unavailable,
      .message = "the server records " + std::to_string(limits_.running) + " displays already",
      .remedy = remedy,
      .reason = "no_capacity",
      .retry_after = std::chrono::seconds(1)};
}

Task<Result<std::shared_ptr<Recording>>> Recordings::start(std::shared_ptr<Session> session,
                                                           display::RecordingOptions wish,
                                                           Identity asks) {
  if (auto refusal = refuses(asks)) co_return std::move(*refusal);
  struct Counted {
    std::vector<std::string>& all;
    std::string owner;
    Counted(std::vector<std::string>& into, std::string whose)
        : all(into), owner(std::move(whose)) {
      all.push_back(owner);
    }
    ~Counted() { all.erase(std::ranges::find(all, owner)); }
  } const counted(starting_, asks.name);
  Result<std::shared_ptr<display::View>> view =
      co_await session->screen().open(session->keeper_id(), display::Screen::Start::if_needed);
  if (!view) co_return std::move(view.error());

  auto one = std::make_shared<Recording>(executor_);
  one->id = new_id();
  one->session = session->id;
  one->owner = session->spec().owner;
  one->wish = wish;
  const std::string file = path(*one);
  Fd film(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!film && errno == ENOSPC) co_return disk_full();
  if (!film) co_return Error::from_errno("creating the recording's file");
  struct Unneeded {  // until it has begun
    std::string path;
    ~Unneeded() {
      if (!path.empty()) ::unlink(path.c_str());
    }
  } unneeded{file};
  Result<std::shared_ptr<display::Recorder>> recorder = co_await display::Recorder::start(
      executor_, keeper_, session->keeper_id(), *view, film, wish);
  if (!recorder) {
    if (recorder.error().code == Code::over_limit) co_return too_many(recorder.error().message);
    co_return std::move(recorder.error());
  }
  Result<encoder::Reply> first = co_await (*recorder)->next(kFirstAnswer);
  if (!first) co_return std::move(first.error()).during("starting a recording");
  const auto* started = std::get_if<encoder::Started>(&*first);
  if (const auto* stopped = std::get_if<encoder::Stopped>(&*first)) {
    if (stopped->reason == encoder::Reason::disk_full) co_return disk_full();
    co_return Error{Code::unavailable, "the display cannot be recorded: " + stopped->detail};
  }
  if (started == nullptr) co_return Error{Code::internal, "the encoder broke its protocol"};
  if (session->is_ended())
    co_return Error{.code = Code::not_found, .message = "the session ended meanwhile"};
  one->recorder = *recorder;
  one->encoder = (*recorder)->encoder();
  one->keeper = instance_;
  one->width = started->width;
  one->height = started->height;
  one->fps = started->fps;
  one->codec = started->codec;
  one->started_at = now_rfc3339();
  one->latest = Clock::now() + std::chrono::seconds(wish.max_seconds) + kSilence;
  if (Status saved = save(*one); !saved) co_return std::move(saved.error());
  unneeded.path.clear();
  all_[one->id] = one;
  observer_.recording_changed(*one, size(*one));
  spawn(executor_, follow(one), "recording");
  co_return one;
}

// Until its end. Whatever it says, it has an end.
Task<void> Recordings::follow(std::shared_ptr<Recording> one) {
  auto saved = Clock::now();
  while (one->is_running()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(one->latest - Clock::now());
    const auto patience = std::min<std::chrono::milliseconds>(kSilence, std::max(left, 0ms));
    std::shared_ptr<display::Recorder> recorder = one->recorder;
    Result<encoder::Reply> reply = co_await recorder->next(patience);
    if (!reply || Clock::now() > one->latest) {
      const bool stuck = reply || reply.error().code == Code::timed_out;
      const std::string why =
          stuck ? "the encoder did not answer in time and is killed" : reply.error().message;
      ended(*one, stuck ? "encoder_stuck" : "encoder_died",
            why + "; the recording can be played up to about its last second");
      break;
    }
    if (const auto* stopped = std::get_if<encoder::Stopped>(&*reply)) {
      take_progress(*one, stopped->progress);
      std::string reason(encoder::to_string(stopped->reason));
      std::string detail = stopped->detail;
      // Nobody asked from here: then the keeper did, which ends encoders with their session.
      if (stopped->reason == encoder::Reason::asked)
        std::tie(reason, detail) = one->asked.value_or(
            std::pair<std::string, std::string>("session_ended", kSessionEnded));
      ended(*one, reason, detail);
    } else if (const auto* progress = std::get_if<encoder::Progress>(&*reply)) {
      take_progress(*one, *progress);
      if (Clock::now() - saved < kSaved) continue;
      saved = Clock::now();
      if (!one->removed) (void)save(*one);
    }
  }
}

// The encoder's word: a count that goes back adds nothing.
void Recordings::take_progress(Recording& one, const encoder::Progress& progress) {
  constexpr std::uint64_t kMost = 60ull * 3600 * 24;  // frames of the longest film
  if (progress.frames > one.progress.frames && progress.frames <= kMost)
    frames_ += progress.frames - one.progress.frames;
  one.progress = progress;
}

void Recordings::ended(Recording& one, std::string reason, std::string detail) {
  one.ended_at = now_rfc3339();
  one.reason = std::move(reason);
  one.detail = std::move(detail);
  if (one.recorder) one.recorder->close();
  one.recorder.reset();
  if (!one.removed) (void)save(one);
  one.changes.notify_all();
  observer_.recording_changed(one, size(one));
  make_room();
}

void Recordings::ask_to_end(Recording& one, std::string reason, std::string detail) {
  if (!one.is_running() || one.asked || !one.recorder) return;
  one.asked.emplace(std::move(reason), std::move(detail));
  if (!one.removed) (void)save(one);
  one.latest = std::min(one.latest, Clock::now() + kEndTime);
  one.recorder->stop(kEndTime);
}

Task<void> Recordings::stop(std::shared_ptr<Recording> one) {
  ask_to_end(*one, "asked", "");
  while (one->is_running()) co_await one->changes.wait();
}

void Recordings::remove(std::shared_ptr<Recording> one) {
  one->removed = true;
  all_.erase(one->id);
  ::unlink(path(*one).c_str());
  (void)store_.remove_recording(one->id);
  ask_to_end(*one, "asked", "");
}

void Recordings::display_ended(const std::string& session, const std::string& /*why*/) {
  for (auto& [id, one] : all_)
    if (one->session == session) ask_to_end(*one, "display_ended", "the session's X server ended");
}

Task<void> Recordings::finish_all() {
  for (auto& [id, one] : all_) ask_to_end(*one, "server_stopped", "the server was stopped");
  const auto latest = Clock::now() + kFinishTime;
  Timer timer(executor_);
  while (running() > 0 && Clock::now() < latest) {
    timer.expires_after(20ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// The oldest film of whoever has most of them goes first: nobody loses theirs to another's.
void Recordings::make_room() {
  std::vector<std::shared_ptr<Recording>> kept;
  std::map<std::string, std::uint64_t> of_owner;
  std::uint64_t total = 0;
  for (auto& [id, one] : all_) {
    if (one->is_running()) continue;
    kept.push_back(one);
    total += size(*one);
    of_owner[one->owner] += size(*one);
  }
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return std::tie(a->started_at, a->id) < std::tie(b->started_at, b->id);
  });
  while (!kept.empty() && (total > limits_.kept_bytes || kept.size() > limits_.kept)) {
    const auto greedy =
        std::ranges::max_element(of_owner, {}, [](const auto& entry) { return entry.second; });
    const auto oldest =
        std::ranges::find_if(kept, [&](const auto& one) { return one->owner == greedy->first; });
    if (oldest == kept.end()) {
      of_owner.erase(greedy);
      continue;
    }
    const std::uint64_t bytes = size(**oldest);
    total -= bytes;
    greedy->second -= bytes;
    remove(*oldest);
    kept.erase(oldest);
  }
}

std::shared_ptr<Recording> Recordings::find(const std::string& session, const std::string& id,
                                            const Identity& asks) const {
  const auto found = all_.find(id);
  if (found == all_.end() || found->second->session != session) return nullptr;
  return asks.sees_all || found->second->owner == asks.name ? found->second : nullptr;
}

std::vector<std::shared_ptr<Recording>> Recordings::list(const std::string& session,
                                                         const Identity& asks) const {
  std::vector<std::shared_ptr<Recording>> found;
  for (const auto& [id, one] : all_)
    if (one->session == session && (asks.sees_all || one->owner == asks.name)) found.push_back(one);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tie(a->started_at, a->id) < std::tie(b->started_at, b->id);
  });
  return found;
}

Result<Fd> Recordings::film(const Recording& one) const {
  Fd file(::open(path(one).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error::from_errno("opening the recording");
  return file;
}

std::uint64_t Recordings::size(const Recording& one) const {
  struct stat info {};
  return ::stat(path(one).c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace vitrine::session
