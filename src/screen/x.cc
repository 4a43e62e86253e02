// SPDX-License-Identifier: Apache-2.0
#include "screen/x.h"

#include <array>
#include <utility>

namespace vitrine::screen {

namespace {

struct Interned {
  std::string_view name;
  xcb_atom_t Atoms::*where;
};

constexpr std::array kInterned{
    Interned{"UTF8_STRING", &Atoms::utf8_string},
    Interned{"WM_PROTOCOLS", &Atoms::wm_protocols},
    Interned{"WM_DELETE_WINDOW", &Atoms::wm_delete_window},
    Interned{"WM_TAKE_FOCUS", &Atoms::wm_take_focus},
    Interned{"WM_STATE", &Atoms::wm_state},
    Interned{"WM_CHANGE_STATE", &Atoms::wm_change_state},
    Interned{"_NET_SUPPORTED", &Atoms::net_supported},
    Interned{"_NET_SUPPORTING_WM_CHECK", &Atoms::net_supporting_wm_check},
    Interned{"_NET_WM_NAME", &Atoms::net_wm_name},
    Interned{"_NET_ACTIVE_WINDOW", &Atoms::net_active_window},
    Interned{"_NET_CLIENT_LIST", &Atoms::net_client_list},
    Interned{"_NET_CLOSE_WINDOW", &Atoms::net_close_window},
    Interned{"_NET_WM_STATE", &Atoms::net_wm_state},
    Interned{"_NET_WM_STATE_FULLSCREEN", &Atoms::net_wm_state_fullscreen},
    Interned{"_NET_WM_STATE_MAXIMIZED_VERT", &Atoms::net_wm_state_maximized_vert},
    Interned{"_NET_WM_STATE_MAXIMIZED_HORZ", &Atoms::net_wm_state_maximized_horz},
    Interned{"_NET_WM_STATE_ABOVE", &Atoms::net_wm_state_above},
    Interned{"_NET_WM_STATE_FOCUSED", &Atoms::net_wm_state_focused},
    Interned{"_NET_WM_WINDOW_TYPE", &Atoms::net_wm_window_type},
    Interned{"_NET_WM_WINDOW_TYPE_DIALOG", &Atoms::net_wm_window_type_dialog},
    Interned{"_NET_WM_WINDOW_TYPE_TOOLTIP", &Atoms::net_wm_window_type_tooltip},
    Interned{"_NET_WM_WINDOW_TYPE_NOTIFICATION", &Atoms::net_wm_window_type_notification},
    Interned{"_NET_FRAME_EXTENTS", &Atoms::net_frame_extents},
    Interned{"_NET_REQUEST_FRAME_EXTENTS", &Atoms::net_request_frame_extents},
    Interned{"_NET_NUMBER_OF_DESKTOPS", &Atoms::net_number_of_desktops},
    Interned{"_NET_CURRENT_DESKTOP", &Atoms::net_current_desktop},
    Interned{"_NET_WM_PING", &Atoms::net_wm_ping},
    Interned{"_NET_WORKAREA", &Atoms::net_workarea},
    Interned{"_NET_DESKTOP_GEOMETRY", &Atoms::net_desktop_geometry},
};

}  // namespace

Result<X> X::connect() {
  X x;
  int number = 0;
  x.connection_.reset(xcb_connect(nullptr, &number));
  if (x.broken()) return Error{Code::unavailable, "the display cannot be reached"};
  xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(x));
  for (; number > 0 && screens.rem > 1; --number) xcb_screen_next(&screens);
  if (screens.rem == 0) return Error{Code::unavailable, "the display has no screen"};
  x.screen_ = screens.data;
  std::array<xcb_intern_atom_cookie_t, kInterned.size()> cookies;
  for (std::size_t i = 0; i < kInterned.size(); ++i)
    cookies[i] = xcb_intern_atom(x, 0, static_cast<std::uint16_t>(kInterned[i].name.size()),
                                 kInterned[i].name.data());
  for (std::size_t i = 0; i < kInterned.size(); ++i) {
    const Reply<xcb_intern_atom_reply_t> reply(xcb_intern_atom_reply(x, cookies[i], nullptr));
    if (!reply) return Error{Code::unavailable, "the display ended"};
    x.atoms_.*kInterned[i].where = reply->atom;
  }
  return x;
}

std::vector<std::uint32_t> X::values(xcb_get_property_cookie_t cookie) const {
  const Reply<xcb_get_property_reply_t> reply(xcb_get_property_reply(get(), cookie, nullptr));
  if (!reply || reply->format != 32) return {};
  const auto* items = static_cast<const std::uint32_t*>(xcb_get_property_value(reply.get()));
  const auto count = static_cast<std::size_t>(xcb_get_property_value_length(reply.get())) / 4;
  return std::vector<std::uint32_t>(items, items + count);
}

void X::set(xcb_window_t window, xcb_atom_t property, xcb_atom_t type,
            const std::vector<std::uint32_t>& items) const {
  xcb_change_property(get(), XCB_PROP_MODE_REPLACE, window, property, type, 32,
                      static_cast<std::uint32_t>(items.size()), items.data());
}

void X::round_trip() const {
  const Reply<xcb_get_input_focus_reply_t> reply(
      xcb_get_input_focus_reply(get(), xcb_get_input_focus(get()), nullptr));
}

}  // namespace vitrine::screen
