// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

namespace vitrine {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Code::invalid_argument, "an odd number has no half"};
  return number / 2;
}

TEST(Result, HoldsAValue) {
  Result<int> result = half(8);

  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, HoldsTheReasonThereIsNoValue) {
  const Result<int> result = half(7);

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_EQ(result.error().message, "an odd number has no half");
}

TEST(Result, GivesAwayWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));

  const std::unique_ptr<int> number = *std::move(result);

  EXPECT_EQ(*number, 5);
}

TEST(Result, ReachesIntoItsValue) {
  Result<std::string> result(std::string("abc"));

  result->append("d");
  result.value() += "e";

  EXPECT_EQ(result->size(), 5u);
  EXPECT_EQ(std::as_const(result)->size(), 5u);
  EXPECT_EQ(*std::as_const(result), "abcde");
}

TEST(Result, OfAnErrorCodeIsNotMistakenForAnError) {
  const Result<Code> result(Code::internal);

  EXPECT_TRUE(result);
}

TEST(Result, RefusesToGiveAValueItDoesNotHave) {
  Result<int> result = half(7);

  EXPECT_THROW((void)result.value(), std::bad_variant_access);
  EXPECT_THROW((void)half(8).error(), std::bad_variant_access);
}

TEST(Status, IsFineUntilAnErrorIsGiven) {
  const Status fine = ok();
  const Status broken = Error{Code::timed_out, "too late"};

  EXPECT_TRUE(fine);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Code::timed_out);
}

TEST(Error, SaysWhatWasBeingDone) {
  Error error = Error{Code::internal, "no luck"}.during("second").during("first");

  EXPECT_EQ(error.message, "first: second: no luck");
}

TEST(Error, KeepsCodeDetailAndRemedyWhileItTravels) {
  const Error error = Error{Code::conflict, "busy", "pid 7"}.with_remedy("wait").during("stopping");

  EXPECT_EQ(error.code, Code::conflict);
  EXPECT_EQ(error.detail, "pid 7");
  EXPECT_EQ(error.remedy, "wait");
}

TEST(Error, DescribesItselfInOneLine) {
  EXPECT_EQ((Error{Code::not_found, "no such thing"}).describe(), "not_found: no such thing");
  EXPECT_EQ((Error{Code::conflict, "busy", "pid 7", "wait"}).describe(),
            "conflict: busy (pid 7); remedy: wait");
}

TEST(Error, ComesBackFromAnotherProcess) {
  const Error sent{Code::conflict, "busy", "", "wait"};

  const Error back = Error::unpack(sent.pack());

  EXPECT_EQ(back.code, Code::conflict);
  EXPECT_EQ(back.message, "busy");
  EXPECT_EQ(back.detail, "");
  EXPECT_EQ(back.remedy, "wait");
}

TEST(Error, ThatCannotBeUnpackedIsInternal) {
  for (const std::string_view packed : {"", "\x08too high", "\xFF"}) {
    const Error error = Error::unpack(packed);
    EXPECT_EQ(error.code, Code::internal);
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(Error, IsUnpackedFromAnyTruncation) {
  const std::string packed = Error{Code::conflict, "busy", "pid 7", "wait"}.pack();

  for (std::size_t size = 1; size < packed.size(); ++size)
    EXPECT_EQ(Error::unpack(std::string_view(packed).substr(0, size)).code, Code::conflict);
}

TEST(Error, ReadsErrnoOfTheCallBefore) {
  errno = ENOENT;

  const Error error = Error::from_errno("looking");

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.message, "looking failed: No such file or directory");
}

struct ErrnoCase {
  int errnum;
  Code code;
};
class ErrorFromErrno : public testing::TestWithParam<ErrnoCase> {};

TEST_P(ErrorFromErrno, HasTheCodeAClientCanActOn) {
  EXPECT_EQ(Error::from_errno("trying", GetParam().errnum).code, GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, ErrorFromErrno,
    testing::Values(
        ErrnoCase{ENOENT, Code::not_found}, ErrnoCase{ENOTDIR, Code::not_found},
        ErrnoCase{EINVAL, Code::invalid_argument}, ErrnoCase{EXDEV, Code::invalid_argument},
        ErrnoCase{ELOOP, Code::invalid_argument}, ErrnoCase{EISDIR, Code::invalid_argument},
        ErrnoCase{ENAMETOOLONG, Code::invalid_argument}, ErrnoCase{EEXIST, Code::conflict},
        ErrnoCase{EBUSY, Code::conflict}, ErrnoCase{ENOTEMPTY, Code::conflict},
        ErrnoCase{ENOSPC, Code::over_limit}, ErrnoCase{EDQUOT, Code::over_limit},
        ErrnoCase{EMFILE, Code::over_limit}, ErrnoCase{ENFILE, Code::over_limit},
        ErrnoCase{ENOMEM, Code::over_limit}, ErrnoCase{EAGAIN, Code::over_limit},
        ErrnoCase{EMSGSIZE, Code::over_limit}, ErrnoCase{ENOSYS, Code::unsupported},
        ErrnoCase{EOPNOTSUPP, Code::unsupported}, ErrnoCase{EPIPE, Code::unavailable},
        ErrnoCase{ECONNRESET, Code::unavailable}, ErrnoCase{ECONNREFUSED, Code::unavailable},
        ErrnoCase{ESRCH, Code::unavailable}, ErrnoCase{ETIMEDOUT, Code::timed_out},
        ErrnoCase{EPERM, Code::internal}, ErrnoCase{EIO, Code::internal}));

TEST(Code, HasANameOfItsOwnForEach) {
  std::set<std::string_view> names;

  for (int code = 0; code <= static_cast<int>(Code::internal); ++code)
    names.insert(to_string(static_cast<Code>(code)));

  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::internal) + 1);
}

}  // namespace
}  // namespace vitrine
