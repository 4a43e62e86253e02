// SPDX-License-Identifier: Apache-2.0
#include "engine/crowd.h"

#include <algorithm>
#include <thread>

#include "engine/throughput.h"

namespace vitrine::bench {

using control::Clock;

namespace {

// The kernel frees namespaces, cgroups and slab later than it reports a process dead.
constexpr std::chrono::seconds kCalm{2};

Result<Holdings> holdings_since(const Holdings& before, KeeperProcess& keeper) {
  if (Status s = keeper.settle(); !s) return std::move(s.error());
  std::this_thread::sleep_for(kCalm);
  const Holdings now = holdings_of(keeper.pid(), keeper.name(), keeper.directory());
  return Holdings{.processes = now.processes - before.processes,
                  .descriptors = now.descriptors - before.descriptors,
                  .mounts = now.mounts - before.mounts,
                  .cgroups = now.cgroups - before.cgroups,
                  .namespaces = now.namespaces - before.namespaces,
                  .files = now.files - before.files};
}

}  // namespace

Result<double> Crowd::grow(std::size_t count) {
  if (channels_.empty()) {
    if (Status s = keeper_.settle(); !s) return std::move(s.error());
    std::this_thread::sleep_for(kCalm);
    held_ = holdings_of(keeper_.pid(), keeper_.name(), keeper_.directory());
    before_ = machine_memory();
    present_ = descendants_of(keeper_.pid());
    std::ranges::sort(present_);
  }
  const auto start = Clock::now();
  control::BlockingClient& client = keeper_.client();
  while (channels_.size() < count) {
    Result<control::Channel> channel = client.create({.variant = Variant::loaded});
    if (!channel) return std::move(channel.error());
    Result<control::Execution> execution = control::run(
        client, *channel, 1, {.code = kTrivial.session, .stdin_bytes = {}, .environment = {}});
    if (!execution) return std::move(execution.error());
    channels_.push_back(std::move(*channel));
  }
  return milliseconds_since(start);
}

Result<CrowdMemory> Crowd::measure() const {
  std::this_thread::sleep_for(kCalm);
  const Memory now = machine_memory();
  const auto count = static_cast<double>(channels_.size());
  CrowdMemory memory{.slab = (now.slab - before_.slab) / count,
                     .page_tables = (now.page_tables - before_.page_tables) / count,
                     .kernel_stacks = (now.kernel_stacks - before_.kernel_stacks) / count,
                     .available = (before_.available - now.available) / count};
  for (int pid : descendants_of(keeper_.pid())) {
    if (std::ranges::binary_search(present_, pid)) continue;
    const ProcessMemory one = memory_of(pid);
    memory.pss += one.pss / count;
    memory.private_dirty += one.private_dirty / count;
  }
  return memory;
}

Result<double> Crowd::end_all() {
  control::BlockingClient& client = keeper_.client();
  const auto start = Clock::now();
  std::vector<std::uint32_t> numbers;
  for (const control::Channel& channel : channels_) {
    Result<std::uint32_t> number = client.start(wire::End{channel.session()});
    while (!number && number.error().code == Code::over_limit) {  // it is busy with the others
      if (Status s = client.pump(); !s) return std::move(s.error());
      number = client.start(wire::End{channel.session()});
    }
    if (!number) return std::move(number.error());
    numbers.push_back(*number);
  }
  for (std::uint32_t number : numbers)
    if (Result<control::Answer> answer = client.finish(number); !answer)
      return std::move(answer.error());
  channels_.clear();
  return milliseconds_since(start) / 1000;
}

Result<Holdings> Crowd::left_behind() const { return holdings_since(held_, keeper_); }

Result<Holdings> leaks_after(KeeperProcess& keeper, std::uint64_t count) {
  // Recycled shells are kept on purpose: have them all before the first count.
  const wire::Create one_shot{.variant = Variant::loaded, .lifetime = Lifetime::one_shot};
  const wire::Create session{.variant = Variant::loaded};
  if (Result<Rate> first = rate_of_one_shots(keeper, one_shot, kTrivial, {}, 50); !first)
    return std::move(first.error());
  Result<Holdings> before = holdings_since({}, keeper);
  if (!before) return before;
  for (const wire::Create& request : {one_shot, session})
    if (Result<Rate> rate = rate_of_one_shots(keeper, request, kTrivial, {}, count / 2); !rate)
      return std::move(rate.error());
  return holdings_since(*before, keeper);
}

}  // namespace vitrine::bench
