// Averages over windows of a quantised tensor.
#include <algorithm>
#include <cmath>

#include <relay/op/nn/pad_attrs.h>
#include <relay/op/nn/pool_window.h>
#include <relay/op/qnn/quantised.h>
#include <relay/op/registry/columns.h>

namespace relay {
namespace {

bool counts_padding(const PoolWindow& window) {
  bool padded = false;
  for (size_t d = 0; d < window.rank(); ++d)
    padded |= window.padding.before[d] > 0 || window.padding.after[d] > 0;
  return padded && window.count_include_pad;
}

TypeRef infer_avg_pool(const RelationCall& call) {
  PoolWindow window(call.attrs<AvgPool2DAttrs>(), 2);
  if (counts_padding(window)) {
    for (char axis : window.space)
      call.require(window.data.positions(axis).size() == 1,
                   "padding that counts needs a layout that does not cut axis " +
                       std::string(1, axis) + " into blocks, found " + window.data.text());
  }
  return get_op("nn.avg_pool2d")->relation()->infer(call);
}

// True if 32 bits hold the sums of windows.
bool sums_fit(const BoundedInt& value, const QuantParams& from, const QuantParams& to,
              const PoolWindow& window) {
  NDArray factor = ratio(from.scale, to.scale).constant(), zero = to.zero_point.constant();
  if (!factor || !zero) return false;
  double most = std::ldexp(std::abs(factor.element_as_double(0)), value.bits) + 1 +
                std::abs(zero.element_as_double(0));
  for (int64_t size : window.size) most *= static_cast<double>(size);
  return most < 0x1p31;  // not if it is not a number
}

ExprRef expand_avg_pool(const OpCall& call, std::span<const ExprRef> args) {
  auto attrs = call.attrs<AvgPool2DAttrs>();
  PoolWindow window(attrs, 2);
  te::TensorInfo data = call.tensor(0);
  QuantParams from = quant_params(call, args, 1, 2, 0, 0),
              to = quant_params(call, args, 3, 4, 0, 0);
  BoundedInt value = difference({args[0], data.dtype}, from.zero_point);
  DType dtype = sums_fit(value, from, to, window) ? kInt32 : kInt64;
  Formula moved = rescale(value, from.scale, to.scale) + cast(to.zero_point, kInt64);
  ExprRef x = cast(moved, dtype).expr;
  if (counts_padding(window)) {
    PadAttrs pad;
    pad.pad_width.value.assign(data.rank(), {0, 0});
    for (size_t d = 0; d < window.rank(); ++d)
      pad.pad_width.value[window.data.positions(window.space[d])[0]] = {window.padding.before[d],
                                                                        window.padding.after[d]};
    x = call_op("nn.pad", {x, to.zero_point.expr}, Attrs::make(pad));
    attrs.padding = {0, 0};
  }
  Formula average{call_op("nn.avg_pool2d", {x}, Attrs::make(attrs)), dtype};
  return saturate(average, Formula::number(0, dtype), data.dtype).expr;
}

RELAY_OP("qnn.avg_pool2d")
    .column(quantised(), true)
    .doc(
        "Average of each window of a quantised tensor, truncated toward zero, of the integers "
        "rounded to the result's scale, halves up. Padding that counts stands for 0.")
    .input("data", "Integers in the layout.", tensor('T', kQuantised).rank(3, kAnyRank))
    .input("input_scale", "Scale of the data: a scalar.", scale_spec())
    .input("input_zero_point", "Zero point of the data: a scalar.", zero_point_spec())
    .input("output_scale", "Scale of the result: a scalar.", scale_spec())
    .input("output_zero_point", "Zero point of the result: a scalar.", zero_point_spec())
    .output("result", "Integers.", tensor('T'))
    .attrs<AvgPool2DAttrs>()
    .relation(infer_avg_pool)
    .example(
        "fn (%x: Tensor[(1, 1, 2, 4), int8]) { qnn.avg_pool2d(%x, 0.5f, 3, 0.25f, 0, "
        "pool_size=[2, 2], strides=[2, 2]) }",
        "[[[[25, 63, -48, -37], [-47, 55, -115, -52]]]]")
    .level(11)
    .expand(expand_avg_pool);

}  // namespace
}  // namespace relay
