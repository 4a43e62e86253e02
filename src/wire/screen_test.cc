// SPDX-License-Identifier: Apache-2.0
#include "wire/screen.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "wire/codec.h"

namespace vitrine::wire::screen {
namespace {

template <class T>
T through(const T& request) {
  Result<NumberedRequest> back = decode_request(encode_request(7, request));
  EXPECT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->number, 7u);
  return std::get<T>(back->request);
}

template <class T>
T answered(const T& reply) {
  Result<NumberedReply> back = decode_reply(encode_reply(9, reply));
  EXPECT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->number, 9u);
  return std::get<T>(back->reply);
}

bool accepted(std::vector<InputEvent> events) {
  return static_cast<bool>(decode_request(encode_request(1, Input{std::move(events)})));
}

bool believed(const Reply& reply) {
  return static_cast<bool>(decode_reply(encode_reply(1, reply)));
}

const std::vector<InputEvent> kOneOfEach{
    Move{{-5, 700}},
    Click{Point{10, 20}, 3, 2},
    Click{},
    Drag{{1, 2}, {300, 400}, 1, 25},
    Scroll{Point{5, 5}, -3, 7},
    Text{"é 你好 😀\n"},
    Key{"ctrl+shift+s"},
    ButtonDown{std::nullopt, 2},
    ButtonUp{Point{1, 1}, 2},
    KeyDown{"Shift_L"},
    KeyUp{"Shift_L"},
    Pause{250},
    Close{0x400001},
};

const Window kWindow{.id = 0x400001,
                     .title = "größer",
                     .x = -10,
                     .y = 32'767,
                     .width = 65'535,
                     .height = 1,
                     .override_redirect = true,
                     .mapped = true,
                     .active = false,
                     .z = 511,
                     .parent = 0x400000};

// -- requests

TEST(ScreenRequest, EveryEventComesBackAsItWasSent) {
  const Input back = through(Input{kOneOfEach});

  ASSERT_EQ(back.events.size(), kOneOfEach.size());
  EXPECT_EQ(encode_request(7, back), encode_request(7, Input{kOneOfEach}));
  EXPECT_EQ(std::get<Move>(back.events[0]).to, (Point{-5, 700}));
  EXPECT_EQ(std::get<Click>(back.events[1]).count, 2);
  EXPECT_FALSE(std::get<Click>(back.events[2]).at);
  EXPECT_EQ(std::get<Drag>(back.events[3]).steps, 25);
  EXPECT_EQ(std::get<Scroll>(back.events[4]).dx, -3);
  EXPECT_EQ(std::get<Text>(back.events[5]).text, "é 你好 😀\n");
  EXPECT_EQ(std::get<Close>(back.events[12]).window, 0x400001u);
}

TEST(ScreenRequest, TheOthersComeBackToo) {
  through(ListWindows{});
  EXPECT_EQ(through(CaptureWindow{0x12345678}).window, 0x12345678u);
}

TEST(ScreenRequest, HasANumber) { EXPECT_FALSE(decode_request(encode_request(0, ListWindows{}))); }

TEST(ScreenRequest, IsBoundedInItsParts) {
  EXPECT_TRUE(accepted(std::vector<InputEvent>(kMaxEvents, Click{})));
  EXPECT_FALSE(accepted(std::vector<InputEvent>(kMaxEvents + 1, Click{})));
  EXPECT_TRUE(accepted({Key{std::string(kMaxKey, 'a')}}));
  EXPECT_FALSE(accepted({Key{std::string(kMaxKey + 1, 'a')}}));
  EXPECT_FALSE(accepted({Click{std::nullopt, 0, 1}})) << "no button";
  EXPECT_FALSE(accepted({Click{std::nullopt, 1, 0}})) << "no click";
  EXPECT_FALSE(accepted({Drag{{}, {}, 1, 0}})) << "no step";
  EXPECT_FALSE(accepted({Move{{kMaxCoordinate + 1, 0}}}));
  EXPECT_FALSE(accepted({Scroll{std::nullopt, 0, kMaxScroll + 1}}));
  EXPECT_FALSE(accepted({Text{"\xFF"}})) << "not text";
}

