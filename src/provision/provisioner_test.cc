// SPDX-License-Identifier: Apache-2.0
#include "provision/provisioner.h"

#include <gtest/gtest.h>

#include "testing/life.h"
#include "testing/temp_dir.h"

namespace vitrine::provision {
namespace {

using vitrine::testing::FakeWorker;
using Started = vitrine::testing::Front::Started<Result<Provided>>;

// A provisioner without an index. Its installer sessions have fake workers: each test says what the
// installer inside them answers.
class ProvisionerTest : public ::testing::Test {
 protected:
  static packages::Config without_index() {
    packages::Config config;
    config.index_url = "none";
    config.deny = {"evil"};
    return config;
  }
  static PackageRequest request_of(const std::string& package, const std::string& owner = "alice") {
    PackageRequest request;
    request.packages = {package};
    request.owner = owner;
    return request;
  }

  Started provide(PackageRequest request) {
    return front.start(provisioner.provide(std::move(request),
                                           [this](const std::string& text) { shown += text; }));
  }
  // The answer of the installer in the session that was made last to its last job.
  void answer(const std::string& line) {
    FakeWorker& worker = front.keeper.last_worker();
    worker.print(line + "\n");
    front.settle();
    worker.finished(worker.count(wire::Type::execute));
    front.settle();
  }
  // Somebody asked before: the provisioner knows what the image has.
  void know_the_image() {
    Started first = provide(request_of("numpy"));
    answer(R"({"done": {"python": "3.11.2", "modules": {"numpy": "numpy"}}})");
    ASSERT_TRUE(first.is_done());
    ASSERT_TRUE(first.value());
  }

  // A layer on disk, as an installation has left it.
  void have_layer(char name, std::vector<std::string> pins) {
    Result<packages::Layers::Draft> draft = provisioner.layers().begin();
    ASSERT_TRUE(draft);
    ASSERT_TRUE(provisioner.layers().commit(
        std::move(*draft), {.id = std::string(64, name), .pins = std::move(pins)}));
  }

  vitrine::testing::TempDir directory;
  vitrine::testing::Life life{directory.path()};
  vitrine::testing::Front& front = life.front;
  Provisioner provisioner{front.context.get_executor(),
                          life.registry,
                          life.accounts,
                          front.link,
                          without_index(),
                          std::move(*packages::Layers::open(directory.path() + "/layers"))};
  std::string shown;
};

TEST_F(ProvisionerTest, InstallsNothingThatTheImageHas) {
  Started asked = provide(request_of("numpy"));
  answer(R"({"done": {"python": "3.11.2", "modules": {"numpy": "numpy"}}})");

  const Result<Provided> provided = asked.value();
  ASSERT_TRUE(provided);
  EXPECT_TRUE(provided->layers.empty());
  EXPECT_EQ(front.keeper.count<wire::Create>(), 1u) << "only the one that told the inventory";
  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
}

TEST_F(ProvisionerTest, AsksForTheInventoryOnce) {
  know_the_image();

  Started again = provide(request_of("numpy"));

  EXPECT_TRUE(again.value());
  EXPECT_EQ(front.keeper.count<wire::Create>(), 1u);
}

TEST_F(ProvisionerTest, ShowsProgressAndTellsWhyAPackageCannotBeHad) {
  know_the_image();
  Started asked = provide(request_of("nonesuch"));
  FakeWorker& worker = front.keeper.last_worker();
  worker.print("{\"progress\": \"resolving\"}\n");
  front.settle();
  EXPECT_EQ(shown, "resolving");

  answer(R"({"failed": {"code": "package_not_found", "detail": "no such package"}})");

  const Result<Provided> provided = asked.value();
  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().reason, "package_not_found");
  EXPECT_EQ(front.keeper.count<wire::End>(), 2u) << "its session has ended";
}

TEST_F(ProvisionerTest, InstallsOnceWhatTwoAskForAtTheSameTime) {
  know_the_image();
  Started alice = provide(request_of("six", "alice"));
  Started bob = provide(request_of("six", "bob"));
  EXPECT_EQ(front.keeper.count<wire::Create>(), 2u);

  answer(R"({"done": {"pins": []}})");  // the image has all of it after all

  EXPECT_TRUE(alice.value());
  EXPECT_TRUE(bob.value());
  EXPECT_EQ(front.keeper.count<wire::Create>(), 2u);
}

TEST_F(ProvisionerTest, BelievesNoInstallerThatNamesNoPackage) {
  know_the_image();
  Started asked = provide(request_of("six"));

  answer(R"({"done": {"pins": [{"name": "../../etc", "version": "1", "hashes": []}]}})");

  EXPECT_FALSE(asked.value());
}

TEST_F(ProvisionerTest, TakesNoForbiddenPackageThatAnotherOneNeeds) {
  know_the_image();
  Started asked = provide(request_of("six"));

  answer(R"({"done": {"pins": [{"name": "evil", "version": "1.0", "hashes": []}]}})");

  const Result<Provided> provided = asked.value();
  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().reason, "package_forbidden");
}

