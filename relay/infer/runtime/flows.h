// Where a value is used at another type than its own (T14, T15): what has to be checked while the
// program runs.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// How the type of a value and the one that it is used at differ in dimensions: `?` where one says
/// more, or two that inference could not decide.
struct Flow {
  bool tensors = false;  // of a tensor, alone or in tuples
  bool inside = false;   // of tensors in a data value or a reference
  /// Of a reference or function: what goes through it later may not fit, so that no check here is
  /// enough.
  bool shared = false;
  bool any() const { return tensors || inside || shared; }
};

/// Whether a type consists of tensors, of known rank, and tuples of them.
bool is_of_tensors(const Type* type);

/// The flows of a typed module. Types that are missing differ in nothing.
class Flows {
 public:
  explicit Flows(const Module& module) : module_(module) {}

  Flow compare(const Type* from, const Type* to);
  /// Whether a value of one type is to be compared where it is used at the other.
  bool differ(const Type* from, const Type* to) {
    Flow flow = compare(from, to);
    return flow.tensors || flow.inside;
  }
  /// Whether what comes out of a reference or an unknown function may not be of this type.
  bool is_open(const Type* type) { return type != nullptr && has_shapes(type, true) && mixes(); }
  /// Whether a type says anything about shapes that a value of it might break; `inside`: of tensors
  /// in data values and references too.
  bool has_shapes(const Type* type, bool inside);

  /// An argument to be checked before a call, and the type that it must have there. Dimension names
  /// that the call does not decide have one value in all of them.
  struct Argument {
    size_t operand;
    TypeRef type;
  };
  /// What the function that is called does not check of its parameters itself, which are shapes in
  /// tensors and tuples of them where these are declared.
  std::vector<Argument> arguments(const Call* call);

  /// The parameters of a function that say what the dimension names of a type are: all with shapes
  /// that have names, and data values only for names that those have not.
  std::vector<const Var*> naming(const Function* function, const TypeRef& type);

  /// The variables of a pattern that are annotated with another type than they have, in a value of
  /// this type.
  std::vector<const Var*> differing(const Pattern* pattern, const Type* type);

  /// Whether a reference or function is used at two types somewhere in the module. Then what is
  /// read from a reference or returned by an unknown function must be checked, as must the
  /// parameters of functions that are values.
  bool mixes();
  /// Whether a global function is more than called.
  bool is_value(const Name& function) { return mixes() && values_.count(function) != 0; }

 private:
  struct Definition {
    bool shapes = false;  // a field has a shape whatever the arguments
    bool shared = false;  // a field is or holds a reference or function
  };
  const Definition& definition(const GlobalTypeVar* name);
  void compare(const Type* from, const Type* to, bool in_data, bool in_shared, Flow& flow);
  void compare_dims(Dim from, Dim to, bool in_data, bool in_shared, Flow& flow);
  std::vector<TypeRef> instance(const Call* call);
  bool mixes_at(const Expr* expr);

  const Module& module_;
  std::unordered_map<const GlobalTypeVar*, Definition> definitions_;
  std::optional<bool> mixes_;
  std::unordered_set<Name> values_;
};

}  // namespace relay
