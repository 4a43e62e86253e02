// SPDX-License-Identifier: Apache-2.0
// What a module's name means: part of Python, in the image, a package of the index, or a mistake.
//
// A name is never handed to the index as it is: who registers "dataclass" there waits for just that.
// A package is installed only if the table knows that it brings the module; a name one or two letters
// beside one that the session has is corrected, and said; anything else is refused with suggestions.
// Pure. Trust: names are hostile; what they are compared with is not.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::packages {

// What the session's own Python has.
struct Inventory {
  std::set<std::string, std::less<>> standard;            // sys.stdlib_module_names
  std::map<std::string, std::string, std::less<>> image;  // module -> distribution
};

enum class Meaning { standard, in_image, package, corrected, unknown };

struct Import {
  Meaning meaning = Meaning::unknown;
  std::string module;                    // as it may be imported: corrected where it is
  std::string package;                   // to install, for Meaning::package
  std::vector<std::string> suggestions;  // for Meaning::unknown
};

// `name` may be dotted: "matplotlib.pyplot" asks for matplotlib.
Import resolve_import(std::string_view name, const Inventory& inventory);

bool is_module_name(std::string_view name);  // dotted ASCII identifiers, 100 bytes at most

// Of the table; "" if it knows none.
std::string_view package_of(std::string_view module);
std::size_t table_size();

// Letters left out, put in, changed or swapped with their neighbour, to get from one to the other;
// `most` + 1 if there are more.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace vitrine::packages
