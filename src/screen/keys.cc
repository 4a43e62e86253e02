// SPDX-License-Identifier: Apache-2.0
#include "screen/keys.h"

#define XK_MISCELLANY
#define XK_XKB_KEYS
#define XK_LATIN1
#include <X11/keysymdef.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine::screen {

namespace {

struct Name {
  std::string_view name;
  Keysym keysym;
};

#define KEY(name) \
  Name { #name, XK_##name }

// X11's own names, in its own spelling.
constexpr std::array kNames{
    KEY(BackSpace),    KEY(Tab),          KEY(Return),
    KEY(Pause),        KEY(Scroll_Lock),  KEY(Sys_Req),
    KEY(Escape),       KEY(Delete),       KEY(Home),
    KEY(Left),         KEY(Up),           KEY(Right),
    KEY(Down),         KEY(Prior),        KEY(Page_Up),
    KEY(Next),         KEY(Page_Down),    KEY(End),
    KEY(Begin),        KEY(Select),       KEY(Print),
    KEY(Execute),      KEY(Insert),       KEY(Undo),
    KEY(Redo),         KEY(Menu),         KEY(Find),
    KEY(Cancel),       KEY(Help),         KEY(Break),
    KEY(Mode_switch),  KEY(Num_Lock),     KEY(ISO_Level3_Shift),
    KEY(ISO_Left_Tab), KEY(Multi_key),    KEY(Shift_L),
    KEY(Shift_R),      KEY(Control_L),    KEY(Control_R),
    KEY(Caps_Lock),    KEY(Shift_Lock),   KEY(Meta_L),
    KEY(Meta_R),       KEY(Alt_L),        KEY(Alt_R),
    KEY(Super_L),      KEY(Super_R),      KEY(Hyper_L),
    KEY(Hyper_R),      KEY(F1),           KEY(F2),
    KEY(F3),           KEY(F4),           KEY(F5),
    KEY(F6),           KEY(F7),           KEY(F8),
    KEY(F9),           KEY(F10),          KEY(F11),
    KEY(F12),          KEY(F13),          KEY(F14),
    KEY(F15),          KEY(F16),          KEY(F17),
    KEY(F18),          KEY(F19),          KEY(F20),
    KEY(F21),          KEY(F22),          KEY(F23),
    KEY(F24),          KEY(KP_0),         KEY(KP_1),
    KEY(KP_2),         KEY(KP_3),         KEY(KP_4),
    KEY(KP_5),         KEY(KP_6),         KEY(KP_7),
    KEY(KP_8),         KEY(KP_9),         KEY(KP_Enter),
    KEY(KP_Home),      KEY(KP_Left),      KEY(KP_Up),
    KEY(KP_Right),     KEY(KP_Down),      KEY(KP_Prior),
    KEY(KP_Page_Up),   KEY(KP_Next),      KEY(KP_Page_Down),
    KEY(KP_End),       KEY(KP_Begin),     KEY(KP_Insert),
    KEY(KP_Delete),    KEY(KP_Equal),     KEY(KP_Multiply),
    KEY(KP_Add),       KEY(KP_Separator), KEY(KP_Subtract),
    KEY(KP_Decimal),   KEY(KP_Divide),    KEY(space),
    KEY(exclam),       KEY(quotedbl),     KEY(numbersign),
    KEY(dollar),       KEY(percent),      KEY(ampersand),
    KEY(apostrophe),   KEY(parenleft),    KEY(parenright),
    KEY(asterisk),     KEY(plus),         KEY(comma),
    KEY(minus),        KEY(period),       KEY(slash),
    KEY(colon),        KEY(semicolon),    KEY(less),
    KEY(equal),        KEY(greater),      KEY(question),
    KEY(at),           KEY(bracketleft),  KEY(backslash),
    KEY(bracketright), KEY(asciicircum),  KEY(underscore),
    KEY(grave),        KEY(braceleft),    KEY(bar),
    KEY(braceright),   KEY(asciitilde),   KEY(exclamdown),
    KEY(cent),         KEY(sterling),     KEY(yen),
    KEY(section),      KEY(copyright),    KEY(registered),
    KEY(degree),       KEY(plusminus),    KEY(mu),
    KEY(paragraph),    KEY(questiondown), KEY(Agrave),
    KEY(Aacute),       KEY(Acircumflex),  KEY(Atilde),
    KEY(Adiaeresis),   KEY(Aring),        KEY(AE),
    KEY(Ccedilla),     KEY(Egrave),       KEY(Eacute),
    KEY(Ecircumflex),  KEY(Ediaeresis),   KEY(Igrave),
    KEY(Iacute),       KEY(Icircumflex),  KEY(Idiaeresis),
    KEY(Ntilde),       KEY(Ograve),       KEY(Oacute),
    KEY(Ocircumflex),  KEY(Otilde),       KEY(Odiaeresis),
    KEY(multiply),     KEY(Oslash),       KEY(Ugrave),
    KEY(Uacute),       KEY(Ucircumflex),  KEY(Udiaeresis),
    KEY(Yacute),       KEY(ssharp),       KEY(agrave),
    KEY(aacute),       KEY(acircumflex),  KEY(atilde),
    KEY(adiaeresis),   KEY(aring),        KEY(ae),
    KEY(ccedilla),     KEY(egrave),       KEY(eacute),
    KEY(ecircumflex),  KEY(ediaeresis),   KEY(igrave),
    KEY(iacute),       KEY(icircumflex),  KEY(idiaeresis),
    KEY(ntilde),       KEY(ograve),       KEY(oacute),
    KEY(ocircumflex),  KEY(otilde),       KEY(odiaeresis),
    KEY(division),     KEY(oslash),       KEY(ugrave),
    KEY(uacute),       KEY(ucircumflex),  KEY(udiaeresis),
    KEY(yacute),       KEY(ydiaeresis),
};
#undef KEY

// What people and models write instead, in small letters.
constexpr std::array<Name, 43> kOtherNames{{
    {"ctrl", XK_Control_L},
    {"control", XK_Control_L},
    {"shift", XK_Shift_L},
    {"alt", XK_Alt_L},
    {"option", XK_Alt_L},
    {"altgr", XK_ISO_Level3_Shift},
    {"meta", XK_Super_L},
    {"super", XK_Super_L},
    {"win", XK_Super_L},
    {"windows", XK_Super_L},
    {"cmd", XK_Super_L},
    {"command", XK_Super_L},
    {"enter", XK_Return},
    {"ret", XK_Return},
    {"esc", XK_Escape},
    {"del", XK_Delete},
    {"ins", XK_Insert},
    {"bksp", XK_BackSpace},
    {"pageup", XK_Prior},
    {"pgup", XK_Prior},
    {"pagedown", XK_Next},
    {"pgdn", XK_Next},
    {"pgdown", XK_Next},
    {"arrowleft", XK_Left},
    {"arrowright", XK_Right},
    {"arrowup", XK_Up},
    {"arrowdown", XK_Down},
    {"capslock", XK_Caps_Lock},
    {"numlock", XK_Num_Lock},
    {"scrolllock", XK_Scroll_Lock},
    {"printscreen", XK_Print},
    {"prtsc", XK_Print},
    {"spacebar", XK_space},
    {"contextmenu", XK_Menu},
    {"apps", XK_Menu},
    {"dot", XK_period},
    {"dash", XK_minus},
    {"hyphen", XK_minus},
    {"equals", XK_equal},
    {"quote", XK_apostrophe},
    {"backtick", XK_grave},
    {"tilde", XK_asciitilde},
    {"underline", XK_underscore},
}};

constexpr std::string_view kAccepted =
    "accepted are one character (a, é), U+ and its number (U+20AC), X11 names (Return, Escape, "
    "Tab, BackSpace, Delete, Insert, Home, End, Page_Up, Page_Down, Left, Right, Up, Down, F1 to "
    "F24, space, minus, KP_Enter) or other common ones (enter, esc, del, pageup), and before them, "
    "joined by +, ctrl, shift, alt, altgr, super: ctrl+shift+s";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Error unknown(std::string_view name) {
  return Error{Code::invalid_argument,
               "there is no key \"" + std::string(name) + "\"; " + std::string(kAccepted)};
}

// "U+20AC"; 0 if it is none.
char32_t code_point(std::string_view name) {
  if (name.size() < 4 || name.size() > 8 || (name[0] != 'U' && name[0] != 'u') || name[1] != '+')
    return 0;
  char32_t value = 0;
  for (const char c : name.substr(2)) {
    const char small = (c >= 'A' && c <= 'F') ? static_cast<char>(c - 'A' + 'a') : c;
    if (small >= '0' && small <= '9') value = value * 16 + static_cast<char32_t>(small - '0');
    else if (small >= 'a' && small <= 'f')
      value = value * 16 + static_cast<char32_t>(small - 'a' + 10);
    else return 0;
  }
  return value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF) ? 0 : value;
}

// The pieces between "+"; a "+" that has nothing before it is itself a key.
std::vector<std::string_view> split_chord(std::string_view chord) {
  std::vector<std::string_view> parts;
  while (!chord.empty()) {
    const std::size_t prefix = (chord.starts_with("U+") || chord.starts_with("u+")) ? 2 : 1;
    const std::size_t end = chord.find('+', std::min(prefix, chord.size()));
    parts.push_back(chord.substr(0, end));
    if (end == std::string_view::npos) break;
    chord.remove_prefix(end + 1);
    if (chord.empty()) parts.push_back({});
  }
  return parts;
}

bool is_shift(Keysym keysym) { return keysym == XK_Shift_L || keysym == XK_Shift_R; }

}  // namespace

