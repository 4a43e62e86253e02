// SPDX-License-Identifier: Apache-2.0
// How the sanitizers behave in the sanitized front (docs/decisions/0040). The keeper starts it with an
// environment of its own, so their variables cannot say it.
//
// A report goes to stderr, which is the server's log: tests/contract/served.py reads it there.

// Leaks are looked for in the unit tests. Here the search would have to attach to a process that is not
// dumpable, and what still waits at the end is never destroyed, on purpose (app/front_main.cc).
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:allow_addr2line=1";
}

extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