TEST(ScreenRequest, IsBoundedInAll) {
  std::string euros;
  for (std::size_t i = 0; i < kMaxCharacters; ++i) euros += "€";

  EXPECT_TRUE(accepted({Text{euros}})) << "characters are counted, not bytes";
  EXPECT_FALSE(accepted({Text{euros}, Text{"x"}}));
  EXPECT_TRUE(accepted(std::vector<InputEvent>(3, Pause{kMaxWait})));
  EXPECT_FALSE(accepted(std::vector<InputEvent>(4, Pause{kMaxWait})));
  EXPECT_FALSE(accepted({Pause{kMaxWait + 1}}));
}

TEST(ScreenRequest, TheLargestOneFitsIntoAPacket) {
  std::vector<InputEvent> events(kMaxEvents - 1, Key{std::string(kMaxKey, 'a')});
  std::string faces;
  for (std::size_t i = 0; i < kMaxCharacters; ++i) faces += "😀";
  events.emplace_back(Text{faces});

  EXPECT_LE(encode_request(1, Input{events}).size(), kMaxPacket);
  EXPECT_TRUE(accepted(events));
}

// -- replies

TEST(ScreenReply, EveryOneComesBackAsItWasSent) {
  EXPECT_EQ(answered(Windows{{kWindow, Window{.width = 1, .height = 1}}, true}).windows[0],
            kWindow);
  EXPECT_TRUE(answered(Windows{{}, true}).more);
  answered(Delivered{});
  EXPECT_EQ(answered(Refused{"no", 999}).event, 999);
  EXPECT_FALSE(answered(Refused{"no", std::nullopt}).event);
  EXPECT_EQ(answered(Captured{640, 480}).height, 480u);
}

TEST(ScreenReply, OnlyReadyIsUnasked) {
  EXPECT_TRUE(decode_reply(encode_reply(0, Ready{})));
  EXPECT_FALSE(decode_reply(encode_reply(1, Ready{})));
  EXPECT_FALSE(decode_reply(encode_reply(0, Delivered{})));
}

TEST(ScreenReply, LiesAreRefused) {
  const auto with = [](auto change) {
    Window window = kWindow;
    change(window);
    return believed(Windows{{window}, false});
  };

  EXPECT_TRUE(with([](Window&) {}));
  EXPECT_FALSE(with([](Window& w) { w.title = "\xC3"; }));
  EXPECT_FALSE(with([](Window& w) { w.title = std::string(kMaxTitle + 1, 'x'); }));
  EXPECT_FALSE(with([](Window& w) { w.width = 0; }));
  EXPECT_FALSE(with([](Window& w) { w.height = 65'536; }));
  EXPECT_FALSE(with([](Window& w) { w.x = 40'000; }));
  EXPECT_FALSE(believed(Windows{std::vector<Window>(kMaxWindows + 1, kWindow), false}));
  EXPECT_FALSE(believed(Refused{std::string(kMaxRefusal + 1, 'x'), std::nullopt}));
  EXPECT_FALSE(believed(Refused{"no", static_cast<std::uint16_t>(kMaxEvents)}));
  EXPECT_FALSE(believed(Captured{0, 1}));
  EXPECT_FALSE(believed(Captured{kMaxSide + 1, 1}));
}

TEST(ScreenReply, TheLargestOneFitsIntoAPacket) {
  Window window = kWindow;
  window.title = std::string(kMaxTitle, 'x');
  const Windows all{std::vector<Window>(kMaxWindows, window), true};

  EXPECT_LE(encode_reply(1, all).size(), kMaxPacket);
  EXPECT_TRUE(believed(all));
}

TEST(ScreenReply, NoCutAndNoGarbageIsAccepted) {
  const std::string whole = encode_reply(1, Windows{{kWindow}, false});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_reply(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode_reply(whole + "x"));

  std::mt19937 random(1);
  std::string garbage(64, '\0');
  for (int i = 0; i < 10'000; ++i) {
    for (char& c : garbage) c = static_cast<char>(random());
    Result<NumberedReply> back = decode_reply(garbage);
    if (back) {
      EXPECT_EQ(encode_reply(back->number, back->reply), garbage);
    }
  }
}

}  // namespace
}  // namespace vitrine::wire::screen
