// SPDX-License-Identifier: Apache-2.0
// broken overflow|freed: a program with the front's sanitizer options and a mistake, for the test that
// looks whether mistakes are found.
#include <climits>
#include <cstring>
#include <memory>

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "overflow") == 0) {
    int number = INT_MAX - 1;
    number += argc;
    return number == 0 ? 1 : 0;
  }
  auto owner = std::make_unique<int>(argc);
  const volatile int* seen = owner.get();
  if (argc == 2 && std::strcmp(argv[1], "freed") == 0) owner.reset();
  return *seen == 0 ? 1 : 0;
}
