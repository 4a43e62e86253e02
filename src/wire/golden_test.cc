// SPDX-License-Identifier: Apache-2.0
// The bytes of every message, written down once: an encoder that changes them changes a protocol, and
// tests/engine/wire.py and docs/session-socket.md with it.
#include <gtest/gtest.h>

#include <string>

#include "wire/control.h"
#include "wire/egress.h"
#include "wire/encoder.h"
#include "wire/messages.h"
#include "wire/screen.h"

namespace vitrine::wire {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

const Limits kLimits{.memory_bytes = 2,
                     .cpu_permille = 3,
                     .processes = 4,
                     .disk_bytes = 5,
                     .output_bytes = 6,
                     .exec_time = std::chrono::milliseconds(7),
                     .idle_time = std::chrono::milliseconds(8)};

TEST(WireBytes, OfSessionMessagesStayTheSame) {
  EXPECT_EQ(hex(wire::Setup{.environment = {{"A", "1"}, {"Z", ""}},
                            .seed = 7,
                            .policy = Policy::smolagents,
                            .imports = {"decimal", "os.path"},
                            .packages_first = true}
                    .encode()),
            "020001000000410100000031010000005a0000000001070000000000000002020007000000646563"
            "696d616c070000006f732e7061746801");
  EXPECT_EQ(hex(wire::Setup{}.encode()), "000000000000000000000000000000");
  EXPECT_EQ(hex(Execute{.code = "print('\xC3\xA9')",
                        .stdin_mode = Stdin::given,
                        .stdin_bytes = "in",
                        .environment = {{"A", "1"}},
                        .result_limit = 2,
                        .render_ms = 3,
                        .line_ms = 4}
                    .encode()),
            "0b0000007072696e742827c3a927290102000000696e010001000000410100000031020000000000"
            "00000300000004000000");
  EXPECT_EQ(hex(Input{.end_of_file = true, .bytes = "x"}.encode()), "010100000078");
  EXPECT_EQ(hex(Ready{.python = "3.11.2", .last_execution = 5}.encode()),
            "06000000332e31312e3205000000000000000000000000000000");
  EXPECT_EQ(hex(ResultBundle{.kind = ResultKind::update_display,
                             .display_id = "p",
                             .data = {{"text/plain", "42"}},
                             .metadata = "{}"}
                    .encode()),
            "02010000007001000a000000746578742f706c61696e020000003432020000007b7d");
  EXPECT_EQ(hex(ErrorReport{.name = "N", .value = "V", .traceback = "T"}.encode()),
            "010000004e01000000560100000054");
  EXPECT_EQ(hex(InputRequest{.prompt = "? ", .password = true}.encode()), "020000003f2001");
  EXPECT_EQ(hex(PackageRequest{.packages = {"a", "b"}}.encode()), "020001000000610100000062");
  EXPECT_EQ(
      hex(PackageReply{.added = {"a==1"}, .code = "c", .detail = "d", .remedy = "r"}.encode()),
      "010004000000613d3d31010000006301000000640100000072");
  EXPECT_EQ(hex(Line{.number = 6}.encode()), "06000000");
  EXPECT_EQ(hex(Finished{.claim = Claim::interrupted, .exit_code = 130}.encode()), "0382");
}

TEST(WireBytes, OfControlRequestsStayTheSame) {
  EXPECT_EQ(
      hex(encode_request(
          1, Create{.variant = Variant::seeded,
                    .lifetime = Lifetime::one_shot,
                    .limits = kLimits,
                    .network = Network{.allow = {"a.org"}, .index = true, .gateway_port = 666},
                    .display = {8, 9},
                    .environment = "torch",
                    .isolation = IsolationKind::wasm,
                    .layers = {"wheels"}})),
      "00010000000201020000000000000003000000040000000500000000000000060000000000000007"
      "000000000000000800000000000000010100000005000000612e6f7267019a020800000009000000"
      "05000000746f72636800010106000000776865656c73");
  EXPECT_EQ(hex(encode_request(1, Create{.limits = kLimits})),
            "00010000000100020000000000000003000000040000000500000000000000060000000000000007"
            "00000000000000080000000000000000000400000003000000000000000000");
  EXPECT_EQ(hex(encode_request(1, End{.session = 2})), "01010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, Interrupt{.session = 2, .execution = 3})),
            "020100000002000000000000000300000000000000");
  EXPECT_EQ(hex(encode_request(1, AskStack{.session = 2, .execution = 3})),
            "030100000002000000000000000300000000000000");
  EXPECT_EQ(hex(encode_request(1, Watch{.session = 2, .execution = 3, .milliseconds = 4})),
            "0401000000020000000000000003000000000000000400000000000000");
  EXPECT_EQ(hex(encode_request(1, Unwatch{.session = 2, .execution = 3})),
            "050100000002000000000000000300000000000000");
  EXPECT_EQ(hex(encode_request(1, Kill{.session = 2})), "06010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, Reset{.session = 2, .files = Files::keep})),
            "0701000000020000000000000001");
  EXPECT_EQ(hex(encode_request(1, List{.after = 2})), "08010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, Attach{.session = 2})), "09010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, AskUsage{.session = 2})), "0a010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, Info{})), "0b01000000");
  EXPECT_EQ(hex(encode_request(1, OpenFile{.session = 2, .path = "p"})),
            "0c0100000002000000000000000100000070");
  EXPECT_EQ(hex(encode_request(1, NewFile{.session = 2, .path = "p"})),
            "0d0100000002000000000000000100000070");
  EXPECT_EQ(hex(encode_request(1, CommitFile{.session = 2, .path = "p", .hidden = "h"})),
            "0e01000000020000000000000001000000700100000068");
  EXPECT_EQ(hex(encode_request(1, RemoveFile{.session = 2, .path = "p"})),
            "0f0100000002000000000000000100000070");
  EXPECT_EQ(hex(encode_request(1, ListFiles{.session = 2, .path = "p", .after = "a"})),
            "1001000000020000000000000001000000700100000061");
  EXPECT_EQ(hex(encode_request(1, Freeze{.session = 2, .frozen = true})),
            "1101000000020000000000000001");
  EXPECT_EQ(
      hex(encode_request(1, EndLoop{.session = 2, .execution = 3, .screen = Screen::painting})),
      "12010000000200000000000000030000000000000001");
  EXPECT_EQ(hex(encode_request(1, OpenDisplay{.session = 2, .start = true})),
            "1301000000020000000000000001");
  EXPECT_EQ(hex(encode_request(1, StartEncoder{.session = 2})), "14010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, MountLayers{.session = 2, .layers = {"wheels"}})),
            "150100000002000000000000000106000000776865656c73");
  EXPECT_EQ(hex(encode_request(1, AttachEncoder{.encoder = 2})), "16010000000200000000000000");
  EXPECT_EQ(hex(encode_request(1, StartGateway{})), "1701000000");
}

