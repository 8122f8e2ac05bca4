// Scalars and tensors of a computation that Python builds.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <bindings/casters.h>

#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/walk.h>

namespace relay::python {

/// One call of a `compute` function.
struct Session {
  te::Builder builder;
  bool open = true;   // until the function returns
  te::FreeSet scope;  // the axes and placeholders that may be used now, in order of opening
  std::unordered_map<uint32_t, Dim> extents;  // of all axes so far

  explicit Session(te::Builder start) : builder(std::move(start)) {}
};
using SessionRef = std::shared_ptr<Session>;

/// A scalar in Python. Constants belong to no session.
struct ScalarObject {
  te::Scalar value;
  SessionRef session;
  te::FreeSet free;  // axes and placeholders (te::kVarFlag) that it depends on, sorted
};

struct TensorObject {
  te::Tensor tensor;
  SessionRef session;
};

/// Raises an error if the scalar cannot be used now: it belongs to a function that has returned, or
/// an index is used outside of the map or reduction that it belongs to.
void check_usable(const ScalarObject& scalar);
/// The session of two values; raises ValueError if they have two.
SessionRef joined(const SessionRef& a, const SessionRef& b);

/// A scalar of a scalar, number or dimension; `wanted` is the dtype of numbers. Raises TypeError.
ScalarObject scalar_of(nb::handle object, std::optional<DType> wanted, const std::string& what);
/// An int64 scalar of an index: other integers are cast.
ScalarObject index_scalar(nb::handle object, const std::string& what);

/// True if an index is in [0, extent) for all values of its axes.
bool is_within(const te::ScalarNode& index, Dim extent, const Session& session);

te::FreeSet joined(const te::FreeSet& a, const te::FreeSet& b);

[[noreturn]] void type_error(const std::string& text);
[[noreturn]] void value_error(const std::string& text);

void bind_scalars(nb::module_& m);

}  // namespace relay::python
