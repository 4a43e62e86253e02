// SPDX-License-Identifier: Apache-2.0
// The X11 window manager: paints the root window, and places, stacks and focuses windows.
//
// It draws no frames around windows. A window that is mapped is placed (placement.h), raised and
// focused. A dialog stays above its main window. When the focused window goes, the one focused before
// it gets the focus; the focus is never left unset. If a program of the session is a window manager
// itself, this one only paints the root.
//
// Trust: the programs are hostile. At most kMaxManaged windows are managed, and settle() merges what
// many events request into one change.
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

  // Paints the root, becomes the window manager and manages the windows that exist already.
  Status start();

  void handle(const xcb_generic_event_t& event);

  // Sets the focus and publishes the window list, at most once every few milliseconds.
  void settle(Clock::time_point now);
  // When settle() is due; nullopt = nothing to do.
  std::optional<Clock::time_point> wakes() const;

  // A pointer button was pressed: raises and focuses the window below the pointer.
  void pressed();
  bool can_close(xcb_window_t window) const;
  // Sends WM_DELETE_WINDOW; 0 = the active window.
  void close(xcb_window_t window);

  // Sends _NET_WM_PING to the active window. Its pong means that the program has read all events sent
  // before. Nullopt if the program does not support it.
  std::optional<std::uint32_t> ping();
  // The number of the last pong.
  std::uint32_t ponged() const { return ponged_; }

  // The managed window that has the focus, itself or in a child; 0 = none.
  xcb_window_t active() const;
  Rect screen() const { return screen_; }
  xcb_window_t own_window() const { return check_; }

 private:
  struct Client {
    Rect rect;
    xcb_window_t parent = 0;    // main window of a dialog
    std::optional<Rect> saved;  // its place before it was maximized
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
  std::vector<xcb_window_t> order_;  // in the order of focus, the last focused at the end
  xcb_window_t wanted_ = 0;
  std::uint32_t pinged_ = 0;
  std::uint32_t ponged_ = 0;
  bool focus_due_ = false;
  bool list_due_ = false;
  Clock::time_point settled_{};
};

}  // namespace vitrine::screen
