// SPDX-License-Identifier: Apache-2.0
#include "screen/window_manager.h"

#include <algorithm>
#include <utility>

namespace vitrine::screen {

namespace {

constexpr auto kSettleEvery = std::chrono::milliseconds(5);
constexpr std::size_t kMaxFamily = 32;      // windows raised together
constexpr std::uint32_t kNormal = 1;        // WM_STATE
constexpr std::uint32_t kUserPosition = 1;  // WM_NORMAL_HINTS
constexpr std::uint32_t kInputHint = 1;     // WM_HINTS

bool contains(const std::vector<std::uint32_t>& items, std::uint32_t item) {
  return std::ranges::find(items, item) != items.end();
}

}  // namespace

// -- the root window

Status WindowManager::start() {
  screen_ = {0, 0, x_.screen().width_in_pixels, x_.screen().height_in_pixels};
  const std::uint32_t masks = XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT |
                              XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY | XCB_EVENT_MASK_STRUCTURE_NOTIFY |
                              XCB_EVENT_MASK_FOCUS_CHANGE;
  const xcb_void_cookie_t chosen =
      xcb_change_window_attributes_checked(x_, x_.root(), XCB_CW_EVENT_MASK, &masks);
  xcb_change_window_attributes(x_, x_.root(), XCB_CW_BACK_PIXEL, &kRootColour);
  xcb_clear_area(x_, 0, x_.root(), 0, 0, 0, 0);
  managing_ = Reply<xcb_generic_error_t>(xcb_request_check(x_, chosen)) == nullptr;
  if (x_.broken()) return Error{Code::unavailable, "the display ended"};
  if (!managing_) return ok();  // a program of the session is the window manager
  announce();
  const Reply<xcb_query_tree_reply_t> tree(
      xcb_query_tree_reply(x_, xcb_query_tree(x_, x_.root()), nullptr));
  if (!tree) return Error{Code::unavailable, "the display ended"};
  const xcb_window_t* children = xcb_query_tree_children(tree.get());
  const int count =
      std::min(xcb_query_tree_children_length(tree.get()), static_cast<int>(kMaxManaged));
  for (int i = 0; i < count; ++i)
    if (children[i] != check_) manage(children[i], true);
  focus_due_ = true;
  settle(Clock::now());
  x_.round_trip();
  return ok();
}

// What Qt, GTK and SDL look for before they trust a window manager.
void WindowManager::announce() {
  const Atoms& a = x_.atoms();
  check_ = xcb_generate_id(x_);
  const std::uint32_t unmanaged = 1;
  xcb_create_window(x_, XCB_COPY_FROM_PARENT, check_, x_.root(), -10, -10, 1, 1, 0,
                    XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT, XCB_CW_OVERRIDE_REDIRECT,
                    &unmanaged);
  static constexpr std::string_view kName = "vitrine";
  xcb_change_property(x_, XCB_PROP_MODE_REPLACE, check_, a.net_wm_name, a.utf8_string, 8,
                      kName.size(), kName.data());
  x_.set(check_, a.net_supporting_wm_check, XCB_ATOM_WINDOW, {check_});
  x_.set(x_.root(), a.net_supporting_wm_check, XCB_ATOM_WINDOW, {check_});
  x_.set(x_.root(), a.net_supported, XCB_ATOM_ATOM,
         {a.net_supported, a.net_supporting_wm_check, a.net_wm_name, a.net_active_window,
          a.net_client_list, a.net_close_window, a.net_wm_state, a.net_wm_state_fullscreen,
          a.net_wm_state_maximized_vert, a.net_wm_state_maximized_horz, a.net_wm_state_above,
          a.net_wm_window_type, a.net_wm_ping, a.net_frame_extents, a.net_request_frame_extents,
          a.net_number_of_desktops, a.net_current_desktop, a.net_workarea, a.net_desktop_geometry});
  const auto width = static_cast<std::uint32_t>(screen_.width);
  const auto height = static_cast<std::uint32_t>(screen_.height);
  x_.set(x_.root(), a.net_number_of_desktops, XCB_ATOM_CARDINAL, {1});
  x_.set(x_.root(), a.net_current_desktop, XCB_ATOM_CARDINAL, {0});
  x_.set(x_.root(), a.net_workarea, XCB_ATOM_CARDINAL, {0, 0, width, height});
  x_.set(x_.root(), a.net_desktop_geometry, XCB_ATOM_CARDINAL, {width, height});
  list_due_ = true;
}

// -- windows come and go

void WindowManager::manage(xcb_window_t window, bool was_mapped) {
  const Atoms& a = x_.atoms();
  const auto attributes_asked = xcb_get_window_attributes(x_, window);
  const auto geometry_asked = xcb_get_geometry(x_, window);
  const auto normal_asked = x_.ask(window, XCB_ATOM_WM_NORMAL_HINTS, XCB_ATOM_WM_SIZE_HINTS, 18);
  const auto parent_asked = x_.ask(window, XCB_ATOM_WM_TRANSIENT_FOR, XCB_ATOM_WINDOW, 1);
  const auto hints_asked = x_.ask(window, XCB_ATOM_WM_HINTS, XCB_ATOM_WM_HINTS, 9);
  const auto type_asked = x_.ask(window, a.net_wm_window_type, XCB_ATOM_ATOM, 16);
  const auto state_asked = x_.ask(window, a.net_wm_state, XCB_ATOM_ATOM, 16);
  const auto protocols_asked = x_.ask(window, a.wm_protocols, XCB_ATOM_ATOM, 16);
  const Reply<xcb_get_window_attributes_reply_t> attributes(
      xcb_get_window_attributes_reply(x_, attributes_asked, nullptr));
  const Reply<xcb_get_geometry_reply_t> geometry(
      xcb_get_geometry_reply(x_, geometry_asked, nullptr));
  const std::vector<std::uint32_t> normal = x_.values(normal_asked);
  const std::vector<std::uint32_t> parent = x_.values(parent_asked);
  const std::vector<std::uint32_t> hints = x_.values(hints_asked);
  const std::vector<std::uint32_t> type = x_.values(type_asked);
  const std::vector<std::uint32_t> state = x_.values(state_asked);
  const std::vector<std::uint32_t> protocols = x_.values(protocols_asked);
  if (!attributes || !geometry) return;  // gone
  if (was_mapped && attributes->map_state == XCB_MAP_STATE_UNMAPPED) return;
  if (attributes->override_redirect != 0 || clients_.contains(window) ||
      clients_.size() >= kMaxManaged) {
    if (!was_mapped) xcb_map_window(x_, window);
    return;
  }

  Client client;
  client.rect = {geometry->x, geometry->y, geometry->width, geometry->height};
  const std::uint32_t flags = normal.empty() ? 0 : normal[0];
  // A window that was not positioned is at 0,0, even if its hints say that it was. A window that is
  // mapped again is where it was.
  const bool at_corner = geometry->x == 0 && geometry->y == 0;
  PlacementHint hint{client.rect, (flags & kUserPosition) != 0 || !at_corner, {}};
  if (!parent.empty() && parent[0] != x_.root() && parent[0] != window) client.parent = parent[0];
  if (const auto main = clients_.find(client.parent); main != clients_.end())
    hint.parent = main->second.rect;
  else if (contains(type, a.net_wm_window_type_dialog)) hint.parent = screen_;
  const bool input = hints.size() < 2 || (hints[0] & kInputHint) == 0 || hints[1] != 0;
  client.takes_focus = (input || contains(protocols, a.wm_take_focus)) &&
                       !contains(type, a.net_wm_window_type_tooltip) &&
                       !contains(type, a.net_wm_window_type_notification);
  client.above = contains(state, a.net_wm_state_above);

  std::vector<Rect> others;
  for (const auto& [id, other] : clients_) others.push_back(other.rect);
  const Rect placed = place(hint, screen_, others);
  const auto [at, added] = clients_.emplace(window, client);
  order_.insert(order_.begin(), window);
  x_.set(window, a.wm_state, a.wm_state, {kNormal, 0});
  x_.set(window, a.net_frame_extents, XCB_ATOM_CARDINAL, {0, 0, 0, 0});
  if (placed != at->second.rect) move(window, at->second, placed);
  if (contains(state, a.net_wm_state_fullscreen) ||
      (contains(state, a.net_wm_state_maximized_vert) &&
       contains(state, a.net_wm_state_maximized_horz)))
    fill_screen(window, at->second, true);
  raise(window);
  if (!was_mapped) xcb_map_window(x_, window);
  if (client.takes_focus) request_focus(window);
  list_due_ = true;
}

void WindowManager::forget(xcb_window_t window) {
  const auto found = clients_.find(window);
  if (found == clients_.end()) return;
  const xcb_window_t parent = found->second.parent;
  clients_.erase(found);
  const bool was_active = !order_.empty() && order_.back() == window;
  std::erase(order_, window);
  if (was_active && clients_.contains(parent)) request_focus(parent);
  if (wanted_ == window) wanted_ = 0;
  focus_due_ = list_due_ = true;
}

// -- stacking

// Raises the window, then its dialogs, then theirs, then all windows that are kept above. At most
// kMaxFamily are raised: a program may make thousands of dialogs, or two that own each other.
void WindowManager::raise(xcb_window_t window) {
  std::vector<xcb_window_t> family{window};
  const auto add = [&](xcb_window_t other) {
    if (family.size() < kMaxFamily && std::ranges::find(family, other) == family.end())
      family.push_back(other);
  };
  const auto add_dialogs = [&] {
    for (std::size_t i = 0; i < family.size(); ++i)
      for (const xcb_window_t other : order_)
        if (clients_.at(other).parent == family[i]) add(other);
  };
  add_dialogs();
  for (const xcb_window_t other : order_)
    if (clients_.at(other).above) add(other);
  add_dialogs();
  const std::uint32_t above = XCB_STACK_MODE_ABOVE;
  for (const xcb_window_t member : family)
    xcb_configure_window(x_, member, XCB_CONFIG_WINDOW_STACK_MODE, &above);
}

// -- the keyboard

void WindowManager::request_focus(xcb_window_t window) {
  wanted_ = window;
  focus_due_ = true;
}

void WindowManager::settle(Clock::time_point now) {
  if (!managing_ || (!focus_due_ && !list_due_) || now - settled_ < kSettleEvery) return;
  settled_ = now;
  if (list_due_) {
    std::vector<std::uint32_t> windows(order_.begin(), order_.end());
    x_.set(x_.root(), x_.atoms().net_client_list, XCB_ATOM_WINDOW, windows);
  }
  if (focus_due_) {
    xcb_window_t target = clients_.contains(wanted_) ? wanted_ : 0;
    for (auto it = order_.rbegin(); target == 0 && it != order_.rend(); ++it)
      if (clients_.at(*it).takes_focus) target = *it;
    focus(target);
  }
  wanted_ = 0;
  focus_due_ = list_due_ = false;
}

std::optional<Clock::time_point> WindowManager::wakes() const {
  if (!managing_ || (!focus_due_ && !list_due_)) return std::nullopt;
  return settled_ + kSettleEvery;
}

// 0 = no window takes the focus: the root window gets it, because an unset focus stays unset.
void WindowManager::focus(xcb_window_t window) {
  const auto found = clients_.find(window);
  if (found != clients_.end()) {
    std::erase(order_, window);
    order_.push_back(window);
    if (supports(window, x_.atoms().wm_take_focus)) send(window, x_.atoms().wm_take_focus);
  }
  xcb_set_input_focus(x_, XCB_INPUT_FOCUS_POINTER_ROOT, window == 0 ? x_.root() : window,
                      XCB_CURRENT_TIME);
  x_.set(x_.root(), x_.atoms().net_active_window, XCB_ATOM_WINDOW, {window});
}

void WindowManager::pressed() {
  const Reply<xcb_query_pointer_reply_t> pointer(
      xcb_query_pointer_reply(x_, xcb_query_pointer(x_, x_.root()), nullptr));
  if (!managing_ || !pointer) return;
  const auto found = clients_.find(pointer->child);
  if (found == clients_.end() || pointer->child == active()) return;
  raise(pointer->child);
  if (found->second.takes_focus) focus(pointer->child);
}

bool WindowManager::supports(xcb_window_t window, xcb_atom_t protocol) const {
  const auto asked = x_.ask(window, x_.atoms().wm_protocols, XCB_ATOM_ATOM, 16);
  return contains(x_.values(asked), protocol);
}

xcb_window_t WindowManager::managed_above(xcb_window_t window) const {
  for (int depth = 0; depth < 32 && window > 1 && window != x_.root(); ++depth) {
    if (clients_.contains(window)) return window;
    const Reply<xcb_query_tree_reply_t> tree(
        xcb_query_tree_reply(x_, xcb_query_tree(x_, window), nullptr));
    if (!tree) return 0;
    window = tree->parent;
  }
  return 0;
}

xcb_window_t WindowManager::active() const {
  const Reply<xcb_get_input_focus_reply_t> focus(
      xcb_get_input_focus_reply(x_, xcb_get_input_focus(x_), nullptr));
  return focus ? managed_above(focus->focus) : 0;
}

}  // namespace vitrine::screen
