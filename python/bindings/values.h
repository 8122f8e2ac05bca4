// Values in and out of programs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <bindings/casters.h>
#include <bindings/machines.h>

#include <relay/runtime/typed_closure.h>
#include <relay/runtime/value.h>

namespace relay::python {

/// A value that NumPy has no word for: data, closures, references. Numbers, tensors and tuples are
/// Python's own.
struct ValueObject {
  Value value;
  std::shared_ptr<Machines> machines;  // of the program that made it, if one did: closures need one
  KnownType type;                      // as a program knows it, if one does
};

/// Elements with other owners (an argument, a constant of the program) must not be written: such
/// arrays are read-only.
nb::object object_of_value(Value value, const std::shared_ptr<Machines>& machine,
                           const KnownType& type);

/// The owner of the arrays in a value. A function, a data value or a reference lives on after a
/// call, and its contents must not change with an array of the caller's. Memory that is given is
/// the program's from then on, if a program made it.
enum class Memory { kShared, kOwn, kGiven };
/// The way in which a call with such a result type takes its arguments.
Memory memory_of_arguments(const TypeInfo& result);
/// The same of a call of an entry: what it writes into a reference of the caller lives on, too.
/// Parameters of data types do not count, though one may hold references: models that are lists or
/// trees of weights would have all other arguments copied in each call.
Memory memory_of_arguments(const vm::Entry& entry);

/// A value from any object that is one; `wanted`, if known, gives numbers and lists their dtype.
/// For other objects it raises an error that begins with the name. `gifts` gets the arrays whose
/// memory is given.
Value named_value(nb::handle object, const KnownType& wanted, Memory memory,
                  const std::function<std::string()>& name,
                  std::vector<nb::object>* gifts = nullptr);

void bind_values(nb::module_& m);

}  // namespace relay::python
