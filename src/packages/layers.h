// SPDX-License-Identifier: Apache-2.0
// The package layers on disk: <data>/layers/<id>/ is a tree that sessions mount, <id>.json describes it.
// A session mounts a list of them, of which each holds only what those before it lack.
//
// A layer is built as a draft and renamed last, so that a named layer is complete; open() removes drafts
// of a front that was killed. `last_used` is the modification time of the .json. Requests are
// remembered too: the same request finds its layer without asking the index.
//
// Ownership: one per front; nothing else writes there.
// Threading: the front's one thread.
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
#include "model/layer.h"

namespace vitrine::packages {

struct Layer {
  std::string id;                 // SHA-256 of the resolved versions
  std::vector<std::string> pins;  // what it holds: "polars==1.31.0"
  std::string python = {};        // the version it was made for
  bool shadows =
      false;  // it has other versions than the image: mounted before a bare interpreter only
  bool sdist = false;  // source distributions were allowed
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::int64_t last_used = 0;  // seconds since 1970
};

constexpr std::chrono::hours kRemembered{24};  // how long an unpinned name means the same version
constexpr std::size_t kMaxRemembered = 4096;   // remembered at most

// What a request was resolved to: all layers of the session. Empty = the image has everything.
struct Answer {
  LayerList layers;
};

class Layers {
 public:
  static Result<Layers> open(const std::string& directory);

  const Layer* find(const std::string& id) const;
  // Of those that exist, in their order.
  std::vector<Layer> find_all(const LayerList& ids) const;
  std::vector<std::string> pins_of(const LayerList& ids) const;
  std::vector<Layer> list() const;  // least recently used first
  std::uint64_t bytes() const;
  void touch(const std::string& id);

  // True if the layer has no files, even if they were removed by somebody else.
  bool forget_lost(const std::string& id);

  // Makes a draft: a directory to fill, and its name. Call commit() or discard() next.
  struct Draft {
    std::string name;
    Fd directory;
  };
  Result<Draft> begin();
  Status commit(Draft draft, Layer layer);
  void discard(const Draft& draft);

  // Protects the layer from prune() while it is held: from the moment it is chosen for a new session
  // until that session is in `in_use`.
  using Hold = std::shared_ptr<const void>;
  Hold hold(const std::string& id);
  Hold hold(const LayerList& ids);

  Status remove(const std::string& id);
  // Removes the least recently used layers, except those in `in_use` and those held, until all fit into
  // `budget`. Returns how many were removed.
  std::size_t prune(std::uint64_t budget, const std::set<std::string>& in_use);

  // By the hash of a request; only if it is not older than `age` and all its layers exist.
  std::optional<Answer> recall(const std::string& wish, std::chrono::seconds age) const;
  void remember(const std::string& wish, const Answer& answer);
  // Removes what recall() would not return any more, and the oldest beyond `most`.
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
