// The abstract values that Flow follows.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <relay/program/flow.h>
#include <relay/support/hash.h>

namespace relay::flow {

using ValueId = uint32_t;
constexpr ValueId kBottom = 0;  // no value

/// A set of values: the fact, the fields of tuples, and the functions that the values are or hold.
/// Fields are values that were made before.
struct Value {
  Fact fact = 0;
  bool any = false;     // nothing is known of its fields, and it may be or hold any function
  bool shared = false;  // may hold references or data values, whose contents are elsewhere
  std::vector<ValueId> fields = {};
  std::vector<uint32_t> functions = {};  // sorted; the known ones

  bool operator==(const Value&) const = default;
};

/// Equal values have one number.
class Values {
 public:
  explicit Values(const FlowAnalysis& analysis) : analysis_(analysis) { all_.emplace_back(); }

  const Value& operator[](ValueId id) const { return all_[id]; }

  ValueId make(Value value) {
    uint64_t hash = hash_combine(value.fact, (value.any ? 2u : 0u) + (value.shared ? 1u : 0u));
    for (ValueId field : value.fields) hash = hash_combine(hash, field);
    for (uint32_t function : value.functions) hash = hash_combine(hash, function + 1);
    std::vector<ValueId>& places = by_hash_[hash];
    for (ValueId id : places) {
      if (all_[id] == value) return id;
    }
    places.push_back(static_cast<ValueId>(all_.size()));
    all_.push_back(std::move(value));
    return places.back();
  }

  ValueId unknown() {
    Value value;
    value.fact = analysis_.unknown();
    value.any = value.shared = true;
    return make(std::move(value));
  }

  ValueId tuple(Fact fact, std::vector<ValueId> fields) {
    Value value;
    value.fact = fact;
    for (ValueId field : fields) {
      const Value& part = all_[field];
      value.shared |= part.shared || part.any;
      add_functions(part.functions, value.functions);
    }
    value.fields = std::move(fields);
    return make(std::move(value));
  }

  /// As deep as tuples nest in a type, which is bounded.
  ValueId join(ValueId a, ValueId b) {
    if (a == b || b == kBottom) return a;
    if (a == kBottom) return b;
    if (a > b) std::swap(a, b);
    const auto known = joins_.find({a, b});
    if (known != joins_.end()) return known->second;
    const Value one = all_[a], other = all_[b];
    Value value;
    value.fact = join_facts(one.fact, other.fact);
    value.shared = one.shared || other.shared;
    value.any =
        one.any || other.any ||
        (one.fields.size() != other.fields.size() && !one.fields.empty() && !other.fields.empty());
    value.functions = one.functions;
    add_functions(other.functions, value.functions);
    value.any |= value.functions.size() > kMostFunctions;
    if (!value.any) {
      value.fields = one.fields.empty() ? other.fields : one.fields;
      for (size_t i = 0; i < std::min(one.fields.size(), other.fields.size()); ++i)
        value.fields[i] = join(one.fields[i], other.fields[i]);
    }
    return joins_[{a, b}] = make(std::move(value));
  }

  /// A field of a tuple; nothing if the value is no tuple of known fields.
  const ValueId* field(ValueId tuple, size_t index) const {
    const Value& value = all_[tuple];
    return !value.any && index < value.fields.size() ? &value.fields[index] : nullptr;
  }

  Fact join_facts(Fact a, Fact b) const {
    if (a == b || b == 0) return a;
    return a == 0 ? b : analysis_.join(a, b);
  }

 private:
  static constexpr size_t kMostFunctions = 64;

  static void add_functions(const std::vector<uint32_t>& more, std::vector<uint32_t>& functions) {
    if (more.empty()) return;
    std::vector<uint32_t> both;
    std::set_union(functions.begin(), functions.end(), more.begin(), more.end(),
                   std::back_inserter(both));
    functions = std::move(both);
  }

  const FlowAnalysis& analysis_;
  std::vector<Value> all_;
  std::unordered_map<uint64_t, std::vector<ValueId>> by_hash_;
  std::map<std::pair<ValueId, ValueId>, ValueId> joins_;
};

}  // namespace relay::flow