Keysym keysym_of(char32_t character) {
  if (character == '\n' || character == '\r') return XK_Return;
  if (character == '\t') return XK_Tab;
  if (character < 0x20 || (character >= 0x7F && character < 0xA0)) return 0;
  if (character <= 0xFF) return character;
  return 0x01000000u | character;
}

std::u32string characters_of(std::string_view utf8) {
  std::u32string out;
  for (std::size_t i = 0; i < utf8.size();) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? first : first & (0xFF >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < utf8.size(); ++k)
      point = point << 6 | (static_cast<unsigned char>(utf8[i + k]) & 0x3F);
    out.push_back(point);
    i += length;
  }
  return out;
}

Result<Keysym> parse_key(std::string_view name) {
  const auto named = [](const auto& table, std::string_view wanted) -> Keysym {
    const auto found = std::ranges::find(table, wanted, &Name::name);
    return found == table.end() ? 0 : found->keysym;
  };
  if (name.empty()) return unknown(name);
  if (const Keysym keysym = named(kNames, name); keysym != 0) return keysym;
  if (const std::u32string one = characters_of(name); one.size() == 1) {
    if (const Keysym keysym = keysym_of(one[0]); keysym != 0) return keysym;
    return unknown("a control character");
  }
  if (const char32_t point = code_point(name); point != 0)
    if (const Keysym keysym = keysym_of(point); keysym != 0) return keysym;
  const std::string small = lower(name);
  if (const Keysym keysym = named(kOtherNames, small); keysym != 0) return keysym;
  for (const Name& entry : kNames)  // "return", "F4", "page_up"
    if (entry.name.size() > 1 && lower(entry.name) == small) return entry.keysym;
  return unknown(name);
}

Result<std::vector<Keysym>> parse_chord(std::string_view chord) {
  std::vector<Keysym> keys;
  const std::vector<std::string_view> parts = split_chord(chord);
  if (parts.empty()) return unknown(chord);
  for (const std::string_view part : parts) {
    Result<Keysym> key = parse_key(part);
    if (!key) return std::move(key.error());
    keys.push_back(*key);
  }
  if (keys.size() > 8) return Error{Code::invalid_argument, "a chord has at most 8 keys"};
  Keysym& last = keys.back();
  const bool letter = last >= XK_A && last <= XK_Z;
  if (letter && keys.size() > 1 && std::none_of(keys.begin(), keys.end(), is_shift))
    last = last - XK_A + XK_a;
  return keys;
}

}  // namespace vitrine::screen
