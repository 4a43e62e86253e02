// SPDX-License-Identifier: Apache-2.0
// The connection to the X server, with its atoms and property access.
//
// Trust: every value is chosen by the session's programs. Property reads are bounded; a missing reply
// (the window is gone) is an empty value.
#pragma once

#include <xcb/xcb.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::screen {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using Reply = std::unique_ptr<T, Free>;

struct Atoms {
  xcb_atom_t utf8_string = 0, wm_protocols = 0, wm_delete_window = 0, wm_take_focus = 0,
             wm_state = 0, wm_change_state = 0, net_supported = 0, net_supporting_wm_check = 0,
             net_wm_name = 0, net_active_window = 0, net_client_list = 0, net_close_window = 0,
             net_wm_state = 0, net_wm_state_fullscreen = 0, net_wm_state_maximized_vert = 0,
             net_wm_state_maximized_horz = 0, net_wm_state_above = 0, net_wm_state_focused = 0,
             net_wm_window_type = 0, net_wm_window_type_dialog = 0, net_wm_window_type_tooltip = 0,
             net_wm_window_type_notification = 0, net_frame_extents = 0,
             net_request_frame_extents = 0, net_number_of_desktops = 0, net_current_desktop = 0,
             net_wm_ping = 0, net_workarea = 0, net_desktop_geometry = 0;
};

class X {
 public:
  // Connects to $DISPLAY. `unavailable` if there is no server or it refuses.
  static Result<X> connect();

  xcb_connection_t* get() const { return connection_.get(); }
  operator xcb_connection_t*() const { return connection_.get(); }  // NOLINT(*-explicit-*)
  bool broken() const { return xcb_connection_has_error(get()) != 0; }
  int fd() const { return xcb_get_file_descriptor(get()); }
  xcb_window_t root() const { return screen_->root; }
  const xcb_screen_t& screen() const { return *screen_; }
  const Atoms& atoms() const { return atoms_; }

  // 32-bit items of a property, at most `limit`.
  std::vector<std::uint32_t> values(xcb_get_property_cookie_t cookie) const;
  xcb_get_property_cookie_t ask(xcb_window_t window, xcb_atom_t property, xcb_atom_t type,
                                std::uint32_t limit) const {
    return xcb_get_property(get(), 0, window, property, type, 0, limit);
  }

  void set(xcb_window_t window, xcb_atom_t property, xcb_atom_t type,
           const std::vector<std::uint32_t>& items) const;
  // Waits until the server has processed all requests sent so far.
  void round_trip() const;

 private:
  struct Disconnect {
    void operator()(xcb_connection_t* c) const { xcb_disconnect(c); }
  };
  std::unique_ptr<xcb_connection_t, Disconnect> connection_;
  const xcb_screen_t* screen_ = nullptr;
  Atoms atoms_;
};

}  // namespace vitrine::screen
