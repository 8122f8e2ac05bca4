// Internal to reduce/: collects changes to a module and makes them all at once.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/module.h>
#include <relay/support/pointer_map.h>

namespace relay::reduce {

/// The new form of each type, dimension list and constant of a module.
struct Mapping {
  std::function<Dim(Dim)> dim;                 // of types, and of attributes with extents
  std::function<DType(DType)> dtype;           // of types, constants and attributes
  std::function<TypeRef(const TypeVar*)> var;  // null keeps a type parameter
};

/// Changes refer to nodes of the old module and do not have to know of each other. `apply` makes a
/// module without a node of the old one, so that typing one module leaves the other alone. Changes
/// that do not fit together give an ill-typed module, which the caller checks.
class Draft {
 public:
  explicit Draft(const Module& module) : module_(module) {}
  const Module& module() const { return module_; }

  /// Replaces a node by `by`. `by` consists of new nodes and of nodes of the old module, to which
  /// changes apply in turn; it does not contain `node` itself.
  void replace(const Expr* node, ExprRef by);
  void drop_function(Name name) { dropped_functions_.insert(name); }
  void drop_type(Name name) { dropped_types_.insert(name); }
  void drop_constructor(const Constructor* constructor) {
    dropped_constructors_.insert(constructor);
  }
  /// Calls of the function by its name lose the argument.
  void drop_param(Name function, size_t index) { dropped_params_[function].insert(index); }
  /// A new last parameter of a function that nobody calls.
  void add_param(Name function, VarRef param) { new_params_[function].push_back(std::move(param)); }
  /// Drops a clause and the claim that the match is complete.
  void drop_clause(const Match* match, size_t clause) {
    dropped_operands_[match].insert(clause + 1);
  }
  void drop_field(const Tuple* tuple, size_t field) { dropped_operands_[tuple].insert(field); }
  /// An attribute gets its default.
  void drop_attr(const Call* call, Name field) { dropped_attrs_[call].insert(field); }
  /// Another annotation; null for none.
  void annotate(const Var* var, TypeRef type) { annotations_[var] = std::move(type); }
  void drop_ret_type(const Function* function) { bare_results_.insert(function); }
  void drop_function_attrs(const Function* function) { bare_functions_.insert(function); }
  void map(Mapping mapping) { mapping_ = std::move(mapping); }

  /// Throws `Error` if the result is not a module.
  Module apply() const;

 private:
  friend class Copier;
  const Module& module_;
  PointerMap<Expr, ExprRef> replacements_;
  std::unordered_set<Name> dropped_functions_, dropped_types_;
  std::unordered_set<const Constructor*> dropped_constructors_;
  std::unordered_map<Name, std::set<size_t>> dropped_params_;
  std::unordered_map<Name, std::vector<VarRef>> new_params_;
  std::unordered_map<const Expr*, std::set<size_t>> dropped_operands_;
  std::unordered_map<const Call*, std::set<Name>> dropped_attrs_;
  std::unordered_map<const Var*, TypeRef> annotations_;
  std::unordered_set<const Function*> bare_results_, bare_functions_;
  Mapping mapping_;
};

/// The type with its dimensions, dtypes and type parameters mapped.
TypeRef map_type(const TypeRef& type, const Mapping& mapping);
/// The elements of an array in another shape; they repeat from the first if there are too few.
NDArray fitted(const NDArray& array, ShapeView shape, DType dtype);

}  // namespace relay::reduce
