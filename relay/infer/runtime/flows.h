// Finds the places where a value is used at another type than its own (T14, T15), which the program
// checks while it runs.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// The differences in dimensions between a value's type and the type of a use: `?` on one side, or
/// two dimensions that inference could not decide.
struct Flow {
  bool tensors = false;  // in a tensor, alone or in tuples
  bool inside = false;   // in tensors in a data value or a reference
  /// In a reference or function: a value that goes through it later may not fit, so no check here
  /// is enough.
  bool shared = false;
  bool any() const { return tensors || inside || shared; }
};

/// True if a type consists of tensors, of known rank, and tuples of them.
bool is_of_tensors(const Type* type);

/// The flows of a typed module. A missing type differs from nothing.
class Flows {
 public:
  explicit Flows(const Module& module) : module_(module) {}

  Flow compare(const Type* from, const Type* to);
  /// True if a value of one type must be compared where it is used at the other.
  bool differ(const Type* from, const Type* to) {
    Flow flow = compare(from, to);
    return flow.tensors || flow.inside;
  }
  /// True if a value out of a reference or an unknown function may not be of this type.
  bool is_open(const Type* type) { return type != nullptr && has_shapes(type, true) && mixes(); }
  /// True if a type has shapes that a value of it might break; `inside`: also in tensors in data
  /// values and references.
  bool has_shapes(const Type* type, bool inside);

  /// An argument to check before a call, and the type that it must have there. Dimension names that
  /// the call does not decide have one value in all of them.
  struct Argument {
    size_t operand;
    TypeRef type;
  };
  /// The arguments that the called function does not check itself. It checks declared shapes in
  /// tensors and tuples of them.
  std::vector<Argument> arguments(const Call* call);

  /// The parameters of a function that determine the dimension names of a type: all with shapes
  /// that have names, and data values only for names that those lack.
  std::vector<const Var*> naming(const Function* function, const TypeRef& type);

  /// The variables of a pattern whose annotation differs from their type, in a value of this type.
  std::vector<const Var*> differing(const Pattern* pattern, const Type* type);

  /// True if the module uses a reference or function at two types somewhere. Then values read from
  /// a reference or returned by an unknown function must be checked, and so must the parameters of
  /// functions that are values.
  bool mixes();
  /// True if a global function is used for more than calls.
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
