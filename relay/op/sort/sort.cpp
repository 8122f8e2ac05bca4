// Sorting. The kernels are in relay/runtime/kernels/sort.cpp.
#include <relay/op/registry/facts.h>
#include <relay/op/sort/positions.h>
#include <relay/op/sort/sort_attrs.h>

namespace relay {
namespace {

template <class A>
size_t sorted_axis(const RelationCall& call, const A& attrs) {
  return static_cast<size_t>(normalize_axis(call, attrs.axis, call.tensor(0).rank()));
}

TypeRef infer_sort(const RelationCall& call) {
  sorted_axis(call, call.attrs<ArgsortAttrs>());
  return call.input(0);
}

TypeRef infer_argsort(const RelationCall& call) {
  const auto& attrs = call.attrs<ArgsortAttrs>();
  size_t axis = sorted_axis(call, attrs);
  te::TensorInfo data = call.tensor(0);
  DType dtype = position_dtype(call, attrs.dtype);
  require_positions(call, data.dims[axis], dtype);
  return TensorType::make(data.dims, dtype);
}

TypeRef infer_topk(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<TopkAttrs>();
  size_t axis = sorted_axis(call, attrs);
  std::optional<int64_t> k = *attrs.k;
  std::vector<Dim> dims = data.dims;
  if (k && *k > 0) {
    call.require_at_most(*k, dims[axis],
                         "k = " + std::to_string(*k) + " is more than the extent of the axis, " +
                             dims[axis].str() + ": data " + shape_str(data.dims));
    dims[axis] = *k;
  }
  TypeRef values = TensorType::make(dims, data.dtype);
  DType dtype = position_dtype(call, attrs.dtype);
  TypeRef indices = TensorType::make(dims, dtype);
  if (attrs.ret_type == TopkResults::kValues) return values;
  require_positions(call, data.dims[axis], dtype);
  if (attrs.ret_type == TopkResults::kIndices) return indices;
  return TupleType::make({values, indices});
}

template <class A>
KernelParams order_params(const OpCall& call) {
  const auto& attrs = call.attrs<A>();
  return {{"axis", axis_position(attrs.axis, call.tensor(0).rank())},
          {"ascending", attrs.is_ascend}};
}

template <class A>
Cost cost_of_sorting(const OpCall& call) {
  return sort_cost(call, call.attrs<A>().axis);
}

KernelParams topk_params(const OpCall& call) {
  KernelParams params = order_params<TopkAttrs>(call);
  params.emplace_back("results", std::string(word_text(call.attrs<TopkAttrs>().ret_type)));
  return params;
}

RELAY_OP("sort")
    .doc("The elements in order along an axis; not-a-number comes last, in falling order too.")
    .input("data", "Tensor.", tensor('T').rank(1, kAnyRank))
    .output("result", "Tensor of the data's type.", tensor('T'))
    .attrs<ArgsortAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { sort(%x) }", "[3, 1, 2]")
    .relation(infer_sort)
    .level(6)
    .column(costs(), cost_of_sorting<ArgsortAttrs>)
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .kernel("sort", order_params<ArgsortAttrs>);

RELAY_OP("argsort")
    .doc(
        "Positions of the elements in order along an axis; equal ones keep their order, "
        "not-a-number comes last, in falling order too.")
    .input("data", "Tensor.", tensor().rank(1, kAnyRank))
    .output("positions", "Positions, of the data's shape.", tensor(kIndices))
    .attrs<ArgsortAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { argsort(%x, dtype=\"int32\") }", "[3, 1, 2]")
    .relation(infer_argsort)
    .level(6)
    .column(costs(), cost_of_sorting<ArgsortAttrs>)
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .kernel("argsort", order_params<ArgsortAttrs>)
    .no_gradient("its result is positions");

RELAY_OP("topk")
    .doc(
        "The k greatest (or least) elements along an axis in order, and their positions; of equal "
        "ones the first. Not-a-number comes last either way.")
    .input("data", "Tensor.", tensor('T').rank(1, kAnyRank))
    .output("values", "The elements, k of them on the axis.", tensor('T'))
    .output("indices", "Their positions, of the same shape.", tensor(kIndices))
    .attrs<TopkAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { topk(%x, k=2) }", "[3, 1, 2]")
    .relation(infer_topk)
    .level(6)
    .column(costs(), cost_of_sorting<TopkAttrs>)
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .kernel("topk", topk_params);

}  // namespace
}  // namespace relay
