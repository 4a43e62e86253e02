// SPDX-License-Identifier: Apache-2.0
#include "provision/inventories.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

TEST(ReadInventory, TakesModulesAndWhatBringsThem) {
  const boost::json::value said =
      boost::json::parse(R"({"standard": ["os", "sys"], "modules": {"cv2": "opencv-python"}})");

  const packages::Inventory inventory = read_inventory(said.as_object());

  EXPECT_TRUE(inventory.standard.contains("os"));
  EXPECT_TRUE(inventory.standard.contains("sys"));
  ASSERT_TRUE(inventory.image.contains("cv2"));
  EXPECT_EQ(inventory.image.at("cv2"), "opencv-python");
}

TEST(ReadInventory, LeavesOutWhatIsNotAsItShouldBe) {
  for (const char* text : {R"({})", R"({"standard": 1, "modules": []})",
                           R"({"standard": [1, null, {}], "modules": {"a": 1, "b": ["c"]}})"}) {
    const boost::json::value said = boost::json::parse(text);

    const packages::Inventory inventory = read_inventory(said.as_object());

    EXPECT_TRUE(inventory.standard.empty()) << text;
    EXPECT_TRUE(inventory.image.empty()) << text;
  }
}

}  // namespace
}  // namespace vitrine::provision
