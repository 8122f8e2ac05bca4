// Facts that partial evaluation knows of values.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/runtime/ndarray.h>

namespace relay::partial {

struct Known;

/// The variables of one activation of a function, and those around it.
struct Scope {
  const Scope* around = nullptr;
  std::unordered_map<const Var*, Known*> variables;
};

/// A value: what is known of it, and what stands for it in the program that is written.
struct Known {
  enum class Kind : uint8_t {
    kUnknown,
    kTensor,
    kTuple,
    kData,         // a constructor with fields
    kConstructor,  // one that is not applied
    kClosure,      // a function literal with its variables
    kGlobal,       // a global function
    kReference     // a cell that was made here
  };
  static constexpr uint32_t kEverywhere = UINT32_MAX;

  Kind kind = Kind::kUnknown;
  NDArray tensor;
  std::vector<Known*> fields;
  const Constructor* constructor = nullptr;
  const Function* function = nullptr;
  const Scope* scope = nullptr;  // of a closure
  Name name;                     // for people
  uint64_t size = 1;             // of data, as a tree
  ExprRef atom;                  // a variable, a constant or a name
  uint32_t block = kEverywhere;  // the atom can be used while this block is open
};

/// Keeps all values and scopes of one run: they refer to each other in cycles.
class Values {
 public:
  Known* add(Known::Kind kind) {
    Known& value = values_.emplace_back();
    value.kind = kind;
    return &value;
  }
  Known* unknown(ExprRef atom, uint32_t block) {
    Known* value = add(Known::Kind::kUnknown);
    value->atom = std::move(atom);
    value->block = block;
    return value;
  }
  Scope* add_scope(const Scope* around) {
    Scope& scope = scopes_.emplace_back();
    scope.around = around;
    return &scope;
  }

 private:
  std::deque<Known> values_;
  std::deque<Scope> scopes_;
};

/// True if a call with this argument may be decided by it.
inline bool is_static(const Known& value) {
  return value.kind != Known::Kind::kUnknown && value.kind != Known::Kind::kReference;
}

}  // namespace relay::partial
