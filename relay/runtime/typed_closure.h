// Function values that know what they take and give, so that they can be called from outside.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>

namespace relay {

/// A type, and the check whose names and data types it speaks of, which owns it.
struct KnownType {
  std::shared_ptr<const TypeCheck> check;
  const TypeInfo* type = nullptr;
  explicit operator bool() const { return type != nullptr; }
  KnownType part(const TypeInfo& of) const { return {check, &of}; }
};

/// What executors derive their closures from. One that never left its program has no type: in
/// programs calls are checked before they run.
class TypedClosure : public Closure {
 public:
  /// What it may be called as from outside; none if that is not known.
  const KnownType& type() const { return type_; }
  /// What the function is called: "%f", "fn".
  virtual std::string name() const = 0;
  /// The same function, to be called as `type` from now on.
  virtual Ref<Closure> with_type(KnownType type) const = 0;

 protected:
  explicit TypedClosure(const void* kind) : Closure(kind) {}
  KnownType type_;
};

/// The types of the fields of a value; null if it has none that are known.
const std::vector<TypeInfo>* field_types(const TypeCheck& check, const TypeInfo& type,
                                         const Value& value);

/// A value that leaves its program as `type`: all closures in it know their types.
Value leave_program(Value value, const KnownType& type);

/// Throws Error unless a closure may be called with these arguments from outside of its program.
/// Returns its type.
KnownType check_closure_call(const Value& closure, std::span<const Value> arguments);

/// Whether a value of one type may be used where the other is wanted: functions take at least what
/// is wanted and give no more.
bool is_usable_as(const TypeCheck& check, const TypeInfo& type, const TypeCheck& wanted_check,
                  const TypeInfo& wanted);

/// A type as program text, as far as values show it: "fn (float32) -> List[int32]".
std::string type_text(const TypeCheck& check, const TypeInfo& type);

}  // namespace relay
