// What the functions of operators that Python declares are given.
#pragma once

#include <span>
#include <vector>

#include <bindings/bindings.h>

#include <relay/op/op.h>

namespace relay::python {

/// A use of a relation, while it is asked.
struct RelationObject {
  const RelationCall* call;  // null once it has answered

  const RelationCall& get() const {
    if (call == nullptr)
      throw nb::value_error("this belongs to a relation that has answered: it cannot be kept");
    return *call;
  }
};

/// A typed call, for expansions.
struct CallObject {
  OpCall call;
};

struct GradientObject {
  OpCall call;
  std::vector<ExprRef> args;
  ExprRef result;
};

std::vector<TypeRef> types_of(const OpCall& call);
std::vector<Dim> dims_of(nb::handle object);
nb::tuple objects_of(std::span<const Dim> dims);

/// Binds the three classes.
void bind_calls(nb::module_& m);

}  // namespace relay::python
