// SPDX-License-Identifier: Apache-2.0
#include "packages/layers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ctime>
#include <filesystem>
#include <sstream>

namespace vitrine::packages {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::string_view kDraft = ".new-";
constexpr std::string_view kWish = "wish-";
constexpr std::string_view kAbout = ".json";
constexpr std::size_t kMaxAbout = 4u << 20;

// Atomic: written to a temporary file, then renamed.
Status write_whole(const std::string& path, const std::string& text) {
  const std::string draft = path + ".tmp";
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error::from_errno("writing a layer's description");
  if (::rename(draft.c_str(), path.c_str()) != 0) return Error::from_errno("naming a file");
  return ok();
}

std::optional<json::object> read_object(const std::string& path) {
  Result<std::string> text = read_file(AT_FDCWD, path.c_str(), kMaxAbout);
  boost::system::error_code failed;
  if (!text) return std::nullopt;
  json::value parsed = json::parse(*text, failed);
  if (failed || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.as_object());
}

}  // namespace

Result<Layers> Layers::open(const std::string& directory) {
  Layers layers(directory);
  ::mkdir(directory.c_str(), 0755);
  std::error_code failed;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed))
    names.push_back(entry.path().filename());
  if (failed) return Error{Code::internal, "reading the package layers: " + failed.message()};
  for (const std::string& name : names)
    if (name.size() == 64 + kAbout.size() && name.ends_with(kAbout)) layers.read_about(name);
  for (const std::string& name : names) {
    const bool nameless = is_layer_name(name) && layers.find(name) == nullptr;
    if (nameless || name.starts_with(kDraft) || name.ends_with(".tmp"))
      fs::remove_all(layers.path(name), failed);
  }
  layers.forget(kMaxRemembered);
  return layers;
}

void Layers::read_about(const std::string& name) {
  const std::string id = name.substr(0, 64);
  struct stat info {};
  std::optional<json::object> about = read_object(path(name));
  if (!about || !is_layer_name(id) || !fs::is_directory(path(id)) ||
      ::stat(path(name).c_str(), &info) != 0)
    return static_cast<void>(::unlink(path(name).c_str()));
  Layer layer{.id = id, .pins = {}, .last_used = info.st_mtim.tv_sec};
  const auto number = [&](const char* key) {
    const json::value* value = about->if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : 0;
  };
  layer.shadows = number("shadows") != 0;
  layer.sdist = number("sdist") != 0;
  layer.bytes = number("bytes");
  layer.files = number("files");
  if (const json::value* python = about->if_contains("python"); python && python->is_string())
    layer.python = python->as_string();
  if (const json::value* pins = about->if_contains("pins"); pins != nullptr && pins->is_array())
    for (const json::value& pin : pins->as_array())
      if (pin.is_string()) layer.pins.emplace_back(pin.as_string());
  layers_[id] = std::move(layer);
}

const Layer* Layers::find(const std::string& id) const {
  const auto found = layers_.find(id);
  return found == layers_.end() ? nullptr : &found->second;
}

std::vector<Layer> Layers::find_all(const LayerList& ids) const {
  std::vector<Layer> all;
  for (const std::string& id : ids)
    if (const Layer* layer = find(id)) all.push_back(*layer);
  return all;
}

std::vector<std::string> Layers::pins_of(const LayerList& ids) const {
  std::vector<std::string> pins;
  for (const std::string& id : ids)
    if (const Layer* layer = find(id))
      for (const std::string& pin : layer->pins)
        if (std::ranges::find(pins, pin) == pins.end()) pins.push_back(pin);
  return pins;
}

std::vector<Layer> Layers::list() const {
  std::vector<Layer> all;
  for (const auto& [id, layer] : layers_) all.push_back(layer);
  std::ranges::sort(all, {}, &Layer::last_used);
  return all;
}

std::uint64_t Layers::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [id, layer] : layers_) sum += layer.bytes;
  return sum;
}

void Layers::touch(const std::string& id) {
  const auto found = layers_.find(id);
  if (found == layers_.end()) return;
  found->second.last_used = ::time(nullptr);
  ::utimensat(AT_FDCWD, path(id + std::string(kAbout)).c_str(), nullptr, 0);
}

bool Layers::forget_lost(const std::string& id) {
  std::error_code failed;
  if (fs::is_directory(path(id), failed)) return false;
  if (layers_.contains(id)) (void)remove(id);
  return true;
}

