// Types of lifted programs: a tensor of floats has a cell beside it, in which its gradient adds up.
#pragma once

#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/transform/derived_data.h>

namespace relay::grad {

/// Lets that are being written, in the order in which they run.
class Code {
 public:
  /// A let of the value; gives its variable.
  VarRef bind(ExprRef value, const char* name = "t");
  void bind(VarRef var, ExprRef value);
  void append(const Code& other) {
    bindings_.insert(bindings_.end(), other.bindings_.begin(), other.bindings_.end());
  }
  /// All lets around a result.
  ExprRef finish(ExprRef result) const;

 private:
  std::vector<std::pair<VarRef, ExprRef>> bindings_;
};

/// `Tensor` of floats becomes `(Tensor, ref(Tensor))`, other tensors stay; `fn (A) -> B` takes the
/// tape as well. A data type stays if such parts only come from its arguments, else another one
/// stands for it.
class LiftedTypes {
 public:
  /// `target` gets new data types and functions over them.
  explicit LiftedTypes(Module& target);

  TypeRef lift(const TypeRef& type);
  ConstructorRef constructor(const ConstructorRef& constructor);
  /// `ref(fn () -> ())`: what remains to be done, the last first.
  static TypeRef tape();

  /// The operation on all tensors of a value.
  enum class Walk : uint8_t {
    kLift,      // the value with cells that are zero
    kPrimal,    // the value without cells
    kGradient,  // what the cells hold; zeros for other tensors
    kSeed,      // adds ones to the cells; gives nothing
    kSeedFrom,  // adds a value of the same structure
  };
  /// Writes the walk over a value of type `type`, or over its lifted form; `given` is for
  /// kSeedFrom. Null for the walks that give nothing.
  ExprRef walk(Walk walk, const TypeRef& type, const ExprRef& value, const ExprRef& given,
               Code& code);

 private:
  bool changes(const Type* type) const;
  bool has_no_cells(const Type* type, std::unordered_set<const TypeData*>& seen) const;
  void find_changed();
  GlobalTypeVarRef lifted_data(const GlobalTypeVar* name);
  ExprRef walk_tensor(Walk walk, const TypeRef& type, const ExprRef& value, const ExprRef& given,
                      Code& code);
  ExprRef walk_tuple(Walk walk, const TupleType& type, const ExprRef& value, const ExprRef& given,
                     Code& code);
  Name walk_function(Walk walk, const TypeRef& type);
  ExprRef walk_constructor(Walk walk, const TypeCall& type, const ConstructorRef& constructor,
                           PatternRef& pattern);
  FunctionRef make_walk(Walk walk, const TypeRef& type);

  Module& target_;
  std::unordered_set<const Type*> changed_;  // names of data types
  DerivedData data_;
  std::map<std::pair<Walk, const Type*>, Name> walks_;
  std::vector<TypeRef> kept_;
};

}  // namespace relay::grad
