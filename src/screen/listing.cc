// SPDX-License-Identifier: Apache-2.0
#include "screen/listing.h"

#include <algorithm>

#include "wire/messages.h"

namespace vitrine::screen {

namespace {

namespace w = wire::screen;

constexpr std::size_t kMaxLooked = 2048;

struct Asked {
  xcb_window_t window = 0;
  xcb_get_window_attributes_cookie_t attributes;
  xcb_get_geometry_cookie_t geometry;
};

struct AskedNames {
  xcb_get_property_cookie_t utf8;
  xcb_get_property_cookie_t latin;
  xcb_get_property_cookie_t parent;
};

std::string property_text(const X& x, xcb_get_property_cookie_t cookie, bool& utf8) {
  const Reply<xcb_get_property_reply_t> reply(xcb_get_property_reply(x, cookie, nullptr));
  if (!reply || reply->format != 8) return {};
  utf8 = reply->type == x.atoms().utf8_string;
  return std::string(static_cast<const char*>(xcb_get_property_value(reply.get())),
                     static_cast<std::size_t>(xcb_get_property_value_length(reply.get())));
}

AskedNames ask_names(const X& x, xcb_window_t window) {
  constexpr std::uint32_t kWords = w::kMaxTitle / 4 + 1;
  return {x.ask(window, x.atoms().net_wm_name, x.atoms().utf8_string, kWords),
          x.ask(window, XCB_ATOM_WM_NAME, XCB_GET_PROPERTY_TYPE_ANY, kWords),
          x.ask(window, XCB_ATOM_WM_TRANSIENT_FOR, XCB_ATOM_WINDOW, 1)};
}

void fill_names(const X& x, const AskedNames& asked, w::Window& window) {
  bool utf8 = true;
  bool latin_is_utf8 = false;
  std::string title = property_text(x, asked.utf8, utf8);
  const std::string old = property_text(x, asked.latin, latin_is_utf8);
  window.title = title.empty() ? clean_title(old, latin_is_utf8) : clean_title(title, true);
  if (const std::vector<std::uint32_t> parent = x.values(asked.parent); !parent.empty())
    window.parent = parent[0] == x.root() ? 0 : parent[0];
}

}  // namespace

std::string clean_title(std::string_view bytes, bool is_utf8_string) {
  std::string title;
  if (is_utf8_string) {
    title = bytes.substr(0, w::kMaxTitle);
    // Cut within a character: take the rest of it away.
    for (int i = 0; i < 3 && !title.empty() && !wire::is_utf8(title); ++i) {
      const bool lead = (title.back() & 0xC0) == 0xC0;
      const bool part = (title.back() & 0x80) != 0;
      if (!part) break;
      title.pop_back();
      if (lead) break;
    }
    if (!wire::is_utf8(title))
      for (char& c : title)
        if ((c & 0x80) != 0) c = '?';
  } else {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (title.size() + 2 > w::kMaxTitle) break;
      if (byte < 0x80) title += c;
      else if (byte >= 0xA0)
        title += {static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))};
    }
  }
  for (char& c : title)
    if ((c >= 0 && c < 0x20) || c == 0x7F) c = ' ';
  return title;
}

w::Windows list_windows(const X& x, const WindowManager& window_manager) {
  w::Windows list;
  const Reply<xcb_query_tree_reply_t> tree(
      xcb_query_tree_reply(x, xcb_query_tree(x, x.root()), nullptr));
  if (!tree) return list;
  const xcb_window_t* children = xcb_query_tree_children(tree.get());
  const auto count = static_cast<std::size_t>(xcb_query_tree_children_length(tree.get()));
  const std::size_t lowest = count > kMaxLooked ? count - kMaxLooked : 0;
  list.more = lowest > 0;

  std::vector<Asked> asked;
  for (std::size_t i = count; i-- > lowest;)
    asked.push_back(
        {children[i], xcb_get_window_attributes(x, children[i]), xcb_get_geometry(x, children[i])});
  std::vector<w::Window> mapped;
  std::vector<w::Window> unmapped;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Reply<xcb_get_window_attributes_reply_t> attributes(
        xcb_get_window_attributes_reply(x, asked[i].attributes, nullptr));
    const Reply<xcb_get_geometry_reply_t> geometry(
        xcb_get_geometry_reply(x, asked[i].geometry, nullptr));
    if (!attributes || !geometry || attributes->_class != XCB_WINDOW_CLASS_INPUT_OUTPUT ||
        asked[i].window == window_manager.own_window())
      continue;
    w::Window window;
    window.id = asked[i].window;
    window.x = geometry->x;
    window.y = geometry->y;
    window.width = std::max<std::uint32_t>(1, geometry->width);
    window.height = std::max<std::uint32_t>(1, geometry->height);
    window.override_redirect = attributes->override_redirect != 0;
    window.mapped = attributes->map_state == XCB_MAP_STATE_VIEWABLE;
    window.z = static_cast<std::uint32_t>(count - 1 - i);
    (window.mapped ? mapped : unmapped).push_back(window);
  }
  const auto keep = [&](std::vector<w::Window>& from, std::size_t room) {
    if (from.size() <= room) return;
    from.resize(room);
    list.more = true;
  };
  keep(mapped, w::kMaxWindows);
  keep(unmapped, w::kMaxWindows - mapped.size());

  list.windows = std::move(mapped);
  list.windows.insert(list.windows.end(), unmapped.begin(), unmapped.end());
  std::vector<AskedNames> names;
  for (const w::Window& window : list.windows) names.push_back(ask_names(x, window.id));
  const xcb_window_t active = window_manager.active();
  for (std::size_t i = 0; i < list.windows.size(); ++i) {
    fill_names(x, names[i], list.windows[i]);
    list.windows[i].active = active != 0 && list.windows[i].id == active;
  }
  // Toolkits keep unmapped windows of their own; one without a title is no window to a user.
  std::erase_if(list.windows,
                [](const w::Window& one) { return !one.mapped && one.title.empty(); });
  std::ranges::stable_sort(list.windows, std::greater{}, &w::Window::z);
  return list;
}

}  // namespace vitrine::screen
