// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/page.h"

namespace vitrine::api::openenv {

std::string page_html() {
  return R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Vitrine</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem; }
  textarea, pre { font: 14px/1.4 ui-monospace, monospace; width: 100%; box-sizing: border-box; }
  textarea { height: 10rem; padding: .6rem; }
  pre { background: #f4f4f2; padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.4em; }
  pre.err { background: #fbeeee; }
  button { font: inherit; padding: .3rem 1rem; margin-right: .5rem; }
  #state { color: #666; }
</style></head><body>
<h1>Vitrine</h1>
<p>An OpenEnv coding environment. Variables last until the next reset.</p>
<textarea id="code" spellcheck="false">import sys
print(sys.version)
6 * 7</textarea>
<p><button id="step">Run (Ctrl+Enter)</button><button id="reset">Reset</button><span id="state"></span></p>
<pre id="out"></pre><pre id="err" class="err" hidden></pre>
<script>
const $ = id => document.getElementById(id);
async function call(path, body) {
  const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  const got = await answer.json();
  const seen = got.observation || {stdout: "", stderr: JSON.stringify(got.detail), exit_code: answer.status};
  $("out").textContent = seen.stdout; $("err").textContent = seen.stderr; $("err").hidden = !seen.stderr;
  const state = await (await fetch("/web/state")).json();
  $("state").textContent = `step ${state.step_count}, exit code ${seen.exit_code}, reward ${got.reward}`;
}
$("step").onclick = () => call("/web/step", {action: {code: $("code").value}});
$("reset").onclick = () => call("/web/reset", {});
$("code").onkeydown = e => { if (e.ctrlKey && e.key === "Enter") $("step").click(); };
</script></body></html>
)html";
}

std::string docs_html() {
  return R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Vitrine: its API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
  summary { cursor: pointer; padding: .25rem 0; font-family: ui-monospace, monospace; }
  summary b { display: inline-block; width: 4.5rem; }
  summary i { font-family: system-ui, sans-serif; color: #666; }
  pre { background: #f4f4f2; padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
</style></head><body>
<h1 id="title">API</h1><p>From <a href="/openapi.json">/openapi.json</a>. To try it: <a href="/web/">/web/</a>.</p>
<div id="list"></div>
<script>
(async () => {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("title").textContent = `${api.info.title} ${api.info.version}`;
  for (const [path, verbs] of Object.entries(api.paths))
    for (const [verb, what] of Object.entries(verbs)) {
      const one = document.createElement("details"), head = document.createElement("summary");
      const put = (tag, text) => head.append(Object.assign(document.createElement(tag), {textContent: text}));
      put("b", verb.toUpperCase()); put("span", path + " "); put("i", what.summary || "");
      one.append(head, Object.assign(document.createElement("pre"), {textContent: JSON.stringify(what, null, 2)}));
      document.getElementById("list").append(one);
    }
})();
</script></body></html>
)html";
}

}  // namespace vitrine::api::openenv
