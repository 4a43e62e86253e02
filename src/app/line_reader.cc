// SPDX-License-Identifier: Apache-2.0
#include "app/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#ifdef VITRINE_LIBEDIT
#include <histedit.h>
#endif

namespace vitrine::app {

namespace {

enum class Ready { input, interrupt, end };

// Until there is something to read, or a signal.
Ready wait_for_input(Signals& signals) {
  for (;;) {
    pollfd watched[2] = {{STDIN_FILENO, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) {
      const int signal = signals.take();
      if (signal != 0) return signal == SIGINT ? Ready::interrupt : Ready::end;
    }
    if (watched[0].revents != 0) return Ready::input;
  }
}

class PlainReader final : public LineReader {
 public:
  PlainReader(Signals& signals, bool prompts) : signals_(signals), prompts_(prompts) {}

  Line read(const char* prompt) override {
    if (prompts_) {
      std::fputs(prompt, stdout);
      std::fflush(stdout);
    }
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        Line line{Line::Kind::text, buffer_.substr(0, end + 1)};
        buffer_.erase(0, end + 1);
        return line;
      }
      const Ready ready = wait_for_input(signals_);
      if (ready == Ready::interrupt) return buffer_.clear(), Line{Line::Kind::interrupted};
      if (ready == Ready::end) return {};
      char block[4096];
      const ssize_t got = ::read(STDIN_FILENO, block, sizeof block);
      if (got > 0) buffer_.append(block, static_cast<std::size_t>(got));
      else if (buffer_.empty()) return {};
      else buffer_ += '\n';  // the last line had none
    }
  }

  void remember(const std::string&) override {}

 private:
  Signals& signals_;
  bool prompts_;
  std::string buffer_;
};

#ifdef VITRINE_LIBEDIT
class EditReader final : public LineReader {
 public:
  EditReader(Signals& signals, std::string file)
      : signals_(signals),
        file_(std::move(file)),
        editor_(::el_init("vitrine", stdin, stdout, stderr)),
        history_(::history_init()) {
    ::el_set(editor_, EL_CLIENTDATA, this);
    ::el_set(editor_, EL_PROMPT, &EditReader::prompt);
    ::el_set(editor_, EL_EDITOR, "emacs");
    ::el_set(editor_, EL_SIGNAL, 0);
    ::el_set(editor_, EL_GETCFN, &EditReader::next_character);
    ::el_source(editor_, nullptr);
    ::el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, 5000);
    ::history(history_, &event, H_SETUNIQUE, 1);
    ::history(history_, &event, H_LOAD, file_.c_str());
    ::el_set(editor_, EL_HIST, ::history, history_);
  }
  ~EditReader() override {
    HistEvent event;
    const mode_t before = ::umask(077);
    ::history(history_, &event, H_SAVE, file_.c_str());
    ::umask(before);
    ::history_end(history_);
    ::el_end(editor_);
  }
  EditReader(const EditReader&) = delete;
  EditReader& operator=(const EditReader&) = delete;

  Line read(const char* prompt) override {
    prompt_ = prompt;
    interrupted_ = false;
    int count = 0;
    const char* text = ::el_gets(editor_, &count);
    if (interrupted_) {
      ::el_reset(editor_);
      return {Line::Kind::interrupted};
    }
    if (text == nullptr || count <= 0) return {};
    return {Line::Kind::text, std::string(text, static_cast<std::size_t>(count))};
  }

  void remember(const std::string& code) override {
    HistEvent event;
    // Line by line: libedit shows one line at a time.
    for (std::size_t start = 0; start < code.size();) {
      const std::size_t end = code.find('\n', start);
      const std::string line = code.substr(start, end - start);
      if (line.find_first_not_of(" \t") != std::string::npos)
        ::history(history_, &event, H_ENTER, (line + "\n").c_str());
      start = end == std::string::npos ? code.size() : end + 1;
    }
  }

 private:
  static EditReader* self(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return static_cast<EditReader*>(data);
  }
  static char* prompt(EditLine* editor) { return const_cast<char*>(self(editor)->prompt_); }
  static int next_character(EditLine* editor, wchar_t* out) {
    EditReader& reader = *self(editor);
    std::string bytes;
    for (;;) {
      const Ready ready = wait_for_input(reader.signals_);
      if (ready == Ready::interrupt) reader.interrupted_ = true;
      if (ready != Ready::input) return 0;
      char byte = 0;
      if (::read(STDIN_FILENO, &byte, 1) != 1) return 0;
      bytes += byte;
      std::mbstate_t state{};
      const std::size_t used = std::mbrtowc(out, bytes.data(), bytes.size(), &state);
      if (used == static_cast<std::size_t>(-2)) continue;  // more bytes belong to it
      if (used == static_cast<std::size_t>(-1)) {
        *out = L'?';
        return 1;
      }
      return 1;
    }
  }

  Signals& signals_;
  std::string file_;
  EditLine* editor_;
  History* history_;
  const char* prompt_ = "";
  bool interrupted_ = false;
};
#endif

}  // namespace

std::unique_ptr<LineReader> make_line_reader(Signals& signals,
                                             [[maybe_unused]] const std::string& history) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
#ifdef VITRINE_LIBEDIT
  if (terminal) return std::make_unique<EditReader>(signals, history);
#endif
  return std::make_unique<PlainReader>(signals, terminal);
}

}  // namespace vitrine::app
