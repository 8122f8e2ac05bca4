#include <relay/op/dyn/sizes.h>

#include <string>
#include <vector>

#include <relay/op/op.h>

namespace relay {
namespace {

ExprRef call_named(const char* name, const std::vector<ExprRef>& args,
                   const std::vector<NamedAttr>& attrs = {}) {
  const Operator* op = get_op(name);
  AttrsRef made = attrs.empty() ? AttrsRef() : Attrs::make(*op->attrs_schema(), attrs, Span());
  return make_call(make_op(op), args, std::move(made));
}

ExprRef int64_number(int64_t value) { return make_constant(NDArray::scalar_int(kInt64, value)); }

ExprRef extents_of(const ExprRef& tensor) {
  return call_named("shape_of", {tensor}, {{"dtype", AttrValue(std::string("int64")), {}}});
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
  return call_named("take", {extents_of(tensor), int64_number(axis)},
                    {{"axis", AttrValue(int64_t{0}), {}}});
}

ExprRef size_is(const ExprRef& size, int64_t number) {
  return call_named("equal", {size, int64_number(number)});
}
ExprRef size_at_most(const ExprRef& size, int64_t number) {
  return call_named("less_equal", {size, int64_number(number)});
}

ExprRef padded_to(const ExprRef& tensor, int64_t rank, int64_t axis, int64_t extent,
                  const ExprRef& size, const NDArray& value) {
  const ExprRef missing = call_named("subtract", {int64_number(extent), size});
  const ExprRef widths = call_named("multiply", {one_at({rank, 2}, 2 * axis + 1), missing});
  return call_named("dyn.nn.pad", {tensor, widths, make_constant(value)});
}

ExprRef cut_to(const ExprRef& tensor, int64_t rank, int64_t axis, const ExprRef& size) {
  const ExprRef at = one_at({rank}, axis);
  const ExprRef elsewhere = call_named("subtract", {int64_number(1), at});
  const ExprRef others = call_named("multiply", {extents_of(tensor), elsewhere});
  const ExprRef end = call_named("add", {others, call_named("multiply", {at, size})});
  const std::vector<int64_t> shape{rank};
  const ExprRef zeros = make_constant(NDArray::zeros(shape, kInt64));
  const ExprRef ones = make_constant(NDArray::uniform(NDArray::scalar_int(kInt64, 1), shape));
  return call_named("dyn.strided_slice", {tensor, zeros, end, ones});
}

}  // namespace relay
