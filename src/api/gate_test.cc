// SPDX-License-Identifier: Apache-2.0
#include "api/gate.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/sha256.h"

namespace vitrine::api {
namespace {

Identities owner_and_team() {
  std::vector<Token> tokens(1);
  tokens[0].identity.name = "team";
  tokens[0].sha256 = sha256_hex("team's token");
  return Identities("owner's token", tokens);
}

RequestHeader request_to(const std::string& host) {
  RequestHeader request;
  request.version(11);
  request.set(http::field::host, host);
  return request;
}

const std::set<std::string> kOurs{"127.0.0.1:8000"};

std::string refusal_of(const RequestHeader& request, const char* target = "/v1/info",
                       Access access = Access::ordinary) {
  const std::optional<Problem> problem = refuse_form(request, parse_target(target), access, kOurs);
  return problem ? problem->code : "";
}

TEST(RefuseForm, LetsAnOrdinaryRequestIn) {
  EXPECT_EQ(refusal_of(request_to("127.0.0.1:8000")), "");
}

TEST(RefuseForm, WantsOneHostAndThatItIsOurs) {
  RequestHeader none;
  none.version(11);
  RequestHeader two = request_to("127.0.0.1:8000");
  two.insert(http::field::host, "127.0.0.1:8000");

  EXPECT_EQ(refusal_of(none), "bad_host");
  EXPECT_EQ(refusal_of(two), "bad_host");
  EXPECT_EQ(refusal_of(request_to("evil.example")), "wrong_host");
  EXPECT_EQ(refusal_of(request_to("127.0.0.1:8000"), "http://evil.example/"), "wrong_host");
}

TEST(RefuseForm, TakesAnyHostWhereTheRouteIsOpen) {
  const RequestHeader probe = request_to("10.0.0.7:8000");

  EXPECT_EQ(refusal_of(probe, "/health", Access::open), "");
  EXPECT_EQ(refusal_of(probe, "http://balancer.example/health", Access::open), "");
  EXPECT_EQ(refusal_of(probe, "/health", Access::ordinary), "wrong_host");
}

TEST(RefuseForm, KeepsPagesOfOtherOriginsOut) {
  RequestHeader own = request_to("127.0.0.1:8000");
  own.set(http::field::origin, "http://127.0.0.1:8000");
  RequestHeader foreign = request_to("127.0.0.1:8000");
  foreign.set(http::field::origin, "http://evil.example");

  EXPECT_EQ(refusal_of(own), "");
  EXPECT_EQ(refusal_of(foreign), "foreign_origin");
}

TEST(RefuseForm, WantsALengthThatCanBeReadInOneWay) {
  RequestHeader both = request_to("127.0.0.1:8000");
  both.set(http::field::content_length, "3");
  both.set(http::field::transfer_encoding, "chunked");
  RequestHeader twice = request_to("127.0.0.1:8000");
  twice.insert(http::field::content_length, "3");
  twice.insert(http::field::content_length, "4");
  RequestHeader list = request_to("127.0.0.1:8000");
  list.set(http::field::content_length, "3, 3");
  RequestHeader packed = request_to("127.0.0.1:8000");
  packed.set(http::field::transfer_encoding, "gzip, chunked");

  EXPECT_EQ(refusal_of(both), "ambiguous_length");
  EXPECT_EQ(refusal_of(twice), "ambiguous_length");
  EXPECT_EQ(refusal_of(list), "ambiguous_length");
  EXPECT_EQ(refusal_of(packed), "bad_transfer_encoding");
}

TEST(Identify, TakesATokenInAnyOfItsPlaces) {
  const Identities known = owner_and_team();
  RequestHeader bearer;
  bearer.set(http::field::authorization, "Bearer team's token");
  RequestHeader password;
  password.set(http::field::authorization, "Basic " + to_base64("anybody:team's token"));
  RequestHeader user;
  user.set(http::field::authorization, "Basic " + to_base64("team's token:"));
  RequestHeader own;
  own.set("X-Vitrine-Token", "team's token");

  for (const RequestHeader& request : {bearer, password, user, own}) {
    const Identity* found = identify(request, known);

    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, "team");
  }
}

TEST(Identify, IsNobodyForAWrongTokenAndAnonymousForNone) {
  const Identities known = owner_and_team();
  RequestHeader wrong;
  wrong.set(http::field::authorization, "Bearer guess");
  RequestHeader strange;
  strange.set(http::field::authorization, "Digest team's token");

  EXPECT_EQ(identify(wrong, known), nullptr);
  EXPECT_EQ(identify(strange, known), nullptr);
  EXPECT_EQ(identify(RequestHeader{}, known), &known.anonymous());
}

TEST(Admit, NeedsATokenWhereTheServerSaysSo) {
  const Identities known = owner_and_team();
  const RequestHeader none;

  EXPECT_FALSE(admit(none, Access::ordinary, known, Tokens::for_listings).refusal);
  EXPECT_TRUE(admit(none, Access::listing, known, Tokens::for_listings).refusal);
  EXPECT_TRUE(admit(none, Access::ordinary, known, Tokens::everywhere).refusal);
  EXPECT_FALSE(admit(none, Access::open, known, Tokens::everywhere).refusal);
}

TEST(Admit, KeepsTheOverviewFromTenants) {
  const Identities known = owner_and_team();
  RequestHeader team;
  team.set(http::field::authorization, "Bearer team's token");
  RequestHeader owner;
  owner.set(http::field::authorization, "Bearer owner's token");

  const Sender refused = admit(team, Access::overview, known, Tokens::everywhere);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->code, "owner_only");
  EXPECT_FALSE(admit(owner, Access::overview, known, Tokens::everywhere).refusal);
}

TEST(Admit, TakesAWrongTokenForAMistakeWhereTokensTellTenantsApart) {
  RequestHeader wrong;
  wrong.set(http::field::authorization, "Bearer guess");

  EXPECT_TRUE(admit(wrong, Access::ordinary, owner_and_team(), Tokens::for_listings).refusal);
  const Identities alone("owner's token");
  const Sender anonymous = admit(wrong, Access::ordinary, alone, Tokens::for_listings);
  EXPECT_FALSE(anonymous.refusal);
  EXPECT_EQ(anonymous.identity, &alone.anonymous());
}

}  // namespace
}  // namespace vitrine::api
