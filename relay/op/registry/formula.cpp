#include <relay/op/registry/formula.h>

#include <relay/op/nn/along_axis.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {

namespace {

// True if omitting the constant does not change the shape: it is a scalar.
bool is_scalar(const Formula& x) {
  NDArray array = x.constant();
  return array && array.rank() == 0;
}

}  // namespace

Formula Formula::number(int64_t value, DType dtype) {
  return {make_constant(NDArray::scalar_int(dtype, value)), dtype};
}
Formula Formula::real(double value, DType dtype) {
  return {make_constant(NDArray::scalar(dtype, value)), dtype};
}

NDArray Formula::constant() const {
  const auto* node = expr->as<Constant>();
  return node == nullptr ? NDArray() : node->data();
}

bool Formula::is_all(int64_t value) const {
  NDArray array = constant();
  if (!array || array.size() > 4096) return false;
  for (int64_t i = 0; i < array.size(); ++i) {
    bool equal = dtype.is_float() ? array.element_as_double(i) == static_cast<double>(value)
                                  : array.element_as_int64(i) == value;
    if (!equal) return false;
  }
  return true;
}

Formula cast(const Formula& x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (is_scalar(x)) return {make_constant(x.constant().cast(dtype)), dtype};
  CastAttrs attrs;
  attrs.dtype.value = dtype;
  return {call_op("cast", {x.expr}, Attrs::make(attrs)), dtype};
}

Formula apply(std::string_view op, const Formula& x) { return {call_op(op, {x.expr}), x.dtype}; }

Formula apply(std::string_view op, const Formula& a, const Formula& b) {
  RELAY_CHECK(a.dtype == b.dtype, "operands of two dtypes in the expansion of an operator");
  return {call_op(op, {a.expr, b.expr}), a.dtype};
}

Formula compare(std::string_view op, const Formula& a, const Formula& b) {
  return {apply(op, a, b).expr, kBool};
}

Formula clip(const Formula& x, double low, double high) {
  ClipAttrs attrs;
  attrs.a_min.value = low;
  attrs.a_max.value = high;
  return {call_op("clip", {x.expr}, Attrs::make(attrs)), x.dtype};
}

Formula where(const Formula& condition, const Formula& a, const Formula& b) {
  RELAY_CHECK(a.dtype == b.dtype, "operands of two dtypes in the expansion of an operator");
  return {call_op("where", {condition.expr, a.expr, b.expr}), a.dtype};
}

Formula reinterpret(const Formula& x, DType dtype) {
  CastAttrs attrs;
  attrs.dtype.value = dtype;
  return {call_op("reinterpret", {x.expr}, Attrs::make(attrs)), dtype};
}

Formula along(const Formula& vector, size_t axis, size_t rank) {
  NDArray array = vector.constant();
  if (!array) return {along_axis(vector.expr, axis, rank), vector.dtype};
  Shape shape(rank - axis, 1);
  shape[0] = array.extent(0);
  return {make_constant(array.reshape(shape)), vector.dtype};
}

Formula operator+(const Formula& a, const Formula& b) {
  if (is_scalar(b) && b.is_all(0)) return a;
  return apply("add", a, b);
}
Formula operator-(const Formula& a, const Formula& b) {
  if (is_scalar(b) && b.is_all(0)) return a;
  return apply("subtract", a, b);
}
Formula operator*(const Formula& a, const Formula& b) {
  if (is_scalar(b) && b.is_all(1)) return a;
  return apply("multiply", a, b);
}
Formula operator/(const Formula& a, const Formula& b) {
  if (is_scalar(b) && b.is_all(1)) return a;
  return apply("divide", a, b);
}
Formula operator+(const Formula& a, int64_t b) { return a + Formula::number(b, a.dtype); }
Formula operator-(const Formula& a, int64_t b) { return a - Formula::number(b, a.dtype); }
Formula operator*(const Formula& a, int64_t b) { return a * Formula::number(b, a.dtype); }
Formula operator>>(const Formula& a, const Formula& b) { return apply("right_shift", a, b); }
Formula operator>>(const Formula& a, int64_t b) { return a >> Formula::number(b, a.dtype); }

}  // namespace relay
