// SPDX-License-Identifier: Apache-2.0
#include "provision/installer.h"

#include "base/sha256.h"
#include "packages/copy.h"
#include "packages/requirements.h"

namespace vitrine::provision {

namespace json = boost::json;

namespace {

// The installer's word, checked: it handled hostile archives.
bool is_pin(const json::value& value) {
  const json::object* pin = value.if_object();
  if (pin == nullptr || !pin->contains("hashes") || !pin->at("hashes").is_array()) return false;
  return static_cast<bool>(
      packages::parse_requirement(text_of(*pin, "name") + "==" + text_of(*pin, "version")));
}

}  // namespace

Task<Provided> Installer::install(std::shared_ptr<Workshop> workshop) {
  if (workshop->abandoned) co_return refused(explain("cancelled", "nobody waited for it"));
  if (auto refusal = workshop->admit()) co_return refused(std::move(*refusal));
  std::optional<PackageTrouble> closed = co_await workshop->open(Workshop::Way::index);
  if (closed) co_return refused(std::move(*closed));
  std::optional<PackageTrouble> lost = co_await workshop->find_hosts();
  if (lost) co_return refused(std::move(*lost));
  json::object resolve = workshop->job("resolve");
  resolve["pins"] = to_array(workshop->order.pins);
  Workshop::Said said = co_await workshop->ask(std::move(resolve));
  if (said.trouble) co_return refused(std::move(*said.trouble));
  packages::Layer layer;
  layer.shadows = said.done.contains("shadows") && said.done.at("shadows").is_bool() &&
                  said.done.at("shadows").as_bool();
  json::value pins = said.done.contains("pins") ? said.done.at("pins") : json::value(nullptr);
  if (!pins.is_array()) co_return refused(explain("", "the installer spoke nonsense"));
  std::string resolved = inventories_.python() + (layer.shadows ? "\nshadows\n" : "\n");
  for (const json::value& pin : pins.as_array()) {
    if (!is_pin(pin)) co_return refused(explain("", "the installer named no package"));
    const std::string name = text_of(pin.as_object(), "name");
    if (auto refusal = forbidden(config_, name)) co_return refused(std::move(*refusal));
    layer.pins.push_back(name + "==" + text_of(pin.as_object(), "version"));
    resolved += json::serialize(pin) + "\n";
  }
  Provided out;
  if (layer.pins.empty()) co_return out;  // the image has it all
  // Code of packages may have run here, and may have chosen these very words: what it made is for those
  // who asked for the same and for nobody else.
  layer.sdist = workshop->order.allow_sdist;
  if (layer.sdist) resolved += "sdist\n" + workshop->order.wish + "\n";
  layer.id = sha256_hex(resolved);
  out.layer = layer.id;
  out.hold = layers_.hold(layer.id);
  if (layers_.find(layer.id) != nullptr) co_return out;
  json::object install = workshop->job("install");
  install["pins"] = std::move(pins);
  Workshop::Said installed = co_await workshop->ask(std::move(install));
  if (installed.trouble) co_return refused(std::move(*installed.trouble));
  co_return co_await fill_layer(workshop, std::move(layer));
}

Task<Provided> Installer::fill_layer(std::shared_ptr<Workshop> workshop, packages::Layer layer) {
  std::shared_ptr<session::Session> session = workshop->session();
  if (!session || workshop->abandoned)
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

}  // namespace vitrine::provision
