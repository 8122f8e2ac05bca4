#include <relay/op/registry/counts.h>

#include <relay/op/op.h>
#include <relay/op/registry/forms.h>

namespace relay::counts {

TypeRef type() { return TensorType::make({}, kInt64); }
ExprRef number(int64_t value) { return make_constant(NDArray::scalar(kInt64, value)); }
ExprRef plus(const ExprRef& a, const ExprRef& b) { return call_op("add", {a, b}); }
ExprRef minus(const ExprRef& a, const ExprRef& b) { return call_op("subtract", {a, b}); }
ExprRef twice(const ExprRef& a) { return call_op("multiply", {a, number(2)}); }
ExprRef quotient(const ExprRef& a, const ExprRef& b) { return call_op("floor_divide", {a, b}); }
ExprRef at_least(const ExprRef& a, int64_t least) { return call_op("maximum", {a, number(least)}); }
ExprRef smaller(const ExprRef& a, const ExprRef& b) { return call_op("minimum", {a, b}); }

ExprRef root_of_twice(const ExprRef& a) {
  const ExprRef whole = make_cast(twice(a), kFloat64, {});
  return make_cast(call_op("sqrt", {whole}), kInt64, {});
}

ExprRef less(const ExprRef& a, const ExprRef& b) { return call_op("less", {a, b}); }
ExprRef divides(const ExprRef& d, const ExprRef& a) {
  return call_op("equal", {call_op("floor_mod", {a, d}), number(0)});
}
ExprRef where(const ExprRef& test, const ExprRef& a, const ExprRef& b) {
  return call_op("where", {test, a, b});
}

}  // namespace relay::counts
