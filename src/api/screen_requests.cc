// SPDX-License-Identifier: Apache-2.0
#include "api/screen_requests.h"

#include <array>
#include <charconv>
#include <cmath>

#include "api/text.h"

namespace vitrine::api {

namespace screen = service::screen;
using service::PictureQuery;

namespace {

constexpr double kLeastScale = 0.01;
constexpr std::uint64_t kLongestWait = 60'000;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<display::Region> region_of(std::string_view text) {
  std::array<std::int32_t, 4> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t comma = i + 1 < parts.size() ? text.find(',') : text.size();
    if (comma == std::string_view::npos) return std::nullopt;
    const auto part = number<std::int32_t>(text.substr(0, comma));
    if (!part || (i >= 2 && *part <= 0)) return std::nullopt;
    parts[i] = *part;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return display::Region{parts[0], parts[1], parts[2], parts[3]};
}

std::optional<bool> flag_of(const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

// One parameter; what is wrong with it, or nullopt.
std::optional<Problem> read_parameter(const std::string& name, const std::string& value,
                                      PictureQuery& wanted) {
  if (name == "region") {
    wanted.region = region_of(value);
    if (!wanted.region)
      return bad_field(name, "it is not x,y,width,height in whole pixels",
                       "send for example region=0,0,640,480");
  } else if (name == "window") {
    if (value.empty() || value.size() > screen::kMaxTitle)
      return bad_field(name, "it is empty or too long", "send a window's title or its id");
    wanted.window = value;
  } else if (name == "format") {
    if (value == "png") wanted.format = display::Format::png;
    else if (value == "jpeg" || value == "jpg") wanted.format = display::Format::jpeg;
    else if (value == "webp") wanted.format = display::Format::webp;
    else return bad_field(name, "there is no such format", "known here: png, jpeg, webp");
  } else if (name == "scale") {
    const auto scale = number<double>(value);
    if (!scale || !std::isfinite(*scale) || *scale < kLeastScale || *scale > 1)
      return bad_field(name, "it is not a number from 0.01 to 1", "send for example scale=0.5");
    wanted.scale = *scale;
  } else if (name == "wait") {
    if (value != "still" && value != "none")
      return bad_field(name, "it is neither still nor none", "send wait=still, or leave it out");
    wanted.wait_still = value == "still";
  } else if (name == "max_ms") {
    const auto most = number<std::uint64_t>(value);
    if (!most || *most > kLongestWait)
      return bad_field(name, "it is not a whole number from 0 to 60000",
                       "send for example max_ms=500");
    wanted.most = std::chrono::milliseconds(*most);
  } else if (name == "cursor") {
    const auto cursor = flag_of(value);
    if (!cursor) return bad_field(name, "it is neither true nor false", "send cursor=true");
    wanted.cursor = *cursor;
  } else {
    return bad_field(shown(name), "there is no such parameter",
                     "known here: region, window, format, scale, wait, max_ms, cursor");
  }
  return std::nullopt;
}

// -- input

std::int32_t coordinate(Fields& fields, const char* name) {
  const auto value = fields.number(name, -screen::kMaxCoordinate, screen::kMaxCoordinate);
  if (!value && !fields.failed())
    fields.fail(name, "it is missing", "send where, in pixels from the top left corner");
  return static_cast<std::int32_t>(std::lround(value.value_or(0)));
}

screen::Point point(Fields& fields, const char* x, const char* y) {
  const std::int32_t at = coordinate(fields, x);
  return {at, coordinate(fields, y)};
}

std::optional<screen::Point> optional_point(Fields& fields) {
  const auto x = fields.number("x", -screen::kMaxCoordinate, screen::kMaxCoordinate);
  const auto y = fields.number("y", -screen::kMaxCoordinate, screen::kMaxCoordinate);
  if (x.has_value() != y.has_value() && !fields.failed())
    fields.fail(x ? "y" : "x", "it is missing", "send both x and y, or neither");
  if (!x || !y) return std::nullopt;
  return screen::Point{static_cast<std::int32_t>(std::lround(*x)),
                       static_cast<std::int32_t>(std::lround(*y))};
}

std::uint8_t button(Fields& fields) {
  return static_cast<std::uint8_t>(fields.whole("button", 1, screen::kMaxButton).value_or(1));
}

std::string key(Fields& fields) {
  auto name = fields.text("key", screen::kMaxKey);
  if ((!name || name->empty()) && !fields.failed())
    fields.fail("key", "it is missing", "send for example \"Return\" or \"ctrl+s\"");
  return name.value_or("");
}

screen::InputEvent read_event(Fields& fields) {
  const std::string type =
      fields
          .choice("type", {"move", "click", "double_click", "drag", "scroll", "text", "key",
                           "mouse_down", "mouse_up", "key_down", "key_up", "wait", "close"})
          .value_or("");
  if (type == "move") return screen::Move{point(fields, "x", "y")};
  if (type == "click" || type == "double_click") {
    screen::Click click;
    click.at = optional_point(fields);
    click.button = button(fields);
    click.count = static_cast<std::uint8_t>(
        fields.whole("count", 1, screen::kMaxClicks).value_or(type == "click" ? 1 : 2));
    return click;
  }
  if (type == "drag") {
    screen::Drag drag;
    drag.from = point(fields, "x", "y");
    drag.to = point(fields, "to_x", "to_y");
    drag.button = button(fields);
    drag.steps =
        static_cast<std::uint16_t>(fields.whole("steps", 1, screen::kMaxSteps).value_or(10));
    return drag;
  }
  if (type == "scroll") {
    screen::Scroll scroll;
    scroll.at = optional_point(fields);
    const double most = screen::kMaxScroll;
    scroll.dx =
        static_cast<std::int16_t>(std::lround(fields.number("dx", -most, most).value_or(0)));
    scroll.dy =
        static_cast<std::int16_t>(std::lround(fields.number("dy", -most, most).value_or(0)));
    return scroll;
  }
  if (type == "text") {
    auto text = fields.text("text", screen::kMaxCharacters * 4);
    if (!text && !fields.failed()) fields.fail("text", "it is missing", "send the text to type");
    return screen::Text{text.value_or("")};
  }
  if (type == "key") return screen::Key{key(fields)};
  if (type == "key_down") return screen::KeyDown{key(fields)};
  if (type == "key_up") return screen::KeyUp{key(fields)};
  if (type == "mouse_down") {
    const auto at = optional_point(fields);
    return screen::ButtonDown{at, button(fields)};
  }
  if (type == "mouse_up") {
    const auto at = optional_point(fields);
    return screen::ButtonUp{at, button(fields)};
  }
  if (type == "wait")
    return screen::Pause{
        static_cast<std::uint32_t>(fields.whole("ms", 0, screen::kMaxWait).value_or(100))};
  if (type == "close")
    return screen::Close{
        static_cast<std::uint32_t>(fields.whole("window", 0, 0xFFFFFFFF).value_or(0))};
  if (!fields.failed())
    fields.fail("type", "it is missing", "send for example \"click\", \"text\" or \"key\"");
  return screen::Pause{0};
}

}  // namespace

std::variant<PictureQuery, Problem> read_picture_query(
    const std::map<std::string, std::string>& query) {
  PictureQuery wanted;
  for (const auto& [name, value] : query)
    if (auto problem = read_parameter(name, value, wanted)) return *problem;
  return wanted;
}

screen::Input read_input(Fields& fields) {
  screen::Input input;
  const json::array* events = fields.array("events");
  if (events == nullptr || events->empty() || events->size() > screen::kMaxEvents) {
    fields.fail("events", "it is not a list of 1 to 1000 events",
                "send for example {\"events\": [{\"type\": \"click\", \"x\": 10, \"y\": 20}]}");
    return input;
  }
  std::size_t characters = 0;
  std::uint64_t waits = 0;
  for (std::size_t i = 0; i < events->size(); ++i) {
    const std::string name = "events[" + std::to_string(i) + "]";
    const json::object* object = (*events)[i].if_object();
    if (object == nullptr) {
      fields.fail(name.c_str(), "it is not an object", "send an object with a \"type\"");
      return input;
    }
    Fields one(*object, name + ".");
    input.events.push_back(read_event(one));
    if (auto problem = one.problem()) {
      fields.adopt(std::move(*problem));
      return input;
    }
    if (const auto* text = std::get_if<screen::Text>(&input.events.back()))
      characters += text->text.size();
    if (const auto* pause = std::get_if<screen::Pause>(&input.events.back()))
      waits += pause->milliseconds;
  }
  if (characters > screen::kMaxCharacters)
    fields.fail("events", "they type more than 10000 bytes", "send several requests");
  if (waits > screen::kMaxWaits)
    fields.fail("events", "they wait longer than 30 seconds", "send several requests");
  return input;
}

}  // namespace vitrine::api