TEST_F(ProvisionerTest, RefusesForbiddenNamesBeforeAnythingIsInstalled) {
  know_the_image();

  const Result<Provided> provided = provide(request_of("evil")).value();

  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().reason, "package_forbidden");
  EXPECT_EQ(front.keeper.count<wire::Create>(), 1u);
}

TEST_F(ProvisionerTest, TellsWhenTheInstallersSessionDied) {
  know_the_image();
  Started asked = provide(request_of("six"));

  front.keeper.tell(wire::Died{2, {.cause = Cause::oom, .code = 9}});
  front.settle();

  const Result<Provided> provided = asked.value();
  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().reason, "too_big");
}

TEST_F(ProvisionerTest, LetsTwoInstallAtATimeAndTheThirdWaitForItsTurn) {
  know_the_image();
  Started first = provide(request_of("a-package"));
  FakeWorker& of_first = front.keeper.last_worker();
  Started second = provide(request_of("b-package"));
  Started third = provide(request_of("c-package"));
  EXPECT_EQ(front.keeper.count<wire::Create>(), 3u);

  of_first.print("{\"done\": {\"pins\": []}}\n");
  front.settle();
  of_first.finished(1);
  front.settle();

  EXPECT_TRUE(first.is_done());
  EXPECT_FALSE(second.is_done());
  EXPECT_EQ(front.keeper.count<wire::Create>(), 4u);
}

TEST_F(ProvisionerTest, LeavesASessionWhoseTimeForInstallationsIsOver) {
  know_the_image();
  PackageRequest request = request_of("six");
  request.time = std::chrono::seconds(5);
  Started asked = provide(request);
  front.advance(std::chrono::seconds(6));

  const Result<Provided> provided = asked.value();
  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().reason, "install_timeout");
  EXPECT_NE(provided.error().remedy.find("install_timeout_s"), std::string::npos);
  EXPECT_EQ(front.keeper.count<wire::End>(), 2u) << "nobody waits for it";
}

TEST_F(ProvisionerTest, AddsNothingThatTheSessionsLayersHave) {
  know_the_image();
  have_layer('a', {"six==1.0"});
  PackageRequest request = request_of("tool");
  request.layers = {std::string(64, 'a')};
  Started asked = provide(request);

  answer(R"({"done": {"pins": [{"name": "six", "version": "1.0", "hashes": []}]}})");

  const Result<Provided> provided = asked.value();
  ASSERT_TRUE(provided);
  EXPECT_EQ(provided->layers, request.layers);
  EXPECT_EQ(provided->packages, std::vector<std::string>{"six==1.0"});
  EXPECT_TRUE(provided->added.empty());
}

TEST_F(ProvisionerTest, JoinsWhatASessionWithoutPackagesWasGivenForTheSameRequest) {
  know_the_image();
  have_layer('a', {"six==1.0"});
  have_layer('b', {"tool==2.0"});
  Started first = provide(request_of("tool"));
  answer(R"({"done": {"pins": []}})");
  ASSERT_TRUE(first.value());
  const std::size_t sessions = front.keeper.count<wire::Create>();
  PackageRequest request = request_of("tool");
  request.layers = {std::string(64, 'a')};

  const Result<Provided> provided = provide(request).value();

  ASSERT_TRUE(provided);
  EXPECT_EQ(provided->layers, request.layers);
  EXPECT_EQ(front.keeper.count<wire::Create>(), sessions) << "nothing was resolved";
}

TEST_F(ProvisionerTest, GivesAnImpatientClientAnAnswerWhileTheInstallationGoesOn) {
  know_the_image();
  auto asked = front.start(provisioner.provide_within(request_of("six"), std::chrono::seconds(5)));
  front.advance(std::chrono::seconds(6));

  const Result<Provided> provided = asked.value();
  ASSERT_FALSE(provided);
  EXPECT_EQ(provided.error().code, Code::unavailable);
  answer(R"({"done": {"pins": []}})");
  EXPECT_TRUE(provide(request_of("six")).value()) << "it was installed meanwhile";
  EXPECT_EQ(front.keeper.count<wire::Create>(), 2u);
}

}  // namespace
}  // namespace vitrine::provision
