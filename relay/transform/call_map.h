// Facts about calls of operators that follow from operator, attributes and types.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/support/hash.h>

namespace relay {

/// Values by what is called, attributes, and the types of arguments and result: a program has far
/// fewer of these than calls. The calls have published types and outlive the map; places of values
/// stay.
template <class T>
class CallMap {
 public:
  /// The value for a call, made by default if absent; the bool is true if it was absent.
  std::pair<T*, bool> insert(const Call& call) {
    std::vector<uint32_t>& places = by_hash_[hash_of(call)];
    for (uint32_t place : places) {
      if (same(*entries_[place].call, call)) return {&entries_[place].value, false};
    }
    places.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.push_back({&call, T()});
    return {&entries_.back().value, true};
  }

 private:
  struct Entry {
    const Call* call;
    T value;
  };
  static uint64_t hash_of(const Call& call) {
    uint64_t hash = reinterpret_cast<uintptr_t>(call.type());
    auto add = [&](const void* pointer) {
      hash = hash_combine(hash, reinterpret_cast<uintptr_t>(pointer));
    };
    add(call.callee().get());
    add(call.attrs().get());
    for (const ExprRef& arg : call.args()) add(arg->type());
    return hash;
  }
  static bool same(const Call& a, const Call& b) {
    if (a.callee() != b.callee() || a.attrs() != b.attrs() || a.type() != b.type() ||
        a.args().size() != b.args().size()) {
      return false;
    }
    for (size_t i = 0; i < a.args().size(); ++i) {
      if (a.args()[i]->type() != b.args()[i]->type()) return false;
    }
    return true;
  }

  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
  std::deque<Entry> entries_;
};

}  // namespace relay
