// SPDX-License-Identifier: Apache-2.0
// `vitrine completion`: what a shell needs to complete our words. The flags of `serve` come from the
// table of its settings.
#include <cstdio>

#include "app/commands.h"
#include "app/serve_settings.h"

namespace vitrine::app {

namespace {

struct Words {
  const char* command;
  const char* help;
  std::string words;
};

std::vector<Words> commands() {
  std::string serve;
  for (const Setting& setting : kSettings) serve += flag_of(setting) + " ";
  serve += "--host --config --ephemeral";
  const std::string target =
      "--url --token --timeout --memory --env --allow --with --allow-sdist --environment --policy "
      "--import --image";
  return {{"serve", "start the server", serve},
          {"run", "run code in a session of its own", "-c --stdin --screenshot --json " + target},
          {"packages", "manage the installed packages of a server", "list warm prune"},
          {"repl", "an interactive session", target},
          {"doctor", "report the isolation that this host supports", "--image --json"},
          {"image", "build or describe the runtime image", "build info --force --image --json"},
          {"version", "print the version", ""},
          {"completion", "print completion code for a shell", "bash zsh fish"}};
}

std::string bash(const std::vector<Words>& all) {
  std::string names;
  std::string cases;
  for (const Words& one : all) {
    names += std::string(one.command) + " ";
    cases += "    " + std::string(one.command) + ") words=\"" + one.words + " --help\" ;;\n";
  }
  return "_vitrine() {\n  local current=${COMP_WORDS[COMP_CWORD]} words\n"
         "  case ${COMP_WORDS[COMP_CWORD-1]} in\n"
         "    --data|--image) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n"
         "    --policy) COMPREPLY=($(compgen -W 'native restricted smolagents' -- \"$current\")); "
         "return ;;\n"
         "    --auth) COMPREPLY=($(compgen -W 'token none' -- \"$current\")); return ;;\n"
         "    --config|--token-file|--reward|--stdin) COMPREPLY=($(compgen -f -- \"$current\")); "
         "return ;;\n"
         "  esac\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then words=\"" +
         names + "--help\"; else case ${COMP_WORDS[1]} in\n" + cases +
         "  esac; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  if [ \"${COMP_WORDS[1]}\" = run ] && [ \"$COMP_CWORD\" -gt 1 ]; then\n"
         "    COMPREPLY+=($(compgen -f -- \"$current\"))\n  fi\n"
         "}\ncomplete -o filenames -F _vitrine vitrine\n";
}

std::string zsh(const std::vector<Words>& all) {
  std::string names;
  std::string cases;
  for (const Words& one : all) {
    names += "    '" + std::string(one.command) + ":" + one.help + "'\n";
    cases += "    " + std::string(one.command) + ") compadd -- " + one.words + " --help ;;\n";
  }
  return "#compdef vitrine\n_vitrine() {\n  local -a commands=(\n" + names +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  case $words[CURRENT-1] in\n"
         "    --data|--image) _files -/; return ;;\n"
         "    --policy) compadd native restricted smolagents; return ;;\n"
         "    --auth) compadd token none; return ;;\n"
         "    --config|--token-file|--reward|--stdin) _files; return ;;\n"
         "  esac\n"
         "  case $words[2] in\n" +
         cases +
         "  esac\n"
         "  [[ $words[2] == run ]] && _files\n"
         "}\nif [ \"$funcstack[1]\" = _vitrine ]; then _vitrine \"$@\"; else compdef _vitrine "
         "vitrine; fi\n";
}

std::string fish(const std::vector<Words>& all) {
  std::string out;
  for (const Words& one : all) {
    const std::string name = one.command;
    if (name != "run")
      out += "complete -c vitrine -n '__fish_seen_subcommand_from " + name + "' -f\n";
    out +=
        "complete -c vitrine -n __fish_use_subcommand -f -a " + name + " -d '" + one.help + "'\n";
    if (!one.words.empty())
      out += "complete -c vitrine -n '__fish_seen_subcommand_from " + name + "' -a '" + one.words +
             "'\n";
  }
  return out;
}

}  // namespace

int completion(const std::string& shell) {
  const std::vector<Words> all = commands();
  const std::string text = shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace vitrine::app
