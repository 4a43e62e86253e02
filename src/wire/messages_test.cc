// SPDX-License-Identifier: Apache-2.0
#include "wire/messages.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "wire/codec.h"

namespace vitrine::wire {
namespace {

using SetupMessage = wire::Setup;  // a test has another Setup

const Environment kEnvironment{
    {"A", "1"}, {"LANG", "C.UTF-8"}, {"Ü", "größer = besser"}, {"Z", ""}};

const SetupMessage kSetup{.environment = kEnvironment,
                          .seed = 7,
                          .policy = Policy::smolagents,
                          .imports = {"decimal", "matplotlib.pyplot"},
                          .packages_first = true};
const Execute kExecute{.code = "print('é')\n",
                       .stdin_mode = Stdin::given,
                       .stdin_bytes = std::string("\xFF\0x", 3),
                       .environment = kEnvironment,
                       .result_limit = 123'456,
                       .render_ms = 1u << 31,
                       .line_ms = 10};
const Input kInput{.end_of_file = true, .bytes = std::string("a\0\xFF", 3)};
const Ready kReady{.python = "3.11.2", .last_execution = 1ull << 63, .token = 5};
const ResultBundle kResult{
    .kind = ResultKind::update_display,
    .display_id = "plot-1",
    .data = {{"text/plain", "42"}, {"image/png", std::string("\x89PNG\0", 5)}},
    .metadata = R"({"a": 1})"};
const ErrorReport kError{
    .name = "ValueError", .value = "ä", .traceback = "Traceback ...\nValueError: ä"};
const InputRequest kInputRequest{.prompt = "Name? ", .password = true};
const PackageRequest kPackageRequest{.packages = {"polars>=1", "größer"}};
const PackageReply kPackageReply{
    .added = {"polars==1.31.0"}, .code = "conflict", .detail = "ä", .remedy = "do without"};
const Finished kFinished{.claim = Claim::interrupted, .exit_code = 130};

// -- every message comes back

TEST(Setup, ComesBackAsItWasSent) {
  Result<SetupMessage> back = SetupMessage::decode(kSetup.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->environment, kEnvironment);
  EXPECT_EQ(back->seed, 7u);
  EXPECT_EQ(back->policy, Policy::smolagents);
  EXPECT_EQ(back->imports, kSetup.imports);
  EXPECT_TRUE(back->packages_first);
}

TEST(Setup, TakesSoManyModulesAndNoMore) {
  SetupMessage setup;
  setup.imports.assign(kMaxImports, std::string(kMaxImport, 'm'));
  EXPECT_TRUE(SetupMessage::decode(setup.encode()));

  setup.imports.emplace_back("m");

  EXPECT_FALSE(SetupMessage::decode(setup.encode()));
}

TEST(Setup, RefusesWhatIsNoPolicyAndNoModule) {
  EXPECT_FALSE(SetupMessage::decode(Writer().u16(0).u8(0).u64(0).u8(3).u16(0).u8(0).take()));
  for (const char* name : {"", ".", "a.", ".a", "a..b", "1a", "a b", "a-b", "\xC3\xA4", "a\n"}) {
    SetupMessage setup;
    setup.imports = {name};
    EXPECT_FALSE(is_module_name(name)) << name;
    EXPECT_FALSE(SetupMessage::decode(setup.encode())) << name;
  }
  EXPECT_FALSE(is_module_name(std::string(kMaxImport + 1, 'm')));
}

TEST(Setup, TellsNoSeedFromSeedZero) {
  EXPECT_FALSE(SetupMessage::decode(SetupMessage{}.encode())->seed.has_value());
  SetupMessage zero;
  zero.seed = 0;
  EXPECT_EQ(SetupMessage::decode(zero.encode())->seed, 0u);
}

TEST(Setup, RefusesASeedThatIsNotOne) {
  EXPECT_FALSE(SetupMessage::decode(Writer().u16(0).u8(0).u64(7).u8(0).u16(0).u8(0).take()));
  EXPECT_FALSE(SetupMessage::decode(Writer().u16(0).u8(2).u64(7).u8(0).u16(0).u8(0).take()));
}

TEST(Execute, ComesBackAsItWasSent) {
  Result<Execute> back = Execute::decode(kExecute.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->code, kExecute.code);
  EXPECT_EQ(back->stdin_mode, Stdin::given);
  EXPECT_EQ(back->stdin_bytes, kExecute.stdin_bytes);
  EXPECT_EQ(back->environment, kEnvironment);
  EXPECT_EQ(back->result_limit, 123'456u);
  EXPECT_EQ(back->render_ms, 1u << 31);
  EXPECT_EQ(back->line_ms, 10u);
}

TEST(Line, ComesBackAndHasFourBytes) {
  Result<Line> back = Line::decode(Line{70'000}.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->number, 70'000u);
  EXPECT_FALSE(Line::decode("abc"));
  EXPECT_FALSE(Line::decode("abcde"));
}

TEST(Execute, TakesNulBytesInCodeButOnlyUtf8) {
  EXPECT_EQ(Execute::decode(Execute{.code = std::string("a\0b", 3)}.encode())->code.size(), 3u);
  EXPECT_FALSE(Execute::decode(Execute{.code = "\xFF"}.encode()));
  EXPECT_FALSE(Execute::decode(Execute{.code = "\xED\xA0\x80"}.encode())) << "a lone surrogate";
}

TEST(Execute, RefusesAnUnknownKindOfStdin) {
  std::string payload = Execute{}.encode();
  ASSERT_TRUE(Execute::decode(payload));

  payload[4] = 3;  // after the length of the empty code

  EXPECT_FALSE(Execute::decode(payload));
}

TEST(Input, ComesBackAsItWasSent) {
  Result<Input> back = Input::decode(kInput.encode());

  ASSERT_TRUE(back);
  EXPECT_TRUE(back->end_of_file);
  EXPECT_EQ(back->bytes, kInput.bytes);
}

TEST(Ready, ComesBackAsItWasSent) {
  Result<Ready> back = Ready::decode(kReady.encode());

  ASSERT_TRUE(back);
  EXPECT_EQ(back->python, "3.11.2");
  EXPECT_EQ(back->last_execution, 1ull << 63);
  EXPECT_EQ(back->token, 5u);
}

TEST(Resume, ComesBackAndHasEightBytes) {
  Result<Resume> back = Resume::decode(Resume{1ull << 63}.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->token, 1ull << 63);
  EXPECT_FALSE(Resume::decode(""));
  EXPECT_FALSE(Resume::decode("123456789"));
}

TEST(Ready, RefusesAVersionThatIsAStory) {
  EXPECT_TRUE(Ready::decode(Ready{.python = std::string(64, 'x')}.encode()));
  EXPECT_FALSE(Ready::decode(Ready{.python = std::string(65, 'x')}.encode()));
}

TEST(ResultBundle, ComesBackAsItWasSent) {
  Result<ResultBundle> back = ResultBundle::decode(kResult.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->kind, ResultKind::update_display);
  EXPECT_EQ(back->display_id, "plot-1");
  EXPECT_EQ(back->data, kResult.data);
  EXPECT_EQ(back->metadata, kResult.metadata);
}

TEST(ResultBundle, RefusesTooManyRepresentations) {
  ResultBundle result;
  result.data.assign(kMaxMimeTypes, {"text/plain", ""});
  EXPECT_TRUE(ResultBundle::decode(result.encode()));

  result.data.assign(kMaxMimeTypes + 1, {"text/plain", ""});

  EXPECT_FALSE(ResultBundle::decode(result.encode()));
}

TEST(ResultBundle, RefusesNamesThatAreEmptyTooLongOrNotText) {
  const auto decodes = [](std::string display_id, std::string mime, std::string metadata) {
    ResultBundle result{.kind = ResultKind::value,
                        .display_id = std::move(display_id),
                        .data = {{std::move(mime), "x"}},
                        .metadata = std::move(metadata)};
    return static_cast<bool>(ResultBundle::decode(result.encode()));
  };

  EXPECT_TRUE(decodes(std::string(256, 'd'), std::string(128, 'm'), "{}"));
  EXPECT_FALSE(decodes(std::string(257, 'd'), "text/plain", "{}"));
  EXPECT_FALSE(decodes("\xFF", "text/plain", "{}"));
  EXPECT_FALSE(decodes("", std::string(129, 'm'), "{}"));
  EXPECT_FALSE(decodes("", "", "{}"));
  EXPECT_FALSE(decodes("", "text/\xFF", "{}"));
  EXPECT_FALSE(decodes("", "text/plain", "\xFF"));
}

TEST(ResultBundle, RefusesAnUnknownKind) {
  std::string payload = kResult.encode();

  payload[0] = 4;

  EXPECT_FALSE(ResultBundle::decode(payload));
}

TEST(PackageRequest, IsBoundedInNumberAndLength) {
  PackageRequest request;
  request.packages.assign(kMaxPackages, std::string(kMaxPackage, 'p'));
  EXPECT_EQ(PackageRequest::decode(request.encode())->packages, request.packages);

  request.packages.emplace_back("p");
  EXPECT_FALSE(PackageRequest::decode(request.encode()));
  EXPECT_FALSE(
      PackageRequest::decode(PackageRequest{{std::string(kMaxPackage + 1, 'p')}}.encode()));
  EXPECT_FALSE(PackageRequest::decode(PackageRequest{{"\xFF"}}.encode()));
}

TEST(PackageReply, ComesBackAsItWasSent) {
  Result<PackageReply> back = PackageReply::decode(kPackageReply.encode());

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->added, kPackageReply.added);
  EXPECT_EQ(back->code, "conflict");
  EXPECT_EQ(back->detail, "ä");
  EXPECT_EQ(back->remedy, "do without");
}

TEST(ErrorReport, ComesBackAsItWasSent) {
  Result<ErrorReport> back = ErrorReport::decode(kError.encode());

  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, kError.name);
  EXPECT_EQ(back->value, kError.value);
  EXPECT_EQ(back->traceback, kError.traceback);
}

TEST(ErrorReport, IsTextOnly) {
  EXPECT_FALSE(ErrorReport::decode(ErrorReport{.name = "\xFF"}.encode()));
  EXPECT_FALSE(ErrorReport::decode(ErrorReport{.value = "\xC0\x80"}.encode()));
  EXPECT_FALSE(ErrorReport::decode(ErrorReport{.traceback = "\xED\xBF\xBF"}.encode()));
}

TEST(InputRequest, ComesBackAsItWasSent) {
  Result<InputRequest> back = InputRequest::decode(kInputRequest.encode());

  ASSERT_TRUE(back);
  EXPECT_EQ(back->prompt, "Name? ");
  EXPECT_TRUE(back->password);
}

TEST(InputRequest, RefusesATruthThatIsNeitherNorYes) {
  EXPECT_FALSE(InputRequest::decode(Writer().bytes("?").u8(2).take()));
}

TEST(Finished, ComesBackAsItWasSent) {
  Result<Finished> back = Finished::decode(kFinished.encode());

  ASSERT_TRUE(back);
  EXPECT_EQ(back->claim, Claim::interrupted);
  EXPECT_EQ(back->exit_code, 130);
}

TEST(Finished, CannotClaimWhatOnlyTheKeeperKnows) {
  for (int claim = 0; claim < 256; ++claim)
    EXPECT_EQ(static_cast<bool>(
                  Finished::decode(Writer().u8(static_cast<std::uint8_t>(claim)).u8(0).take())),
              claim <= 3)
        << claim;
}

// -- what holds for every message

template <class M>
struct Example;
template <>
struct Example<SetupMessage> {
  static const SetupMessage& get() { return kSetup; }
};
template <>
struct Example<Execute> {
  static const Execute& get() { return kExecute; }
};
template <>
struct Example<Input> {
  static const Input& get() { return kInput; }
};
template <>
struct Example<Ready> {
  static const Ready& get() { return kReady; }
};
template <>
struct Example<ResultBundle> {
  static const ResultBundle& get() { return kResult; }
};
template <>
struct Example<ErrorReport> {
  static const ErrorReport& get() { return kError; }
};
template <>
struct Example<InputRequest> {
  static const InputRequest& get() { return kInputRequest; }
};
template <>
struct Example<PackageRequest> {
  static const PackageRequest& get() { return kPackageRequest; }
};
template <>
struct Example<PackageReply> {
  static const PackageReply& get() { return kPackageReply; }
};
template <>
struct Example<Finished> {
  static const Finished& get() { return kFinished; }
};

template <class M>
class EveryMessage : public testing::Test {};
using Messages = testing::Types<SetupMessage, Execute, Input, Ready, ResultBundle, ErrorReport,
                                InputRequest, PackageRequest, PackageReply, Finished>;
TYPED_TEST_SUITE(EveryMessage, Messages);

TYPED_TEST(EveryMessage, ComesBackWithItsDefaults) {
  const std::string payload = TypeParam{}.encode();

  Result<TypeParam> back = TypeParam::decode(payload);

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->encode(), payload);
}

TYPED_TEST(EveryMessage, EncodesToTheSameBytesAgain) {
  const std::string payload = Example<TypeParam>::get().encode();

  Result<TypeParam> back = TypeParam::decode(payload);

  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_EQ(back->encode(), payload);
}

TYPED_TEST(EveryMessage, IsRefusedAtEveryTruncation) {
  const std::string payload = Example<TypeParam>::get().encode();

  for (std::size_t size = 0; size < payload.size(); ++size) {
    Result<TypeParam> back = TypeParam::decode(std::string_view(payload).substr(0, size));
    ASSERT_FALSE(back) << "cut after " << size;
    EXPECT_EQ(back.error().code, Code::invalid_argument);
  }
}

TYPED_TEST(EveryMessage, IsRefusedWithAByteTooMany) {
  const std::string payload = Example<TypeParam>::get().encode();

  EXPECT_FALSE(TypeParam::decode(payload + std::string(1, '\0')));
  EXPECT_FALSE(TypeParam::decode(payload + payload));
}

TYPED_TEST(EveryMessage, WithAnyByteChangedIsRefusedOrMeansTheSameTwice) {
  const std::string payload = Example<TypeParam>::get().encode();

  for (std::size_t at = 0; at < payload.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string changed = payload;
      changed[at] = static_cast<char>(value);
      Result<TypeParam> once = TypeParam::decode(changed);
      if (!once) continue;
      Result<TypeParam> twice = TypeParam::decode(once->encode());
      ASSERT_TRUE(twice) << "accepted, but what it means is refused";
      EXPECT_EQ(twice->encode(), once->encode());
    }
}

TYPED_TEST(EveryMessage, OfRandomBytesIsRefusedOrMeansTheSameTwice) {
  std::mt19937_64 random(5);

  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? random() : random() % 4);
    Result<TypeParam> once = TypeParam::decode(bytes);
    if (!once) continue;
    Result<TypeParam> twice = TypeParam::decode(once->encode());
    ASSERT_TRUE(twice);
    EXPECT_EQ(twice->encode(), once->encode());
  }
}

}  // namespace
}  // namespace vitrine::wire
