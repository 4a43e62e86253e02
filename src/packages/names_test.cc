// SPDX-License-Identifier: Apache-2.0
#include "packages/names.h"

#include <gtest/gtest.h>

namespace vitrine::packages {
namespace {

const Inventory kInventory{.standard = {"dataclasses", "typing", "json", "math", "cmath", "os",
                                        "time", "types", "_thread"},
                           .image = {{"numpy", "numpy"},
                                     {"PIL", "pillow"},
                                     {"matplotlib", "matplotlib"},
                                     {"requests", "requests"}}};

Import import(std::string_view name) { return resolve_import(name, kInventory); }

TEST(ResolveImport, KnowsTheStandardLibraryAndTheImage) {
  EXPECT_EQ(import("typing").meaning, Meaning::standard);
  EXPECT_EQ(import("os.path").meaning, Meaning::standard);
  EXPECT_EQ(import("PIL").meaning, Meaning::in_image);
  EXPECT_EQ(import("matplotlib.pyplot").meaning, Meaning::in_image);
}

TEST(ResolveImport, KnowsWhatThePackageOfAModuleIsCalled) {
  for (const auto& [module, package] :
       std::map<std::string, std::string>{{"cv2", "opencv-python-headless"},
                                          {"yaml", "pyyaml"},
                                          {"sklearn", "scikit-learn"},
                                          {"bs4", "beautifulsoup4"},
                                          {"dateutil", "python-dateutil"},
                                          {"dotenv", "python-dotenv"},
                                          {"polars", "polars"},
                                          {"docx", "python-docx"},
                                          {"fitz", "pymupdf"},
                                          {"jwt", "pyjwt"}}) {
    EXPECT_EQ(import(module).meaning, Meaning::package) << module;
    EXPECT_EQ(import(module).package, package);
  }
  EXPECT_GE(table_size(), 300u);
}

TEST(ResolveImport, CorrectsATypoOfWhatTheSessionHas) {
  EXPECT_EQ(import("dataclass").meaning, Meaning::corrected);
  EXPECT_EQ(import("dataclass").module, "dataclasses");
  EXPECT_EQ(import("nunpy.linalg").module, "numpy.linalg");
  EXPECT_EQ(import("request").module, "requests");
}

TEST(ResolveImport, GuessesNothing) {
  EXPECT_EQ(import("jso").meaning, Meaning::unknown) << "too short";
  EXPECT_EQ(import("tipes").meaning, Meaning::corrected);
  EXPECT_EQ(import("txmxs").meaning, Meaning::unknown) << "nothing is one letter away";
  EXPECT_EQ(import("polarz").meaning, Meaning::unknown) << "never corrected to what is installed";
  EXPECT_EQ(import("polarz").suggestions.at(0), "polars");
  EXPECT_EQ(import("a_module_nobody_has").meaning, Meaning::unknown);
}

TEST(ResolveImport, IsUnsureBetweenTwo) {
  const Inventory two{.standard = {"path1", "path2"}, .image = {}};

  EXPECT_EQ(resolve_import("path3", two).meaning, Meaning::unknown);
}

TEST(ModuleName, IsDottedIdentifiers) {
  for (const char* good : {"a", "a.b", "_x1.y", "cv2"}) EXPECT_TRUE(is_module_name(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "1a", "a-b", "a b", "a/b", "\xd1\x80"})
    EXPECT_FALSE(is_module_name(bad)) << bad;
}

TEST(Distance, CountsLetters) {
  EXPECT_EQ(distance("abc", "abc", 2), 0u);
  EXPECT_EQ(distance("abc", "acb", 2), 1u);
  EXPECT_EQ(distance("dataclass", "dataclasses", 2), 2u);
  EXPECT_EQ(distance("abc", "xyz", 2), 3u);
}

}  // namespace
}  // namespace vitrine::packages
