// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/judge.h"

#include <boost/json.hpp>

#include "service/async.h"

namespace vitrine::api::openenv {

namespace json = boost::json;
using session::Task;

namespace {

constexpr std::size_t kTogether = 64;
constexpr std::size_t kBytesTogether = 256u << 10;
constexpr std::size_t kMaxOutput = 64u << 10;
constexpr std::chrono::milliseconds kTime{3000};      // of a few
constexpr std::chrono::milliseconds kPatience{7000};  // with what is judged before

// Reads the rules from its input, and says what is wrong with them.
constexpr const char* kProgram = R"py(
import ast, json, re, sys

def _parses(code):
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True

_TESTS = {
    "code_matches": lambda step, pattern: re.search(pattern, step["code"]) is not None,
    "code_length_at_most": lambda step, size: len(step["code"].strip()) <= size,
    "code_length_at_least": lambda step, size: len(step["code"].strip()) >= size,
    "parses": lambda step, wanted: _parses(step["code"]) == wanted,
    "outcome": lambda step, names: step["outcome"] in names,
    "exit_code": lambda step, codes: step["exit_code"] in codes,
    "stdout_matches": lambda step, pattern: re.search(pattern, step["stdout"]) is not None,
    "stderr_matches": lambda step, pattern: re.search(pattern, step["stderr"]) is not None,
    "stdout_equals": lambda step, text: step["stdout"].strip() == text.strip(),
}
_OUTCOMES = ("ok", "exception", "policy", "interrupted", "timeout", "oom", "crashed")

def _number(value):
    return type(value) in (int, float)

def _checked(rule, where):
    if type(rule) is not dict or set(rule) - {"if", "add"} or not _number(rule.get("add")):
        return f'{where} must be {{"if": {{...}}, "add": number}}'
    tests = rule.get("if", {})
    if type(tests) is not dict:
        return f"{where}.if must be an object"
    for name, value in tests.items():
        if name not in _TESTS:
            return f"{where}.if.{name}: there is no such test; there are {', '.join(_TESTS)}"
        if name.endswith("_matches"):
            try:
                re.compile(value)
            except (re.error, TypeError) as error:
                return f"{where}.if.{name} is no regular expression: {error}"
        elif name.startswith("code_length") and (type(value) is not int or value < 0):
            return f"{where}.if.{name} must be a whole number from 0 up"
        elif name == "parses" and type(value) is not bool:
            return f"{where}.if.parses must be true or false"
        elif name == "stdout_equals" and type(value) is not str:
            return f"{where}.if.stdout_equals must be a text"
        elif name == "outcome" and (type(value) is not list or set(value) - set(_OUTCOMES)):
            return f"{where}.if.outcome must be a list of {', '.join(_OUTCOMES)}"
        elif name == "exit_code" and (type(value) is not list or any(type(x) is not int for x in value)):
            return f"{where}.if.exit_code must be a list of whole numbers"
    return None

def _load(text):
    rules = json.loads(text)
    if type(rules) is not dict or set(rules) - {"groups"} or type(rules.get("groups")) is not list:
        return 'the rules must be {"groups": [...]}', None
    for g, group in enumerate(rules["groups"]):
        if type(group) is not dict or set(group) - {"rules", "first_only"}:
            return f'groups[{g}] must be {{"rules": [...], "first_only": true or false}}', None
        if type(group.get("rules")) is not list or type(group.get("first_only", False)) is not bool:
            return f'groups[{g}] must be {{"rules": [...], "first_only": true or false}}', None
        for r, rule in enumerate(group["rules"]):
            wrong = _checked(rule, f"groups[{g}].rules[{r}]")
            if wrong:
                return wrong, None
    return None, rules["groups"]

def _judged(step):
    total = 0.0
    for group in _groups:
        part = 0.0
        for rule in group["rules"]:
            if all(_TESTS[name](step, value) for name, value in rule.get("if", {}).items()):
                part += rule["add"]
                if group.get("first_only", False):
                    break
        total += part
    return total

try:
    _wrong, _groups = _load(sys.stdin.read())
except ValueError as error:
    _wrong, _groups = f"the rules are not JSON: {error}", None
print(_wrong or "ok")
)py";
constexpr const char* kJudge = "print(json.dumps([_judged(s) for s in json.load(sys.stdin)]))";

std::string_view beginning(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

std::string_view judging_program() { return kProgram; }

Judge::Judge(asio::any_io_executor executor, service::Operations& operations, std::string rules)
    : operations_(operations),
      rules_(std::move(rules)),
      is_openenv_(rules_ == openenv_rules()),
      changes_(executor),
      executor_(executor) {}

Task<Result<std::string>> Judge::ask(std::string code, std::string input) {
  ExecRequest request;
  request.code = std::move(code);
  request.stdin_text = std::move(input);
  request.timeout = kTime;
  Result<service::Run> run = operations_.execute(session_, std::move(request));
  if (!run) co_return std::move(run.error());
  co_await run->ended();
  const ExecRecord& record = run->record();
  if (record.outcome != Outcome::ok)
    co_return Error{Code::internal, "the judge ended as " + std::string(to_string(record.outcome))};
  co_return record.out;
}

Task<Status> Judge::open() {
  attached_ = {};
  if (const service::SessionRef old = std::exchange(session_, nullptr))
    (void)co_await operations_.end(old);  // its place may be the only one left
  service::SessionRequest request;
  request.spec.name = "rewards";
  request.spec.variant = Variant::bare;
  request.spec.lifetime = Lifetime::service;  // is in no list, and of no use to the next front
  service::NoClient nobody;
  Result<service::SessionRef> made = co_await operations_.create(std::move(request), nobody);
  if (!made) co_return std::move(made.error());
  session_ = std::move(*made);
  attached_ = operations_.attach(session_);
  Result<std::string> said = co_await ask(std::string(judging_program()), rules_);
  if (!said) co_return std::move(said.error());
  if (*said == "ok\n") co_return ok();
  co_return Error{.code = Code::invalid_argument,
                  .message = "reward: " + said->substr(0, said->find('\n')),
                  .remedy = "correct the file of --reward; docs/rewards.md describes it"};
}

Task<Status> Judge::start() {
  if (rules_.empty() || is_openenv_) co_return ok();
  co_return co_await open();
}

Task<std::optional<double>> Judge::reward(const Judged& judged) {
  if (rules_.empty()) co_return 0.0;
  if (is_openenv_)
    if (std::optional<double> known = openenv_reward(judged)) co_return known;
  auto mine = std::make_shared<Case>();
  mine->json = json::serialize(json::object{{"code", beginning(judged.code, kMaxJudgedCode)},
                                            {"outcome", to_string(judged.outcome)},
                                            {"exit_code", judged.exit_code},
                                            {"stdout", beginning(judged.out, kMaxOutput)},
                                            {"stderr", beginning(judged.err, kMaxOutput)}});
  waiting_.push_back(mine);
  if (!judging_) {
    judging_ = true;
    spawn(
        executor_, [](Judge* self) -> Task<void> { co_await self->judge_all(); }(this), "reward");
  }
  const auto latest = Clock::now() + kPatience;
  while (!mine->done && Clock::now() < latest) co_await changes_.wait(latest);
  co_return mine->reward;
}

Task<bool> Judge::judge(std::vector<std::shared_ptr<Case>> cases) {
  if (!session_ || !session_->is_usable()) {
    if (Status ready = co_await open(); !ready) co_return false;
  }
  std::string input = "[";
  for (const auto& one : cases) input += (input.size() == 1 ? "" : ",") + one->json;
  input += "]";
  Result<std::string> said = co_await ask(kJudge, std::move(input));
  if (!said) co_return false;
  boost::system::error_code failed;
  const json::value list = json::parse(*said, failed);
  if (failed || !list.is_array() || list.as_array().size() != cases.size()) co_return false;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (const json::value& one = list.as_array()[i]; one.is_number())
      cases[i]->reward = one.to_number<double>();
  co_return true;
}

Task<void> Judge::judge_all() {
  // However it ends, the next one that waits starts it again.
  struct Judging {
    bool& on;
    ~Judging() { on = false; }
  } judging{judging_};
  while (!waiting_.empty()) {
    std::vector<std::shared_ptr<Case>> cases;
    for (std::size_t bytes = 0; cases.size() < kTogether && cases.size() < waiting_.size();) {
      bytes += waiting_[cases.size()]->json.size();
      if (bytes > kBytesTogether && !cases.empty()) break;
      cases.push_back(waiting_[cases.size()]);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(cases.size()));
    // One of them may have broken it: then each is judged for itself.
    if (!co_await judge(cases) && cases.size() > 1)
      for (const auto& one : cases) {
        std::vector<std::shared_ptr<Case>> alone(1, one);
        (void)co_await judge(std::move(alone));
        one->done = true;
        changes_.notify_all();
      }
    for (const auto& one : cases) one->done = true;
    changes_.notify_all();
  }
}

}  // namespace vitrine::api::openenv
