// SPDX-License-Identifier: Apache-2.0
#include "keeper/hidden_name.h"

#include <sys/random.h>

namespace vitrine::keeper {

std::string hidden_name() {
  unsigned char random[8] = {};
  (void)!::getrandom(random, sizeof random, 0);
  std::string name = ".vitrine-upload-";
  for (unsigned char byte : random) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

}  // namespace vitrine::keeper
