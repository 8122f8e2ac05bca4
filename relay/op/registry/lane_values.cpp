#include <relay/op/registry/lane_values.h>

#include <relay/op/op.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/batch.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

ExprRef call_lanes(std::string_view op, std::initializer_list<ExprRef> args, Span span) {
  std::string name(kBatchPrefix);
  name += op;
  return call_op(name, args, {}, span);
}

}  // namespace

ExprRef with_axes(const ExprRef& x, int64_t axis, int64_t count) {
  if (count == 0) return x;
  ExpandDimsAttrs attrs;
  attrs.axis.value = axis;
  attrs.num_newaxis = count;
  return call_op("expand_dims", {x}, Attrs::make(attrs), x->span());
}

ExprRef with_moved_axis(const ExprRef& x, size_t from, size_t to, size_t rank) {
  if (from == to) return x;
  TransposeAttrs attrs;
  attrs.axes.emplace();
  for (size_t i = 0; i < rank; ++i) {
    if (i != from) attrs.axes->push_back(static_cast<int64_t>(i));
  }
  attrs.axes->insert(attrs.axes->begin() + static_cast<std::ptrdiff_t>(to),
                     static_cast<int64_t>(from));
  return call_op("transpose", {x}, Attrs::make(attrs), x->span());
}

ExprRef for_each_lane(const ExprRef& x, int64_t lanes, std::span<const Dim> dims, Span span) {
  InitOpAttrs attrs;
  attrs.shape = attr::Shape();
  attrs.shape->push_back(lanes);
  for (const Dim& dim : dims) attrs.shape->push_back(dim.as_int());
  return call_op("broadcast_to", {x}, Attrs::make(attrs), span);
}

ExprRef for_lanes_of(const ExprRef& mask, const ExprRef& one, Span span) {
  return call_lanes("where", {mask, one, one}, span);
}

ExprRef chosen(const ExprRef& condition, const ExprRef& x, const ExprRef& y, Span span) {
  return call_op("where", {condition, x, y}, {}, span);
}

ExprRef all_lanes(int64_t lanes) {
  InitOpAttrs attrs;
  attrs.shape = attr::Shape();
  attrs.shape->push_back(lanes);
  attrs.dtype = kBool;
  return call_op("ones", {}, Attrs::make(attrs));
}

ExprRef all_lanes_of(const ExprRef& tensor) {
  const ExprRef sizes = call_lanes("ndarray_size", {tensor}, tensor->span());
  return call_op("greater_equal", {sizes, make_constant(NDArray::scalar_int(kInt32, 0))});
}

ExprRef both(const ExprRef& a, const ExprRef& b) {
  return call_op("logical_and", {a, b}, {}, b->span());
}
ExprRef no(const ExprRef& a) { return call_op("logical_not", {a}, {}, a->span()); }
ExprRef any_lane(const ExprRef& mask) {
  return call_op("any", {mask}, Attrs::make(ReduceAttrs()), mask->span());
}

ExprRef first_lane(const ExprRef& mask) {
  return call_op("argmax", {mask}, Attrs::make(ArgReduceAttrs()), mask->span());
}

ExprRef one_lane(const ExprRef& x, const ExprRef& number) {
  TakeAttrs attrs;
  attrs.axis.emplace().value = 0;
  return call_op("take", {x, number}, Attrs::make(attrs), x->span());
}

}  // namespace relay
