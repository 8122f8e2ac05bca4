// Function values that know their parameter and result types, so that they can be called from
// outside.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>

namespace relay {

/// A type, and the check that owns its names and data types.
struct KnownType {
  std::shared_ptr<const TypeCheck> check;
  const TypeInfo* type = nullptr;
  explicit operator bool() const { return type != nullptr; }
  KnownType part(const TypeInfo& of) const { return {check, &of}; }
};

/// Base of the closures of executors. One that never left its program has no type: within programs
/// calls are checked before they run.
class TypedClosure : public Closure {
 public:
  /// The type with which it may be called from outside; none if that is not known.
  const KnownType& type() const { return type_; }
  /// The name of the function: "%f", "fn".
  virtual std::string name() const = 0;
  /// The same function, to be called as `type`.
  virtual Ref<Closure> with_type(KnownType type) const = 0;

 protected:
  explicit TypedClosure(const void* kind) : Closure(kind) {}
  KnownType type_;
};

/// The types of the fields of a value; null if they are not known.
const std::vector<TypeInfo>* field_types(const TypeCheck& check, const TypeInfo& type,
                                         const Value& value);

/// Prepares a value to leave its program as `type`: all closures in it get their types.
Value leave_program(Value value, const KnownType& type);

/// Throws Error unless the closure may be called with these arguments from outside of its program.
/// Returns its type.
KnownType check_closure_call(const Value& closure, std::span<const Value> arguments);

/// True if a value of one type may be used as the other: functions take at least what is wanted and
/// give no more.
bool is_usable_as(const TypeCheck& check, const TypeInfo& type, const TypeCheck& wanted_check,
                  const TypeInfo& wanted);

/// A type as program text, as far as values show it: "fn (float32) -> List[int32]".
std::string type_text(const TypeCheck& check, const TypeInfo& type);

}  // namespace relay
