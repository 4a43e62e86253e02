// SPDX-License-Identifier: Apache-2.0
#include "keeper/programs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "jail/seccomp.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxProgram = 64 << 20;

Result<Fd> sealed_copy(const std::string& name, std::string_view bytes) {
  Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return Error::from_errno("making a memfd");
  if (::write(memory.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fcntl(memory.get(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error::from_errno("sealing a memfd");
  return memory;
}

Result<Fd> sealed_program(const std::string& name, const std::string& path) {
  Result<std::string> bytes = read_file(AT_FDCWD, path.c_str(), kMaxProgram);
  if (!bytes) return std::move(bytes.error()).during(name).with_remedy("build it: ./dev build");
  if (!bytes->starts_with("\x7f"
                          "ELF"))
    return Error{.code = Code::invalid_argument,
                 .message = name + ": it is not a program",
                 .remedy = "build it: ./dev build"};
  Result<Fd> memory = sealed_copy(name, *bytes);
  if (memory && ::fchmod(memory->get(), 0755) != 0) return Error::from_errno("marking " + name);
  return memory;
}

}  // namespace

Result<Programs> open_programs(const Options& options) {
  Programs programs;
  Result<Image> image = open_image(options.image);
  if (!image) return std::move(image.error());
  programs.image = std::move(*image);
  Result<std::string> runtime = find_runtime(options.runtime, programs.image);
  if (!runtime) return std::move(runtime.error());
  programs.runtime = std::move(*runtime);
  Result<Fd> init = sealed_program("vitrine-init", options.init);
  if (!init) return std::move(init.error());
  programs.init = std::move(*init);

  const std::string beside = options.init.substr(0, options.init.rfind('/') + 1);
  programs.encoder = Fd(::open((beside + "vitrine-encoder").c_str(), O_PATH | O_CLOEXEC));
  if (!programs.encoder) log_warning("there is no vitrine-encoder: no recordings");
  programs.gateway = Fd(::open((beside + "vitrine-gateway").c_str(), O_PATH | O_CLOEXEC));
  if (!programs.gateway) log_warning("there is no vitrine-gateway: no index with credentials");
  if (::access((beside + "vitrine-screen").c_str(), F_OK) != 0) {
    log_warning("there is no vitrine-screen: no window list, no input");
    return programs;
  }
  Result<Fd> screen = sealed_program("vitrine-screen", beside + "vitrine-screen");
  if (!screen) return std::move(screen.error());
  programs.screen = std::move(*screen);
  return programs;
}

Result<SealedFilters> compile_filters(Level level) {
  Result<jail::Filters> filters = jail::compile_filters();
  if (!filters) return std::move(filters.error()).during("seccomp");
  SealedFilters sealed;
  const auto seal = [](Fd& into, const char* name, const auto& filter) -> Status {
    Result<Fd> copy = sealed_copy(name, jail::filter_bytes(filter));
    if (!copy) return std::move(copy.error());
    into = std::move(*copy);
    return ok();
  };
  const auto& worker = level == Level::container ? filters->floor : filters->worker;
  if (Status s = seal(sealed.zygote, "zygote filter", filters->zygote); !s)
    return std::move(s.error());
  if (Status s = seal(sealed.worker, "worker filter", worker); !s) return std::move(s.error());
  if (Status s = seal(sealed.display, "base filter", filters->base); !s)
    return std::move(s.error());
  return sealed;
}

}  // namespace vitrine::keeper