Result<Layers::Draft> Layers::begin() {
  Draft draft{
      .name = std::string(kDraft) + std::to_string(::getpid()) + "-" + std::to_string(++drafts_),
      .directory = {}};
  if (::mkdir(path(draft.name).c_str(), 0755) != 0) return Error::from_errno("making a layer");
  draft.directory = Fd(::open(path(draft.name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!draft.directory || ::fchmod(draft.directory.get(), 0755) != 0)
    return Error::from_errno("opening a layer");
  return draft;
}

Status Layers::commit(Draft draft, Layer layer) {
  json::object about{{"shadows", layer.shadows ? 1 : 0},
                     {"sdist", layer.sdist ? 1 : 0},
                     {"python", layer.python},
                     {"bytes", layer.bytes},
                     {"files", layer.files}};
  json::array& pins = about["pins"].emplace_array();
  for (const std::string& pin : layer.pins) pins.emplace_back(pin);
  std::error_code ignored;
  if (!layers_.contains(layer.id))
    fs::remove_all(path(layer.id), ignored);  // left by a failed attempt
  if (::rename(path(draft.name).c_str(), path(layer.id).c_str()) != 0) {
    Error error = Error::from_errno("naming a layer");
    discard(draft);
    return error;
  }
  // Last: a directory without it is not a layer.
  if (Status s = write_whole(path(layer.id + std::string(kAbout)), json::serialize(about)); !s) {
    fs::remove_all(path(layer.id), ignored);
    return s;
  }
  layer.last_used = ::time(nullptr);
  layers_[layer.id] = std::move(layer);
  return ok();
}

void Layers::discard(const Draft& draft) {
  std::error_code ignored;
  fs::remove_all(path(draft.name), ignored);
}

Layers::Hold Layers::hold(const std::string& id) {
  std::weak_ptr<const void>& known = held_[id];
  Hold hold = known.lock();
  if (!hold) known = hold = std::make_shared<const std::string>(id);
  return hold;
}

Layers::Hold Layers::hold(const LayerList& ids) {
  std::vector<Hold> holds;
  for (const std::string& id : ids) holds.push_back(hold(id));
  return std::make_shared<const std::vector<Hold>>(std::move(holds));
}

Status Layers::remove(const std::string& id) {
  if (!layers_.contains(id)) return Error{Code::not_found, "there is no such layer"};
  layers_.erase(id);
  // First the .json: without it the directory is not a layer, even after a crash here.
  if (::unlink(path(id + std::string(kAbout)).c_str()) != 0)
    return Error::from_errno("removing a layer");
  std::error_code failed;
  fs::remove_all(path(id), failed);
  return failed ? Status(Error{Code::internal, "removing a layer: " + failed.message()}) : ok();
}

std::size_t Layers::prune(std::uint64_t budget, const std::set<std::string>& in_use) {
  std::size_t removed = 0;
  std::erase_if(held_, [](const auto& one) { return one.second.expired(); });
  for (const Layer& layer : list()) {
    if (bytes() <= budget) break;
    if (in_use.contains(layer.id) || held_.contains(layer.id)) continue;
    if (remove(layer.id)) ++removed;
  }
  forget(kMaxRemembered);
  return removed;
}

std::optional<Answer> Layers::recall(const std::string& wish, std::chrono::seconds age) const {
  const std::string file = path(std::string(kWish) + wish);
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || ::time(nullptr) - info.st_mtim.tv_sec > age.count())
    return std::nullopt;
  Result<std::string> text = read_file(AT_FDCWD, file.c_str(), kMaxLayers * 65);
  if (!text) return std::nullopt;
  Answer answer;
  std::istringstream lines(*text);
  for (std::string id; std::getline(lines, id);) {
    if (find(id) == nullptr) return std::nullopt;
    answer.layers.push_back(std::move(id));
  }
  return answer;
}

void Layers::remember(const std::string& wish, const Answer& answer) {
  std::string text;
  for (const std::string& id : answer.layers) text += id + "\n";
  (void)write_whole(path(std::string(kWish) + wish), text);  // a failure only costs time
  if (++remembered_ > kMaxRemembered) forget(kMaxRemembered / 2);
}

void Layers::forget(std::size_t most) {
  std::error_code failed;
  std::vector<std::pair<std::int64_t, std::string>> kept;  // time and name
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, failed))
    if (std::string name = entry.path().filename(); name.starts_with(kWish))
      names.push_back(std::move(name));
  for (std::string& name : names) {
    struct stat info {};
    if (recall(name.substr(kWish.size()), kRemembered) && ::stat(path(name).c_str(), &info) == 0)
      kept.emplace_back(info.st_mtim.tv_sec, std::move(name));
    else ::unlink(path(name).c_str());
  }
  std::ranges::sort(kept);
  const std::size_t excess = kept.size() > most ? kept.size() - most : 0;
  for (std::size_t i = 0; i < excess; ++i) ::unlink(path(kept[i].second).c_str());
  remembered_ = kept.size() - excess;
}

}  // namespace vitrine::packages