TEST(WireBytes, OfControlRepliesStayTheSame) {
  EXPECT_EQ(hex(encode_reply(
                1, Error{.code = Code::over_limit, .message = "m", .detail = "d", .remedy = "r"})),
            "01010000000003010000006d0100000072");
  EXPECT_EQ(hex(encode_reply(1, Done{})), "010100000001");
  EXPECT_EQ(hex(encode_reply(1, Opened{.session = 2,
                                       .source = Source::built,
                                       .overdue = 3,
                                       .fds = {{FdRole::stderr_pipe, FdRole::session_socket}}})),
            "0101000000020200000000000000020300000000000000020200");
  EXPECT_EQ(hex(encode_reply(
                1, Listed{.sessions = {{2, {}, 3}, {4, Death{Cause::oom, -9}, 5}}, .more = true})),
            "01010000000301020000000200000000000000030000000000000000000400000000000000050000"
            "0000000000000102f7ffffff");
  EXPECT_EQ(hex(encode_reply(1, Used{.cpu_us = 2, .memory_peak_bytes = 3, .memory_now_bytes = 4})),
            "010100000004020000000000000003000000000000000400000000000000");
  EXPECT_EQ(hex(encode_reply(
                1, KeeperInfo{.instance = "i",
                              .python = "p",
                              .isolation = {.lost = {"l"}, .cgroups = "v2"},
                              .pools = {1, 2, 3, 4, 5},
                              .zygotes = {{.pid = 6}},
                              .environments = {{"e", {"m"}}},
                              .isolations = {{IsolationKind::process,
                                              {Capability::environments, Capability::fork}}}})),
            "0101000000050100000069010000007000000100010000006c000200000076320000000000000000"
            "00000000000000000000000000000000000000000000000000000000010000000200000003000000"
            "0400000005000000ffffffffffffffffffffffffffffffff00000000000000000000000000000000"
            "00000000010000000000000006000000000000000000000000000000000100010000006501000100"
            "00006d01000042000000");
  EXPECT_EQ(hex(encode_reply(1, FileOpened{.size = 2, .modified_ms = 3, .hidden = "h"})),
            "010100000006020000000000000003000000000000000100000068");
  EXPECT_EQ(
      hex(encode_reply(1, FilesListed{.entries = {{"a", FileKind::other, 2, 3}}, .more = true})),
      "010100000007010100000001000000610302000000000000000300000000000000");
  EXPECT_EQ(
      hex(encode_reply(
          1, DisplayOpened{.geometry = {8, 9}, .generation = 2, .fds = {{FdRole::screen_helper}}})),
      "0101000000080800000009000000020000000108");
  EXPECT_EQ(hex(encode_reply(1, EncoderStarted{.encoder = 2})), "0101000000090200000000000000");
  EXPECT_EQ(hex(encode_event(Died{.session = 2, .death = {Cause::killed, -9}})),
            "0200020000000000000004f7ffffff");
  EXPECT_EQ(hex(encode_event(TimedOut{.session = 2, .execution = 3})),
            "020102000000000000000300000000000000");
  EXPECT_EQ(hex(encode_event(DisplayStarted{.session = 2})), "02020200000000000000");
  EXPECT_EQ(hex(encode_event(DisplayDied{.session = 2, .detail = "d"})),
            "020302000000000000000100000064");
}

