#include <relay/op/dyn/sizes.h>

#include <string>
#include <vector>

#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

ExprRef int64_number(int64_t value) { return make_constant(NDArray::scalar_int(kInt64, value)); }

ExprRef extents_of(const ExprRef& tensor) {
  const std::vector<NamedAttr> attrs{{"dtype", AttrValue(std::string("int64")), {}}};
  return call_op("shape_of", {tensor},
                 Attrs::make(*get_op("shape_of")->attrs_schema(), attrs, Span()));
}

// Zeros with a one.
ExprRef one_at(const std::vector<int64_t>& shape, int64_t index) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<int64_t> numbers(static_cast<size_t>(count), 0);
  numbers[static_cast<size_t>(index)] = 1;
  return make_constant(NDArray::from(shape, std::span<const int64_t>(numbers)));
}

}  // namespace

ExprRef size_of(const ExprRef& tensor, int64_t axis) {
  TakeAttrs attrs;
  attrs.axis = 0;
  return call_op("take", {extents_of(tensor), int64_number(axis)}, Attrs::make(attrs));
}

ExprRef size_is(const ExprRef& size, int64_t number) {
  return call_op("equal", {size, int64_number(number)});
}
ExprRef size_at_most(const ExprRef& size, int64_t number) {
  return call_op("less_equal", {size, int64_number(number)});
}

ExprRef padded_to(const ExprRef& tensor, int64_t rank, int64_t axis, int64_t extent,
                  const ExprRef& size, const NDArray& value) {
  const ExprRef missing = call_op("subtract", {int64_number(extent), size});
  const ExprRef widths = call_op("multiply", {one_at({rank, 2}, 2 * axis + 1), missing});
  return call_op("dyn.nn.pad", {tensor, widths, make_constant(value)});
}

ExprRef cut_to(const ExprRef& tensor, int64_t rank, int64_t axis, const ExprRef& size) {
  const ExprRef at = one_at({rank}, axis);
  const ExprRef elsewhere = call_op("subtract", {int64_number(1), at});
  const ExprRef others = call_op("multiply", {extents_of(tensor), elsewhere});
  const ExprRef end = call_op("add", {others, call_op("multiply", {at, size})});
  const std::vector<int64_t> shape{rank};
  const ExprRef zeros = make_constant(NDArray::zeros(shape, kInt64));
  const ExprRef ones = make_constant(NDArray::uniform(NDArray::scalar_int(kInt64, 1), shape));
  return call_op("dyn.strided_slice", {tensor, zeros, end, ones});
}

}  // namespace relay
