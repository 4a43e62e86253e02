// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <random>
#include <string>

#include "wire/codec.h"

namespace vitrine::wire {
namespace {

const Limits kLimits{.memory_bytes = 1ull << 30,
                     .cpu_permille = 500,
                     .processes = 7,
                     .disk_bytes = 5ull << 20,
                     .output_bytes = 4096,
                     .exec_time = std::chrono::milliseconds(1),
                     .idle_time = std::chrono::milliseconds(123'456)};

const Network kNetwork{
    .allow = {"example.org", "*.example.net:8443"}, .index = true, .gateway_port = 40'123};

const std::vector<Request> kRequests{
    Create{.variant = Variant::seeded,
           .lifetime = Lifetime::one_shot,
           .limits = kLimits,
           .network = kNetwork,
           .display = {800, 600},
           .environment = "torch",
           .policy = Policy::smolagents,
           .isolation = IsolationKind::vm,
           .layers = {std::string(64, 'b'), std::string(64, 'c')}},
    End{.session = 1},
    Interrupt{.session = 2, .execution = 3},
    AskStack{.session = 4, .execution = 5},
    Watch{.session = 6, .execution = 7, .milliseconds = 8},
    Unwatch{.session = 9, .execution = 10},
    Kill{.session = 11},
    Reset{.session = 12, .files = Files::keep},
    List{},
    Attach{.session = 13},
    AskUsage{.session = 14},
    Info{},
    OpenFile{.session = 15, .path = "a/b"},
    NewFile{.session = 16, .path = std::string("nul\0byte", 8)},
    CommitFile{.session = 17, .path = "a", .hidden = ".b"},
    RemoveFile{.session = 18, .path = ""},
    ListFiles{.session = 19, .path = "dir", .after = "m"},
    Freeze{.session = 20, .frozen = true},
    EndLoop{.session = 21, .execution = 22, .screen = Screen::painting},
    OpenDisplay{.session = 23, .start = true},
    StartEncoder{.session = 24},

    MountLayers{.session = 25, .layers = {std::string(64, 'a')}},
    AttachEncoder{.encoder = 26},
    StartGateway{}};

const KeeperInfo kInfo{
    .instance = "i",
    .python = "3.11.2",
    .isolation = {.level = Level::container,
                  .floor = Level::container,
                  .lost = {"namespaces", "mounts"},
                  .privileged = true,
                  .cgroups = "v2",
                  .limits = LimitsLevel::best_effort,
                  .best_effort = {"cpu"},
                  .memory = "cgroup",
                  .processes = "rlimit",
                  .cpu = "none",
                  .landlock_abi = 6},
    .egress = true,
    .proxies = 1,
    .sessions = 2,
    .capacity = 3,
    .shells = 4,
    .pools = {5, 6, 7, 8, 9},
    .keeper_pid = 10,
    .front_pid = -1,
    .builder_pid = 11,
    .outer_init_pid = 12,
    .front_restarts = 13,
    .encoders = 14,
    .encoder_cpu_us = 15,
    .zygotes = {{Variant::seeded, "torch", Policy::smolagents, 16, true, 17, 18}},
    .environments = {{"torch", {"torch", "numpy"}}},
    .isolations = {{IsolationKind::process, {Capability::packages}},
                   {IsolationKind::wasm, {Capability::files, Capability::fork}}}};

const std::vector<Reply> kReplies{
    Error{.code = Code::over_limit, .message = "full", .detail = {}, .remedy = "wait"},
    Done{},
    Opened{.session = 1,
           .source = Source::built,
           .overdue = 7,
           .fds = {{FdRole::stderr_pipe, FdRole::session_socket}}},
    Listed{.sessions = {{2, {}, 0, false}, {3, Death{Cause::oom, 9}, 4, true}}, .more = true},
    Used{.cpu_us = 5, .memory_peak_bytes = 6, .memory_now_bytes = 7},
    kInfo,
    FileOpened{.size = 8, .modified_ms = 9, .hidden = ".new"},
    FilesListed{.entries = {{"a", FileKind::file, 1, 2}, {"\xFF", FileKind::other, 3, 4}},
                .more = true},
    DisplayOpened{.geometry = {640, 480}, .generation = 2, .fds = {{FdRole::framebuffer}}},
    EncoderStarted{.encoder = 27}};

const std::vector<Event> kEvents{
    Died{.session = 8, .death = {Cause::killed, -9}}, TimedOut{.session = 9, .execution = 10},
    DisplayStarted{.session = 11}, DisplayDied{.session = 12, .detail = "signal 9"}};

// All of kReplies and kEvents as packets.
std::vector<std::string> packets_from_keeper() {
  std::vector<std::string> packets;
  for (const Reply& reply : kReplies) packets.push_back(encode_reply(77, reply));
  for (const Event& event : kEvents) packets.push_back(encode_event(event));
  return packets;
}

std::string reencode(const FromKeeper& message) {
  if (const auto* reply = std::get_if<NumberedReply>(&message))
    return encode_reply(reply->number, reply->reply);
  return encode_event(std::get<Event>(message));
}

TEST(ControlRequest, HasAnExampleOfEachHere) {
  ASSERT_EQ(kRequests.size(), std::variant_size_v<Request>);
  for (std::size_t i = 0; i < kRequests.size(); ++i) EXPECT_EQ(kRequests[i].index(), i);
}

TEST(ControlRequest, ComesBackAsItWasSent) {
  for (const Request& request : kRequests) {
    const std::string packet = encode_request(0xFFFFFFFF, request);

    Result<NumberedRequest> back = decode_request(packet);

    ASSERT_TRUE(back) << request.index();
    EXPECT_EQ(back->number, 0xFFFFFFFF);
    EXPECT_EQ(back->request.index(), request.index());
    EXPECT_EQ(encode_request(back->number, back->request), packet);
  }
}

TEST(ControlRequest, KeepsEveryFieldOfCreate) {
  Result<NumberedRequest> back = decode_request(encode_request(1, kRequests[0]));

  ASSERT_TRUE(back);
  const auto& create = std::get<Create>(back->request);
  EXPECT_EQ(create.variant, Variant::seeded);
  EXPECT_EQ(create.lifetime, Lifetime::one_shot);
  EXPECT_EQ(create.limits, kLimits);
  EXPECT_EQ(create.network, kNetwork);
  EXPECT_EQ(create.display, (Geometry{800, 600}));
  EXPECT_EQ(create.environment, "torch");
  EXPECT_EQ(create.policy, Policy::smolagents);
  EXPECT_EQ(create.isolation, IsolationKind::vm);
  EXPECT_EQ(create.layers, (LayerList{std::string(64, 'b'), std::string(64, 'c')}));
}

TEST(ControlRequest, IsRefusedWithWhatIsNoLayer) {
  for (const char* name : {"", "..", "a/b", "A"})
    EXPECT_FALSE(decode_request(encode_request(1, Create{.layers = {name}}))) << name;
}

TEST(ControlRequest, IsRefusedWithMoreLayersThanOneMountTakes) {
  const LayerList most(kMaxLayers, std::string(64, 'a'));
  LayerList more = most;
  more.push_back(std::string(64, 'b'));

  EXPECT_TRUE(decode_request(encode_request(1, MountLayers{.session = 1, .layers = most})));
  EXPECT_FALSE(decode_request(encode_request(1, MountLayers{.session = 1, .layers = more})));
  EXPECT_FALSE(decode_request(encode_request(1, MountLayers{.session = 1, .layers = {}})));
}

TEST(ControlRequest, IsRefusedWithAnIsolationThatDoesNotExist) {
  std::string create = encode_request(1, Create{});
  ASSERT_TRUE(decode_request(create));

  create[create.size() - 2] = kIsolations;  // before the number of layers

  EXPECT_FALSE(decode_request(create));
}

TEST(ControlRequest, IsRefusedWithWhatIsNoEnvironment) {
  for (const char* name : {"default", "..", "a/b", "A", "-a", "a.b"})
    EXPECT_FALSE(decode_request(encode_request(1, Create{.environment = name}))) << name;
}

TEST(ControlRequest, IsRefusedWithTooManyOrTooLongRules) {
  const Network many{std::vector<std::string>(kMaxNetworkRules + 1, "a.org")};
  const Network longer{{std::string(kMaxRuleSize + 1, 'a')}};

  EXPECT_FALSE(decode_request(encode_request(1, Create{.network = many})));
  EXPECT_FALSE(decode_request(encode_request(1, Create{.network = longer})));
  EXPECT_TRUE(decode_request(encode_request(1, Create{})));
}

TEST(ControlRequest, DoesNotMixUpItsNumbers) {
  const auto watch = std::get<Watch>(decode_request(encode_request(1, Watch{1, 2, 3}))->request);

  EXPECT_EQ(watch.session, 1u);
  EXPECT_EQ(watch.execution, 2u);
  EXPECT_EQ(watch.milliseconds, 3u);
}

TEST(ControlRequest, IsRefusedAtEveryTruncationAndWithAByteTooMany) {
  for (const Request& request : kRequests) {
    const std::string packet = encode_request(5, request);
    for (std::size_t size = 0; size < packet.size(); ++size)
      EXPECT_FALSE(decode_request(packet.substr(0, size))) << request.index() << " cut at " << size;
    EXPECT_FALSE(decode_request(packet + '\0')) << request.index();
  }
}

TEST(ControlRequest, IsRefusedWithAnUnknownVerb) {
  for (std::size_t verb = std::variant_size_v<Request>; verb < 256; ++verb)
    EXPECT_FALSE(decode_request(Writer().u8(static_cast<std::uint8_t>(verb)).u32(1).take()));
}

TEST(ControlRequest, IsRefusedWithAnUnknownVariantLifetimeOrFiles) {
  std::string create = encode_request(1, kRequests[0]);
  std::string reset = encode_request(1, Reset{.session = 1, .files = Files::keep});

  create[5] = kVariants;
  EXPECT_FALSE(decode_request(create));
  create[5] = 0;
  EXPECT_TRUE(decode_request(create));
  create[6] = 3;
  EXPECT_FALSE(decode_request(create));
  reset.back() = 2;
  EXPECT_FALSE(decode_request(reset));
}

TEST(ControlRequest, FreezesOrDoesNot) {
  std::string freeze = encode_request(1, Freeze{.session = 1, .frozen = true});
  EXPECT_TRUE(std::get<Freeze>(decode_request(freeze)->request).frozen);

  freeze.back() = 2;

  EXPECT_FALSE(decode_request(freeze));
}

TEST(ControlRequest, DoesNotMixUpTheNamesOfFiles) {
  const auto commit =
      std::get<CommitFile>(decode_request(encode_request(1, kRequests[14]))->request);
  const auto list = std::get<ListFiles>(decode_request(encode_request(1, kRequests[16]))->request);

  EXPECT_EQ(commit.path, "a");
  EXPECT_EQ(commit.hidden, ".b");
  EXPECT_EQ(list.path, "dir");
  EXPECT_EQ(list.after, "m");
}

TEST(ControlRequest, IsRefusedWithATimeThatIsNoTime) {
  Limits none = kLimits;
  none.idle_time = std::chrono::milliseconds(0);
  Limits vast = kLimits;
  vast.idle_time = std::chrono::milliseconds(1ll << 56);
  std::string create = encode_request(1, Create{.limits = none});
  const std::string other = encode_request(1, Create{.limits = vast});
  const auto high_byte = std::ranges::mismatch(create, other).in1;
  ASSERT_NE(high_byte, create.end());
  ASSERT_TRUE(decode_request(create));

  *high_byte = '\xFF';

  EXPECT_FALSE(decode_request(create));
}

TEST(ControlRequest, OfAbsurdLimitsIsDecodedAndLeftToValidate) {
  Limits zero = kLimits;
  zero.memory_bytes = 0;

  Result<NumberedRequest> back = decode_request(encode_request(1, Create{.limits = zero}));

  ASSERT_TRUE(back);
  EXPECT_FALSE(std::get<Create>(back->request).limits.validate());
}

TEST(ControlRequest, OfRandomBytesIsRefusedOrEncodesTheSameAgain) {
  std::mt19937_64 random(1);

  for (int i = 0; i < 100'000; ++i) {
    std::string packet = encode_request(9, kRequests[random() % kRequests.size()]);
    for (std::uint64_t changes = random() % 4; changes > 0; --changes)
      packet[random() % packet.size()] = static_cast<char>(random());
    if (random() % 4 == 0) packet.resize(random() % (packet.size() + 4));
    Result<NumberedRequest> request = decode_request(packet);
    if (request) {
      EXPECT_EQ(encode_request(request->number, request->request), packet);
    }
  }
}

TEST(ControlReply, HasAnExampleOfEachHere) {
  EXPECT_EQ(kReplies.size(), std::variant_size_v<Reply>);
  EXPECT_EQ(kEvents.size(), std::variant_size_v<Event>);
}

TEST(ControlReply, ComesBackAsItWasSent) {
  for (const std::string& packet : packets_from_keeper()) {
    Result<FromKeeper> back = decode_from_keeper(packet);

    ASSERT_TRUE(back) << back.error().describe();
    EXPECT_EQ(reencode(*back), packet);
  }
}

TEST(ControlReply, TellsAClientWhatWentWrongButNotTheDetail) {
  Error error = std::get<Error>(kReplies[0]);
  error.detail = "a host path";

  Result<FromKeeper> back = decode_from_keeper(encode_reply(1, error));

  ASSERT_TRUE(back);
  const auto& told = std::get<Error>(std::get<NumberedReply>(*back).reply);
  EXPECT_EQ(told.code, Code::over_limit);
  EXPECT_EQ(told.message, "full");
  EXPECT_EQ(told.remedy, "wait");
  EXPECT_EQ(told.detail, "") << "is for the log";
}

TEST(ControlReply, KeepsEveryFieldOfTheKeepersInfo) {
  Result<FromKeeper> back = decode_from_keeper(encode_reply(1, kInfo));

  ASSERT_TRUE(back);
  const auto& info = std::get<KeeperInfo>(std::get<NumberedReply>(*back).reply);
  EXPECT_EQ(info.isolation.lost, kInfo.isolation.lost);
  EXPECT_EQ(info.isolation.cpu, "none");
  EXPECT_EQ(info.pools.recycled, 9u);
  EXPECT_EQ(info.front_pid, -1);
  EXPECT_EQ(info.outer_init_pid, 12);
  EXPECT_EQ(info.encoder_cpu_us, 15u);
  ASSERT_EQ(info.zygotes.size(), 1u);
  EXPECT_EQ(info.zygotes[0].environment, "torch");
  EXPECT_EQ(info.zygotes[0].alive, 18u);
  ASSERT_EQ(info.environments.size(), 1u);
  EXPECT_EQ(info.environments[0].preload, kInfo.environments[0].preload);
  ASSERT_EQ(info.isolations.size(), 2u);
  EXPECT_EQ(info.isolations[1].isolation, IsolationKind::wasm);
  EXPECT_EQ(info.isolations[1].capabilities, (Capabilities{Capability::files, Capability::fork}));
}

TEST(ControlReply, RefusesACapabilityThatDoesNotExist) {
  std::string packet = encode_reply(1, KeeperInfo{.isolations = {{IsolationKind::vm, {}}}});
  ASSERT_TRUE(decode_from_keeper(packet));

  packet.back() = 1;

  EXPECT_FALSE(decode_from_keeper(packet));
}

TEST(ControlReply, NamesItsDescriptors) {
  Result<FdPair> pair = make_socketpair();
  ASSERT_TRUE(pair);
  std::vector<Fd> fds;
  fds.push_back(std::move(pair->first));
  fds.push_back(std::move(pair->second));
  const int second = fds[1].get();
  const FdRoles named{{FdRole::framebuffer, FdRole::screen_helper}};

  EXPECT_EQ(named.take(FdRole::screen_helper, fds).get(), second);
  EXPECT_FALSE(named.take(FdRole::egress_log, fds));
}

TEST(ControlReply, RefusesADescriptorOfAnUnknownRole) {
  std::string packet = encode_reply(1, Opened{.session = 1, .fds = {{FdRole::screen_helper}}});
  ASSERT_TRUE(decode_from_keeper(packet));

  packet.back() = 9;

  EXPECT_FALSE(decode_from_keeper(packet));
}

TEST(ControlReply, KeepsTheOrderAndTheFieldsOfAList) {
  Result<FromKeeper> back = decode_from_keeper(encode_reply(1, kReplies[3]));

  ASSERT_TRUE(back);
  const auto& listed = std::get<Listed>(std::get<NumberedReply>(*back).reply);
  EXPECT_TRUE(listed.more);
  const auto& sessions = listed.sessions;
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].session, 2u);
  EXPECT_FALSE(sessions[0].death);
  EXPECT_EQ(sessions[1].session, 3u);
  ASSERT_TRUE(sessions[1].death);
  EXPECT_EQ(sessions[1].death->cause, Cause::oom);
  EXPECT_EQ(sessions[1].death->code, 9);
  EXPECT_EQ(sessions[1].execution, 4u);
  EXPECT_FALSE(sessions[0].frozen);
  EXPECT_TRUE(sessions[1].frozen);
}

TEST(ControlReply, RefusesAListThatLiesAboutItsLength) {
  std::string packet = encode_reply(1, kReplies[3]);

  for (const char count : {'\0', '\1', '\3', '\xFF'}) {
    packet[6] = packet[7] = packet[8] = packet[9] = count;
    EXPECT_FALSE(decode_from_keeper(packet));
  }
}

TEST(ControlReply, KeepsNamesOfFilesThatAreNotText) {
  Result<FromKeeper> back = decode_from_keeper(encode_reply(1, kReplies[7]));

  ASSERT_TRUE(back);
  const auto& listed = std::get<FilesListed>(std::get<NumberedReply>(*back).reply);
  ASSERT_EQ(listed.entries.size(), 2u);
  EXPECT_TRUE(listed.more);
  EXPECT_EQ(listed.entries[1].name, "\xFF");
  EXPECT_EQ(listed.entries[1].kind, FileKind::other);
  EXPECT_EQ(listed.entries[1].modified_ms, 4u);
}

TEST(ControlReply, KeepsTheSignOfAnExitCode) {
  Result<FromKeeper> back = decode_from_keeper(encode_event(kEvents[0]));

  ASSERT_TRUE(back);
  const auto& died = std::get<Died>(std::get<Event>(*back));
  EXPECT_EQ(died.death.cause, Cause::killed);
  EXPECT_EQ(died.death.code, -9);
}

TEST(ControlReply, IsRefusedAtEveryTruncationAndWithAByteTooMany) {
  for (const std::string& packet : packets_from_keeper()) {
    for (std::size_t size = 0; size < packet.size(); ++size)
      EXPECT_FALSE(decode_from_keeper(packet.substr(0, size))) << "cut at " << size;
    EXPECT_FALSE(decode_from_keeper(packet + '\0'));
  }
}

TEST(ControlReply, OfRandomBytesIsRefusedOrEncodesTheSameAgain) {
  std::mt19937_64 random(2);
  const std::vector<std::string> packets = packets_from_keeper();

  for (int i = 0; i < 100'000; ++i) {
    std::string packet = packets[random() % packets.size()];
    for (std::uint64_t changes = random() % 4; changes > 0; --changes)
      packet[random() % packet.size()] = static_cast<char>(random());
    Result<FromKeeper> message = decode_from_keeper(packet);
    if (message) {
      EXPECT_EQ(reencode(*message), packet);
    }
  }
}

}  // namespace
}  // namespace vitrine::wire