TEST(WireBytes, OfProxyAndEncoderStayTheSame) {
  EXPECT_EQ(hex(encode_egress_setup(
                {.allow = {"a.org"}, .private_ = {"10.0.0.0/8"}, .gate = 2, .starts = 3})),
            "0100000005000000612e6f7267010000000a00000031302e302e302e302f38020003000000");
  EXPECT_EQ(hex(encode_egress(ProxyStarted{.starts = 2})), "0002000000");
  EXPECT_EQ(hex(encode_egress(Decided{.connection = 2,
                                      .slot = 3,
                                      .entry = {.host = "a.org",
                                                .port = 443,
                                                .decision = NetworkDecision::failed,
                                                .reason = "r",
                                                .address = "192.0.2.1",
                                                .sent = 4,
                                                .received = 5}})),
            "0102000000000000000300000005000000612e6f7267bb01020100000072090000003139322e302e"
            "322e3104000000000000000500000000000000");
  EXPECT_EQ(hex(encode_egress(Closed{.connection = 2, .sent = 3, .received = 4})),
            "02020000000000000003000000000000000400000000000000");
  EXPECT_EQ(hex(encode_egress(ProxyGone{})), "03");
  EXPECT_EQ(hex(encoder::encode_request(encoder::Start{.width = 16,
                                                       .height = 17,
                                                       .offset = 3,
                                                       .stride = 64,
                                                       .fps = 5,
                                                       .format = encoder::Format::gif,
                                                       .max_seconds = 6,
                                                       .max_bytes = 65536})),
            "0010000000110000000300000000000000400000000500000003060000000000010000000000");
  EXPECT_EQ(hex(encoder::encode_request(encoder::Stop{})), "01");
  EXPECT_EQ(hex(encoder::encode_reply(
                encoder::Started{.width = 1, .height = 2, .fps = 3, .codec = "gif"})),
            "0001000000020000000300000003000000676966");
  EXPECT_EQ(
      hex(encoder::encode_reply(encoder::Progress{.frames = 1, .bytes = 2, .milliseconds = 3})),
      "01010000000000000002000000000000000300000000000000");
  EXPECT_EQ(hex(encoder::encode_reply(encoder::Stopped{
                .progress = {1, 2, 3}, .reason = encoder::Reason::error, .detail = "d"})),
            "02010000000000000002000000000000000300000000000000050100000064");
}

TEST(WireBytes, OfScreenStayTheSame) {
  EXPECT_EQ(hex(screen::encode_request(1, screen::ListWindows{})), "0100000000");
  EXPECT_EQ(hex(screen::encode_request(
                1, screen::Input{.events = {screen::Move{{-1, 2}},
                                            screen::Click{screen::Point{3, 4}, 2, 3},
                                            screen::Click{}, screen::Drag{{1, 2}, {3, 4}, 5, 6},
                                            screen::Scroll{std::nullopt, -1, 2}}})),
            "0100000001050000ffffffff02000000010103000000040000000203010001010201000000020000"
            "0003000000040000000506000300ffff0200");
  EXPECT_EQ(
      hex(screen::encode_request(
          1, screen::Input{.events = {screen::Text{"t"}, screen::Key{"k"},
                                      screen::ButtonDown{screen::Point{1, 2}, 3},
                                      screen::ButtonUp{std::nullopt, 3}, screen::KeyDown{"d"},
                                      screen::KeyUp{"u"}, screen::Pause{7}, screen::Close{8}}})),
      "0100000001080004010000007405010000006b060101000000020000000307000308010000006409"
      "01000000750a070000000b08000000");
  EXPECT_EQ(hex(screen::encode_request(1, screen::CaptureWindow{.window = 2})),
            "010000000202000000");
  EXPECT_EQ(hex(screen::encode_reply(0, screen::Ready{.again = true})), "000000000001");
  EXPECT_EQ(hex(screen::encode_reply(1, screen::Windows{.windows = {{.id = 1,
                                                                     .title = "t",
                                                                     .x = -2,
                                                                     .y = 3,
                                                                     .width = 4,
                                                                     .height = 5,
                                                                     .override_redirect = true,
                                                                     .mapped = false,
                                                                     .active = true,
                                                                     .z = 6,
                                                                     .parent = 7}},
                                                        .more = true})),
            "0100000001010100010000000100000074feffffff03000000040000000500000001000106000000"
            "07000000");
  EXPECT_EQ(hex(screen::encode_reply(1, screen::Delivered{})), "0100000002");
  EXPECT_EQ(hex(screen::encode_reply(1, screen::Refused{.text = "t", .event = 2})),
            "01000000030100000074010200");
  EXPECT_EQ(hex(screen::encode_reply(1, screen::Refused{.text = "t", .event = {}})),
            "01000000030100000074000000");
  EXPECT_EQ(hex(screen::encode_reply(1, screen::Captured{.width = 2, .height = 3})),
            "01000000040200000003000000");
}

}  // namespace
}  // namespace vitrine::wire
