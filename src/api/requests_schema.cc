// SPDX-License-Identifier: Apache-2.0
// What the native API's requests may hold.
#include <algorithm>

#include "api/schemas.h"
#include "model/geometry.h"
#include "model/network.h"
#include "service/screens.h"
#include "session/worker_rules.h"

namespace vitrine::api {

using namespace row;

namespace {

constexpr std::size_t kMaxCode = 8u << 20;
constexpr std::size_t kMaxStdin = 4u << 20;
constexpr std::size_t kMaxNames = 100;  // of packages or modules
constexpr std::size_t kMaxName = 1000;  // bytes; what is longer is no name, whoever reads it

std::vector<Field> joined(std::initializer_list<const std::vector<Field>*> parts) {
  std::vector<Field> all;
  for (const auto* part : parts)
    for (const Field& field : *part) {
      const auto same = [&](const Field& other) { return other.name == field.name; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(field);
    }
  return all;
}

Field variables(std::string_view help) {
  return map("env", session::kMaxEnvironment, "none", help);
}

}  // namespace

const Schema kLimits{
    .name = "Limits",
    .fields = {
        whole("memory_mb", 16, 1 << 20, "512",
              "memory of all processes of the session, swap excluded; files not counted"),
        number("cpus", 0.01, 1024, "1", "CPU time per wall time, all processes together"),
        whole("processes", 4, 32'768, "64",
              "processes and threads; the session's init and worker included, and three more once "
              "it has opened a window: the X server, its helper, and the process that starts the "
              "helper again"),
        whole("disk_mb", 1, 1 << 20, "256", "all files: home, `/tmp` and `/dev/shm` together"),
        whole("output_kb", 1, 64 * 1024, "1024",
              "stdout, stderr and results of one execution, each"),
        number("exec_timeout_s", 0.001, 86'400, "30",
               "one execution, unless it has its own `timeout_s`"),
        number("idle_timeout_s", 1, 30 * 86'400, "1800",
               "time in which nothing runs, waits or is requested of the session"),
        number("install_timeout_s", 0.001, 86'400, "300",
               "installations of packages that the session's creation or one of its executions "
               "waits for, together; they do not count towards `exec_timeout_s`. One installation "
               "lasts at most the server's `--install-timeout`")}};

const Schema kDisplay{.name = "Display",
                      .fields = {whole("width", kLeastScreen, kMostScreen, "1024", "pixels"),
                                 whole("height", kLeastScreen, kMostScreen, "768", "pixels")}};

const Schema kNetwork{
    .name = "Network",
    .fields = {required(texts("allow", 1, kMaxNetworkRules, kMaxRuleSize,
                              "`HOST` or `HOST:PORT`; [network.md](network.md)"))}};

const Schema kPackages{
    .name = "Packages",
    .fields = {
        texts("packages", 0, kMaxNames, kMaxName,
              "requirement strings: `\"polars==1.*\"`; [packages.md](packages.md)"),
        texts("imports", 0, kMaxNames, kMaxName,
              "modules that it imports: `\"cv2\"`; missing ones are installed, and the policies "
              "`restricted` and `smolagents` allow them in addition to their own"),
        flag("allow_sdist", "`false`",
             "build packages that have only a source distribution, in a jail; "
             "[packages.md](packages.md)")}};

namespace {

const std::vector<Field> kSessionAlone{
    text("name", 200, "`\"\"`", "for people; need not be unique"),
    choice("isolation", {"process", "wasm", "vm"}, "`\"process\"`",
           "how the session is isolated; `GET /v1/info` lists those that the server has, "
           "another one is 422 "
           "`isolation_unavailable`"),
    choice("policy", {"native", "restricted", "restrictedpython", "smolagents"},
           "the server's, usually `\"native\"`",
           "what the language may do; not a security boundary. [policies.md](policies.md)"),
    variables("names to 256 bytes, values to 128 KiB. Refused: `LD_*`, `GLIBC_TUNABLES`, "
              "`PYTHONPATH`, `PYTHONHOME`, `PYTHONSTARTUP`, `PYTHONINSPECT`, `BASH_ENV`, `ENV`, "
              "`GCONV_PATH`"),
    whole("seed", 0, INT64_MAX, "none",
          "fixes `random`, numpy's global generator and `hash()` of strings"),
    object("limits", &kLimits, "", "the eight of [limits.md](limits.md)"),
    text("environment", 64, "`\"default\"`",
         "packages that the operator built; `GET /v1/info` lists them, an unknown one is 400 "
         "`unknown_environment`"),
    object("network", &kNetwork, "none", "hosts that it may reach; [network.md](network.md)"),
    object("display", &kDisplay, "1024x768", "the session's display; [display.md](display.md)")};

}  // namespace

const Schema kSession{.name = "Session", .fields = joined({&kSessionAlone, &kPackages.fields})};

const Schema kCapture{
    .name = "Capture",
    .fields = {whole("every_ms", 20, 60'000, "none", "the time between two screenshots"),
               flag("on_change", "`false`", "a screenshot whenever the display has changed"),
               whole("max", 1, 100, "20", "screenshots at most")}};

const Schema kExec{
    .name = "Exec",
    .fields = {
        required(text("code", kMaxCode, "",
                      "Python; also `!cmd`, top-level `await` and the magics of "
                      "`runtime/README.md`")),
        number("timeout_s", 0.001, 86'400, "the session's `exec_timeout_s`",
               "counts from the start of the code; time in the queue does not count"),
        text("stdin", kMaxStdin, "none",
             "what `input()` and `sys.stdin` read; without it `input()` raises `EOFError`"),
        variables("for this execution only; rules as for a session"),
        choice("on_disconnect", {"interrupt", "continue"}, "`\"interrupt\"`",
               "what happens if the client disconnects before the response"),
        flag("capture_screenshot", "`false`",
             "a screenshot in `screenshot`; [display.md](display.md)"),
        object("capture", &kCapture, "none",
               "`every_ms` or `on_change`, `max`: screenshots while it runs, in `frames`; "
               "[display.md](display.md#screenshots-during-an-execution)"),
        number("render_timeout", 0, 60, "0.5", "seconds for painting once the code has ended"),
        number("display_time", 0, 3600, "3",
               "seconds after which a program that keeps painting is captured, and ended")}};

const Schema kRun{.name = "Run", .fields = joined({&kExec.fields, &kSession.fields})};

const Schema kReset{.name = "Reset",
                    .fields = {choice("files", {"keep", "wipe"}, "`\"wipe\"`",
                                      "whether the session's files stay")}};

const Schema kRecording{
    .name = "Recording",
    .fields = {whole("fps", 1, service::encoder::kMaxFps, "15", "frames in a second, at most"),
               choice("format", {"mp4", "webm", "gif", "apng"}, "`\"mp4\"`",
                      "the last two are at most 640 pixels wide and 10 frames a second"),
               whole("max_seconds", 1, 3600, "300", "it ends by itself after this time"),
               whole("max_mb", 1, 1024, "64", "and at this size; the server may allow less")}};

const Schema kPrune{
    .name = "Prune",
    .fields = {whole("keep_mb", 0, 1 << 30, "0", "layers that may stay, newest first")}};

const Schema kInputEvent{
    .name = "InputEvent",
    .fields = {required(choice("type",
                               {"move", "click", "double_click", "drag", "scroll", "text", "key",
                                "mouse_down", "mouse_up", "key_down", "key_up", "wait", "close"},
                               "", "which of the others it takes: [display.md](display.md)")),
               number("x", -service::screen::kMaxCoordinate, service::screen::kMaxCoordinate,
                      "where the pointer is", "pixels from the left"),
               number("y", -service::screen::kMaxCoordinate, service::screen::kMaxCoordinate,
                      "where the pointer is", "pixels from the top"),
               number("to_x", -service::screen::kMaxCoordinate, service::screen::kMaxCoordinate,
                      "none", "`drag`: where it ends"),
               number("to_y", -service::screen::kMaxCoordinate, service::screen::kMaxCoordinate,
                      "none", "`drag`: where it ends"),
               whole("button", 1, service::screen::kMaxButton, "1", "1 left, 2 middle, 3 right"),
               whole("count", 1, service::screen::kMaxClicks, "1", "`click`: how often"),
               whole("steps", 1, service::screen::kMaxSteps, "10", "`drag`: movements"),
               number("dx", -service::screen::kMaxScroll, service::screen::kMaxScroll, "0",
                      "`scroll`: notches to the right"),
               number("dy", -service::screen::kMaxScroll, service::screen::kMaxScroll, "0",
                      "`scroll`: notches down"),
               text("text", service::screen::kMaxCharacters * 4, "none", "`text`: what is typed"),
               text("key", service::screen::kMaxKey, "none", "`key`: `\"Return\"`, `\"ctrl+s\"`"),
               whole("ms", 0, service::screen::kMaxWait, "100", "`wait`: milliseconds"),
               whole("window", 0, 0xFFFFFFFF, "the active one", "`close`: which window")}};

const Schema kInput{
    .name = "Input",
    .fields = {required(list("events", &kInputEvent, "1 to 1000, delivered in their order"))}};

}  // namespace vitrine::api
