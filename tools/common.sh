# SPDX-License-Identifier: Apache-2.0
# What ./dev and the scripts beside this file share; sourced, with the repository as the directory.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }
fail() {  # fail MESSAGE [REMEDY]: ends the script
  say "dev: $1"
  if [ $# -gt 1 ]; then say "  remedy: $2"; fi
  exit 1
}
now() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }  # microseconds
since() {
  local tenths=$((($(now) - $1) / 100000))
  printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

# Runs a noisy step: its output goes to a log, and is shown only if it fails.
step() {  # step LOG TEXT PROGRAM...
  local log=build/log/$1.log text=$2 start
  shift 2
  start=$(now)
  mkdir -p build/log
  printf '  %s ... ' "$text" >&2
  if ("$@") >"$log" 2>&1 9>&-; then
    say "$(since "$start")"
  else
    say "failed after $(since "$start")"
    tail -n 60 "$log" >&2
    say "  (the whole output: $log)"
    return 1
  fi
}

# The clang that fits the release's C++ library.
clang_version() {
  case $(. /etc/os-release && printf '%s' "${ID:-}-${VERSION_ID:-}") in
    ubuntu-24.* | ubuntu-25.*) echo 18 ;;
    debian-13) echo 19 ;;
    *) echo 14 ;;
  esac
}
