// SPDX-License-Identifier: Apache-2.0
#include "provision/installer.h"

#include "base/sha256.h"
#include "packages/copy.h"
#include "packages/requirements.h"
#include "provision/layer_plan.h"

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

Task<Result<Provided>> Installer::install(std::shared_ptr<InstallSession> installation) {
  if (installation->abandoned) co_return explain("cancelled", "nobody waited for it");
  Status admitted = co_await installation->admit();
  if (!admitted) co_return std::move(admitted.error());
  Status opened = co_await installation->open(InstallSession::Way::index);
  if (!opened) co_return std::move(opened.error());
  Status found = co_await installation->find_hosts();
  if (!found) co_return std::move(found.error());
  json::object resolve = installation->job("resolve");
  resolve["pins"] = to_array(installation->order.pins);
  resolve["built"] = to_array(installation->order.built);
  Result<json::object> said = co_await installation->ask(std::move(resolve));
  if (!said) co_return std::move(said.error());
  packages::Layer layer{.id = {}, .pins = {}, .python = inventories_.python()};
  layer.shadows =
      said->contains("shadows") && said->at("shadows").is_bool() && said->at("shadows").as_bool();
  const json::value all = said->contains("pins") ? said->at("pins") : json::value(nullptr);
  if (!all.is_array()) co_return explain("", "the installer's output is invalid");
  std::vector<Pin> named;
  for (const json::value& pin : all.as_array()) {
    if (!is_pin(pin)) co_return explain("", "the installer named no package");
    const json::object& one = pin.as_object();
    named.push_back({packages::normalised(text_of(one, "name")), text_of(one, "version")});
    if (auto refusal = forbidden(config_, named.back().name)) co_return std::move(*refusal);
  }
  const std::vector<packages::Layer> has = layers_.find_all(installation->order.layers);
  const LayerPlan plan = plan_layers(has, named);
  if (!plan.unlisted.empty()) co_return explain("", "the installer left out packages");
  Provided out;
  out.layers = plan.kept;
  if (plan.added.empty()) co_return out;  // the image and the session have it all
  json::array pins;
  std::string resolved = layer.python + (layer.shadows ? "\nshadows\n" : "\n");
  for (const std::size_t i : plan.added) {
    layer.pins.push_back(named[i].text());
    resolved += json::serialize(all.as_array()[i]) + "\n";
    pins.push_back(all.as_array()[i]);
  }
  // Code of packages may have run here, and may have chosen these very words: what it made is for those
  // who asked for the same and for nobody else.
  layer.sdist = installation->order.allow_sdist;
  if (layer.sdist) resolved += "sdist\n" + installation->order.wish + "\n";
  layer.id = sha256_hex(resolved);
  out.layers.push_back(layer.id);
  out.hold = layers_.hold(out.layers);
  if (layers_.find(layer.id) != nullptr) co_return out;
  json::object install = installation->job("install");
  install["pins"] = std::move(pins);
  Result<json::object> installed = co_await installation->ask(std::move(install));
  if (!installed) co_return std::move(installed.error());
  Status filled = co_await fill_layer(installation, std::move(layer));
  if (!filled) co_return std::move(filled.error());
  co_return out;
}

Task<Status> Installer::fill_layer(std::shared_ptr<InstallSession> installation,
                                   packages::Layer layer) {
  std::shared_ptr<session::Session> session = installation->session();
  if (!session || installation->abandoned) co_return explain("cancelled", "nobody waited for it");
  Result<packages::Layers::Draft> draft = layers_.begin();
  if (!draft)
    co_return package_error("disk_full", draft.error().message, "make room on the server\'s disk",
                            Code::over_limit);
  packages::CopyLimits limits;
  limits.bytes = config_.layer_bytes;
  limits.files = config_.layer_files;
  Result<packages::Copied> copied = co_await packages::copy_tree(
      keeper_, session->keeper_id(), "layer", draft->directory.get(), limits);
  if (!copied) {
    layers_.discard(*draft);
    const Code code = copied.error().code;
    co_return explain(code == Code::over_limit         ? "too_big"
                      : code == Code::invalid_argument ? "bad_package"
                                                       : "",
                      copied.error().message);
  }
  layer.bytes = copied->bytes;
  layer.files = copied->files;
  if (layers_.find(layer.id) != nullptr) {  // another wish came to the same, and was first
    layers_.discard(*draft);
    co_return ok();
  }
  if (Status s = layers_.commit(std::move(*draft), std::move(layer)); !s)
    co_return package_error("disk_full", s.error().message, "make room on the server\'s disk",
                            Code::over_limit);
  ++installations_;
  layers_.prune(config_.budget_bytes, registry_.layers_in_use());
  co_return ok();
}

}  // namespace vitrine::provision
