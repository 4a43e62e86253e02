// SPDX-License-Identifier: Apache-2.0
// The package layers on disk: <data>/layers/<id>/ is a tree that sessions see, <id>.json tells about it.
//
// A tree is made as a draft beside them and gets its name last, so that what has a name is whole; what
// a killed front left is removed by the next open(). `last_used` is the modification time of the .json.
// What was asked for is remembered as well: the same wish finds its layer without asking the index.
// Ownership: one per front; nobody else writes there. Threading: the front's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace vitrine::packages {

struct Layer {
  std::string id;                 // SHA-256 of what it was resolved to
  std::vector<std::string> pins;  // "polars==1.31.0"
  bool shadows =
      false;  // it holds other versions than the image: only for a bare interpreter, before it
  bool sdist = false;  // source distributions might be built for it
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::int64_t last_used = 0;  // seconds since 1970
};

constexpr std::chrono::hours kRemembered{24};  // how long an unpinned name means the same version
constexpr std::size_t kMaxWishes = 4096;       // that are remembered

// What a wish came to. `layer` "" = the image has it all.
struct Answer {
  std::string layer;
};

class Layers {
 public:
  static Result<Layers> open(const std::string& directory);

  const Layer* find(const std::string& id) const;
  std::vector<Layer> list() const;  // least recently used first
  std::uint64_t bytes() const;
  void touch(const std::string& id);

  // True if it has no files, also where somebody took them away behind our back: then it is no layer.
  bool forget_lost(const std::string& id);

  // A directory to fill, and its name; then commit() or discard().
  struct Draft {
    std::string name;
    Fd directory;
  };
  Result<Draft> begin();
  Status commit(Draft draft, Layer layer);
  void discard(const Draft& draft);

  // While somebody has it, prune() leaves the layer alone: from the moment it is promised to a session
  // that is being made until that one is in `in_use`.
  using Hold = std::shared_ptr<const void>;
  Hold hold(const std::string& id);

  Status remove(const std::string& id);
  // Removes the least recently used ones, but none of `in_use` and none that is held, until `budget` is
  // kept. How many.
  std::size_t prune(std::uint64_t budget, const std::set<std::string>& in_use);

  // By the hash of a wish; not older than `age`, and only while its layer is there.
  std::optional<Answer> recall(const std::string& wish, std::chrono::seconds age) const;
  void remember(const std::string& wish, const Answer& answer);
  // Removes what recall() would not find any more, and the oldest beyond `most`.
  void forget(std::size_t most);

 private:
  explicit Layers(std::string directory) : directory_(std::move(directory)) {}
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void read_about(const std::string& name);

  std::string directory_;
  std::map<std::string, Layer> layers_;
  std::map<std::string, std::weak_ptr<const void>> held_;
  std::uint64_t drafts_ = 0;
  std::size_t remembered_ = 0;  // since forget()
};

}  // namespace vitrine::packages
