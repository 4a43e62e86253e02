// SPDX-License-Identifier: Apache-2.0
// The window manager: a painted root, windows that are placed, stacked and given the keyboard.
//
// It draws no frames. A window that asks to be shown is placed (placement.h), raised and focused; a
// dialog stays above its main window; when the active window goes, the next one gets the keyboard,
// which is never nobody's. If a program of the session is a window manager itself, this one stands
// back and only paints.
//
// Trust: the programs it serves are hostile. Nothing grows beyond kMaxManaged windows, and settle()
// does what many events want at once only once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "screen/placement.h"
#include "screen/x.h"

namespace vitrine::screen {

using Clock = std::chrono::steady_clock;

class WindowManager {
 public:
  static constexpr std::size_t kMaxManaged = 4096;
  static constexpr std::uint32_t kRootColour = 0x20242b;

  explicit WindowManager(const X& x) : x_(x) {}

  // Paints the root, becomes the window manager and takes over the windows that are there.
  Status start();

  void handle(const xcb_generic_event_t& event);

  // Gives the keyboard to whom it belongs, and tells programs. Not more often than every few ms.
  void settle(Clock::time_point now);
  // When settle() has something to do.
  std::optional<Clock::time_point> wakes() const;

  // The pointer pressed a button: the window below it comes up and gets the keyboard.
  void pressed();
  bool can_close(xcb_window_t window) const;
  // Asks the window's program to close it; 0 = the active one.
  void close(xcb_window_t window);

  // Asks the active window's program for a sign that it has read its events up to here. Nothing if it
  // knows no such sign.
  std::optional<std::uint32_t> ping();
  // The last sign that came.
  std::uint32_t ponged() const { return ponged_; }

  // The managed window that has the keyboard, whichever of its parts does; 0 = none.
  xcb_window_t active() const;
  Rect screen() const { return screen_; }
  xcb_window_t own_window() const { return check_; }

 private:
  struct Client {
    Rect rect;
    xcb_window_t parent = 0;    // the window a dialog belongs to
    std::optional<Rect> saved;  // before it filled the screen
    bool takes_focus = true;
    bool above = false;
  };

  void announce();
  void manage(xcb_window_t window, bool was_mapped);
  void forget(xcb_window_t window);
  void raise(xcb_window_t window);
  void request_focus(xcb_window_t window);
  void focus(xcb_window_t window);
  void move(xcb_window_t window, Client& client, const Rect& rect);
  void notify_geometry(xcb_window_t window, const Rect& rect) const;
  void configure(const xcb_configure_request_event_t& request);
  void message(const xcb_client_message_event_t& message);
  void change_state(xcb_window_t window, const xcb_client_message_event_t& message);
  void fill_screen(xcb_window_t window, Client& client, bool fill);
  void send(xcb_window_t window, xcb_atom_t protocol, std::uint32_t time = XCB_CURRENT_TIME) const;
  bool supports(xcb_window_t window, xcb_atom_t protocol) const;
  xcb_window_t managed_above(xcb_window_t window) const;

  const X& x_;
  Rect screen_;
  xcb_window_t check_ = 0;
  bool managing_ = false;
  std::unordered_map<xcb_window_t, Client> clients_;
  std::vector<xcb_window_t> order_;  // the one that had the keyboard last comes last
  xcb_window_t wanted_ = 0;
  std::uint32_t pinged_ = 0;
  std::uint32_t ponged_ = 0;
  bool focus_due_ = false;
  bool list_due_ = false;
  Clock::time_point settled_{};
};

}  // namespace vitrine::screen
