// SPDX-License-Identifier: Apache-2.0
// What a module's name refers to: the standard library, the image, a package of the index, or a mistake.
//
// A name is never passed to the index unchecked: attackers register names such as "dataclass". A package
// is installed only if the table lists it as the provider of the module. A name that differs by one or
// two letters from a module of the session is corrected, with a note. Anything else is refused, with
// suggestions. Pure.
//
// Trust: names are hostile; the table is not.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::packages {

// The modules that the session's Python has.
struct Inventory {
  std::set<std::string, std::less<>> standard;            // sys.stdlib_module_names
  std::map<std::string, std::string, std::less<>> image;  // module -> distribution
};

enum class Meaning { standard, in_image, package, corrected, unknown };

struct Import {
  Meaning meaning = Meaning::unknown;
  std::string module;                    // to import; the corrected name, if it was corrected
  std::string package;                   // to install, for Meaning::package
  std::vector<std::string> suggestions;  // for Meaning::unknown
};

// `name` may be dotted: "matplotlib.pyplot" refers to matplotlib.
Import resolve_import(std::string_view name, const Inventory& inventory);

bool is_module_name(std::string_view name);  // dotted ASCII identifiers, 100 bytes at most

// From the table; "" if the module is not in it.
std::string_view package_of(std::string_view module);
std::size_t table_size();

// The edit distance with transpositions (Damerau-Levenshtein); `most` + 1 if it is greater than `most`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace vitrine::packages
