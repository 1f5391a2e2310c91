// SPDX-License-Identifier: MIT
// Names that live in nested { } scopes: one flat hash map from a name to its innermost meaning, and
// per open scope a log of what to put back when it closes. A look-up costs the same at any depth.
// Keys are views into the PTX text.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oracles/base/assert.h"

namespace plumbline::emulator {

template <typename Value>
class ScopedMap {
 public:
  struct Entry {
    Value value;
    int depth;  // of the scope that declares it, from 0
  };

  ScopedMap() { open(); }

  void open() { log_.emplace_back(); }

  void close() {
    PLUMB_ASSERT(log_.size() > 1);
    for (auto undo = log_.back().rbegin(); undo != log_.back().rend(); ++undo) {
      if (undo->before) {
        map_.insert_or_assign(undo->name, *undo->before);
      } else {
        map_.erase(undo->name);
      }
    }
    log_.pop_back();
  }

  int depth() const { return static_cast<int>(log_.size()) - 1; }

  // nullptr if no open scope has the name. Valid until the next change; the value may be updated
  // through it.
  Entry* find(std::string_view name) {
    const auto found = map_.find(name);
    return found == map_.end() ? nullptr : &found->second;
  }

  // Declares the name in the open scope of this depth; no scope inside that one may have it.
  void set(std::string_view name, Value value, int at_depth) {
    const auto [place, added] = map_.try_emplace(name, Entry{value, at_depth});
    log_[at_depth].push_back({name, added ? std::nullopt : std::optional<Entry>(place->second)});
    if (!added) place->second = Entry{value, at_depth};
  }

  // Adds every name with a meaning now, in no particular order.
  void collect_names(std::vector<std::string_view>& names) const {
    for (const auto& [name, entry] : map_) names.push_back(name);
  }

 private:
  struct Undo {
    std::string_view name;
    std::optional<Entry> before;
  };

  std::unordered_map<std::string_view, Entry> map_;
  std::vector<std::vector<Undo>> log_;
};

}  // namespace plumbline::emulator
