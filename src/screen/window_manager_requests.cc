// SPDX-License-Identifier: Apache-2.0
// What programs request of the window manager: events of the root window, EWMH and ICCCM messages.
#include <algorithm>
#include <utility>

#include "screen/window_manager.h"

namespace vitrine::screen {

namespace {

constexpr std::uint32_t kIconic = 3;  // WM_STATE

template <class T>
const T& as(const xcb_generic_event_t& event) {
  return reinterpret_cast<const T&>(event);
}

}  // namespace

void WindowManager::handle(const xcb_generic_event_t& event) {
  if (!managing_) return;
  switch (event.response_type & 0x7F) {
    case XCB_MAP_REQUEST: manage(as<xcb_map_request_event_t>(event).window, false); break;
    case XCB_CONFIGURE_REQUEST: configure(as<xcb_configure_request_event_t>(event)); break;
    case XCB_UNMAP_NOTIFY: forget(as<xcb_unmap_notify_event_t>(event).window); break;
    case XCB_DESTROY_NOTIFY: forget(as<xcb_destroy_notify_event_t>(event).window); break;
    case XCB_REPARENT_NOTIFY: {
      const auto& moved = as<xcb_reparent_notify_event_t>(event);
      if (moved.parent != x_.root()) forget(moved.window);
      break;
    }
    case XCB_CONFIGURE_NOTIFY: {
      const auto& at = as<xcb_configure_notify_event_t>(event);
      if (at.window == x_.root()) screen_ = {0, 0, at.width, at.height};
      else if (const auto found = clients_.find(at.window); found != clients_.end())
        found->second.rect = {at.x, at.y, at.width, at.height};
      break;
    }
    case XCB_FOCUS_IN: {
      const auto& in = as<xcb_focus_in_event_t>(event);
      const bool lost =
          in.detail == XCB_NOTIFY_DETAIL_NONE || in.detail == XCB_NOTIFY_DETAIL_POINTER_ROOT;
      if (lost) focus_due_ = true;
      break;
    }
    case XCB_CLIENT_MESSAGE: message(as<xcb_client_message_event_t>(event)); break;
    default: break;
  }
}

void WindowManager::configure(const xcb_configure_request_event_t& request) {
  const auto found = clients_.find(request.window);
  Rect wanted = found == clients_.end() ? Rect{0, 0, 1, 1} : found->second.rect;
  if (request.value_mask & XCB_CONFIG_WINDOW_X) wanted.x = request.x;
  if (request.value_mask & XCB_CONFIG_WINDOW_Y) wanted.y = request.y;
  if (request.value_mask & XCB_CONFIG_WINDOW_WIDTH) wanted.width = request.width;
  if (request.value_mask & XCB_CONFIG_WINDOW_HEIGHT) wanted.height = request.height;
  wanted = clamp(wanted);
  if (found != clients_.end()) {
    if (found->second.saved) found->second.saved = wanted;  // applied when it is restored
    else if (wanted != found->second.rect) move(request.window, found->second, wanted);
    // ICCCM: a request that changes nothing is answered too. Some programs wait seconds for it.
    notify_geometry(request.window, found->second.rect);
    const bool stacked = request.value_mask & XCB_CONFIG_WINDOW_STACK_MODE;
    const bool beside = request.value_mask & XCB_CONFIG_WINDOW_SIBLING;
    if (stacked && !beside && request.stack_mode == XCB_STACK_MODE_ABOVE)
      return raise(request.window);
  }
  std::uint32_t values[7];
  std::size_t count = 0;
  std::uint16_t mask = 0;
  const auto pass = [&](std::uint16_t bit, std::uint32_t value) {
    if ((request.value_mask & bit) == 0) return;
    mask = static_cast<std::uint16_t>(mask | bit);
    values[count++] = value;
  };
  if (found == clients_.end()) {
    pass(XCB_CONFIG_WINDOW_X, static_cast<std::uint32_t>(wanted.x));
    pass(XCB_CONFIG_WINDOW_Y, static_cast<std::uint32_t>(wanted.y));
    pass(XCB_CONFIG_WINDOW_WIDTH, static_cast<std::uint32_t>(wanted.width));
    pass(XCB_CONFIG_WINDOW_HEIGHT, static_cast<std::uint32_t>(wanted.height));
  }
  pass(XCB_CONFIG_WINDOW_BORDER_WIDTH, request.border_width);
  pass(XCB_CONFIG_WINDOW_SIBLING, request.sibling);
  pass(XCB_CONFIG_WINDOW_STACK_MODE, request.stack_mode);
  if (mask != 0) xcb_configure_window(x_, request.window, mask, values);
}

void WindowManager::move(xcb_window_t window, Client& client, const Rect& rect) {
  client.rect = rect;
  const std::uint32_t values[] = {
      static_cast<std::uint32_t>(rect.x), static_cast<std::uint32_t>(rect.y),
      static_cast<std::uint32_t>(rect.width), static_cast<std::uint32_t>(rect.height)};
  xcb_configure_window(x_, window,
                       XCB_CONFIG_WINDOW_X | XCB_CONFIG_WINDOW_Y | XCB_CONFIG_WINDOW_WIDTH |
                           XCB_CONFIG_WINDOW_HEIGHT,
                       values);
}

void WindowManager::notify_geometry(xcb_window_t window, const Rect& rect) const {
  xcb_configure_notify_event_t event{};
  event.response_type = XCB_CONFIGURE_NOTIFY;
  event.event = event.window = window;
  event.x = static_cast<std::int16_t>(rect.x);
  event.y = static_cast<std::int16_t>(rect.y);
  event.width = static_cast<std::uint16_t>(rect.width);
  event.height = static_cast<std::uint16_t>(rect.height);
  xcb_send_event(x_, 0, window, XCB_EVENT_MASK_STRUCTURE_NOTIFY,
                 reinterpret_cast<const char*>(&event));
}

void WindowManager::message(const xcb_client_message_event_t& message) {
  const Atoms& a = x_.atoms();
  if (message.format != 32) return;
  if (message.type == a.wm_protocols && message.data.data32[0] == a.net_wm_ping)
    ponged_ = message.data.data32[1];
  if (message.type == a.net_request_frame_extents) {
    x_.set(message.window, a.net_frame_extents, XCB_ATOM_CARDINAL, {0, 0, 0, 0});
  } else if (message.type == a.wm_change_state) {
    if (message.data.data32[0] != kIconic || !clients_.contains(message.window)) return;
    x_.set(message.window, a.wm_state, a.wm_state, {kIconic, 0});
    xcb_unmap_window(x_, message.window);
  } else if (message.type == a.net_active_window) {
    const auto found = clients_.find(message.window);
    if (found == clients_.end()) return;
    raise(message.window);
    if (found->second.takes_focus) request_focus(message.window);
  } else if (message.type == a.net_close_window) {
    close(message.window);
  } else if (message.type == a.net_wm_state) {
    change_state(message.window, message);
  }
}

void WindowManager::change_state(xcb_window_t window, const xcb_client_message_event_t& message) {
  const Atoms& a = x_.atoms();
  const auto found = clients_.find(window);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const auto& data = message.data.data32;
  const auto names = [&](xcb_atom_t atom) { return data[1] == atom || data[2] == atom; };
  const auto after = [&](bool before) { return data[0] == 2 ? !before : data[0] == 1; };
  if (names(a.net_wm_state_above)) {
    client.above = after(client.above);
    raise(window);
  }
  if (names(a.net_wm_state_fullscreen) || names(a.net_wm_state_maximized_vert) ||
      names(a.net_wm_state_maximized_horz))
    fill_screen(window, client, after(client.saved.has_value()));
  std::vector<std::uint32_t> state;
  if (client.above) state.push_back(a.net_wm_state_above);
  if (client.saved) {
    const bool full = names(a.net_wm_state_fullscreen);
    if (full) state.push_back(a.net_wm_state_fullscreen);
    else state.insert(state.end(), {a.net_wm_state_maximized_vert, a.net_wm_state_maximized_horz});
  }
  x_.set(window, a.net_wm_state, XCB_ATOM_ATOM, state);
}

void WindowManager::fill_screen(xcb_window_t window, Client& client, bool fill) {
  if (fill == client.saved.has_value()) return;
  if (fill) {
    client.saved = client.rect;
    move(window, client, screen_);
  } else {
    move(window, client, *std::exchange(client.saved, std::nullopt));
  }
  raise(window);
}

void WindowManager::send(xcb_window_t window, xcb_atom_t protocol, std::uint32_t time) const {
  xcb_client_message_event_t event{};
  event.response_type = XCB_CLIENT_MESSAGE;
  event.format = 32;
  event.window = window;
  event.type = x_.atoms().wm_protocols;
  event.data.data32[0] = protocol;
  event.data.data32[1] = time;
  event.data.data32[2] = window;
  xcb_send_event(x_, 0, window, XCB_EVENT_MASK_NO_EVENT, reinterpret_cast<const char*>(&event));
}

std::optional<std::uint32_t> WindowManager::ping() {
  const xcb_window_t window = active();
  if (window == 0 || !supports(window, x_.atoms().net_wm_ping)) return std::nullopt;
  pinged_ = std::max(1u, pinged_ + 1);
  send(window, x_.atoms().net_wm_ping, pinged_);
  return pinged_;
}

bool WindowManager::can_close(xcb_window_t window) const {
  if (window == 0) window = active();
  return window != 0 && supports(window, x_.atoms().wm_delete_window);
}

void WindowManager::close(xcb_window_t window) {
  if (window == 0) window = active();
  if (window != 0 && supports(window, x_.atoms().wm_delete_window))
    send(window, x_.atoms().wm_delete_window);
}

}  // namespace vitrine::screen
