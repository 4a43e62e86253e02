// SPDX-License-Identifier: Apache-2.0
#include "session/to_worker.h"

#include <algorithm>

namespace vitrine::session {

namespace {

// How often a worker tells the line that runs.
constexpr std::chrono::milliseconds kTellLine{10};

// Stock HTTP clients find the proxy by these; what the client set itself stands.
std::map<std::string, std::string> environment_of(const SessionSpec& spec) {
  std::map<std::string, std::string> all = spec.env;
  if (!spec.network) return all;
  const std::string proxy = "http://127.0.0.1:" + std::to_string(kProxyPort);
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"})
    all.emplace(name, proxy);
  for (const char* name : {"NO_PROXY", "no_proxy"}) all.emplace(name, "localhost,127.0.0.1,::1");
  return all;
}

}  // namespace

std::optional<wire::Setup> setup_of(const SessionSpec& spec) {
  wire::Setup setup{.environment = environment_of(spec), .seed = spec.seed, .policy = spec.policy};
  if (spec.policy != Policy::native)  // names of something else are of no use to a policy
    for (const std::string& name : spec.imports)
      if (wire::is_module_name(name) && setup.imports.size() < wire::kMaxImports)
        setup.imports.push_back(name);
  setup.packages_first = spec.layer_first;
  if (setup.environment.empty() && !spec.seed && spec.policy == Policy::native &&
      !setup.packages_first)
    return std::nullopt;
  return setup;
}

wire::Execute execute_of(const ExecRequest& request, const Limits& limits) {
  wire::Execute message{.code = request.code,
                        .stdin_mode = wire::Stdin::none,
                        .stdin_bytes = request.stdin_text.value_or(""),
                        .environment = request.env,
                        .result_limit = limits.output_bytes,
                        .render_ms = 0};
  if (request.capture_screenshot)
    message.render_ms = static_cast<std::uint32_t>(
        std::max(request.render_timeout, std::chrono::milliseconds(1)).count());
  if (request.strip) message.line_ms = kTellLine.count();
  if (request.stdin_text) message.stdin_mode = wire::Stdin::given;
  else if (request.interactive) message.stdin_mode = wire::Stdin::interactive;
  return message;
}

}  // namespace vitrine::session
