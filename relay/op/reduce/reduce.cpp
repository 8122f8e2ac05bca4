// Reductions over axes.
#include <algorithm>

#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/integer_form.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// Which dimensions are reduced.
template <class A>
std::vector<bool> reduced_axes(const RelationCall& call, const A& attrs, size_t rank) {
  if (!attrs.axis) return std::vector<bool>(rank, true);
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : *attrs.axis) {
    auto position = static_cast<size_t>(normalize_axis(call, axis, rank));
    call.require(!reduced[position], "axis " + std::to_string(axis) + " is given twice");
    reduced[position] = true;
  }
  if (attrs.exclude) reduced.flip();
  return reduced;
}
template <class A>
std::vector<bool> reduced_axes(const OpCall& call, const A& attrs, size_t rank) {
  std::vector<TypeRef> inputs{call.input(0)};
  return reduced_axes(RelationCall(inputs, call.attrs_ref()), attrs, rank);
}

std::vector<Dim> kept_dims(const std::vector<Dim>& dims, const std::vector<bool>& reduced,
                           bool keepdims) {
  std::vector<Dim> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) {
      kept.push_back(dims[i]);
    } else if (keepdims) {
      kept.push_back(1);
    }
  }
  return kept;
}

std::vector<Dim> folded_dims(const std::vector<Dim>& dims, const std::vector<bool>& reduced) {
  std::vector<Dim> folded;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i]) folded.push_back(dims[i]);
  }
  return folded;
}

// The index into the data for output index `outer` and fold index `inner`.
std::vector<Scalar> data_index(Indices outer, Indices inner, const std::vector<bool>& reduced,
                               bool keepdims) {
  std::vector<Scalar> index;
  size_t o = 0;
  size_t k = 0;
  for (bool is_reduced : reduced) {
    if (is_reduced) {
      index.push_back(inner[k++]);
      if (keepdims) ++o;
    } else {
      index.push_back(outer[o++]);
    }
  }
  return index;
}

template <class A>
TypeRef infer_reduce(const RelationCall& call, std::optional<DType> result = {},
                     bool needs_element = false) {
  te::TensorInfo data = call.tensor(0);
  const A& attrs = call.attrs<A>();
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  std::vector<Dim> kept = kept_dims(data.dims, reduced, attrs.keepdims);
  if (needs_element) {
    call.require_some(
        folded_dims(data.dims, reduced), kept,
        "nothing to choose from: a reduced axis of " + shape_str(data.dims) + " has extent 0");
  }
  return TensorType::make(kept, result.value_or(data.dtype));
}

TypeRef infer_fold(const RelationCall& call) { return infer_reduce<ReduceAttrs>(call); }
TypeRef infer_extremum(const RelationCall& call) {
  return infer_reduce<ExtremumAttrs>(call, {}, !call.attrs<ExtremumAttrs>().allow_empty);
}
TypeRef infer_arg(const RelationCall& call) {
  return infer_reduce<ArgReduceAttrs>(call, kInt32, true);
}
TypeRef infer_variance(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo mean = call.tensor(1);
  auto joined = broadcast_shapes(data.dims, mean.dims);
  call.require(joined && joined->size() == data.rank(), "the mean's shape " + shape_str(mean.dims) +
                                                            " does not broadcast to the data's " +
                                                            shape_str(data.dims));
  call.require_broadcasts(mean.dims, data.dims,
                          "the mean's shape " + shape_str(mean.dims) +
                              " does not broadcast to the data's " + shape_str(data.dims));
  return infer_reduce<VarianceAttrs>(call);
}

using FoldFn = Scalar (te::Builder::*)(te::Dims, const std::function<Scalar(Indices)>&);

void compute_fold(const OpCall& call, te::Builder& b, FoldFn fold, bool wide) {
  const auto& attrs = call.attrs<ReduceAttrs>();
  te::Tensor data = b.input(0);
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  DType accumulator = wide ? te::wide_float(data.dtype()) : data.dtype();
  b.output(b.map(call.result().dims, [&](Indices outer) {
    Scalar total = (b.*fold)(folded_dims(data.dims(), reduced), [&](Indices inner) {
      return te::cast(data(data_index(outer, inner, reduced, attrs.keepdims)), accumulator);
    });
    return te::cast(total, data.dtype());
  }));
}

void compute_extremum(const OpCall& call, te::Builder& b, bool is_max) {
  const auto& attrs = call.attrs<ExtremumAttrs>();
  te::Tensor data = b.input(0);
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  b.output(b.map(call.result().dims, [&](Indices outer) {
    auto body = [&](Indices inner) {
      return data(data_index(outer, inner, reduced, attrs.keepdims));
    };
    std::vector<Dim> folded = folded_dims(data.dims(), reduced);
    // The order on bool is False < True.
    if (data.dtype().is_bool()) return is_max ? b.any(folded, body) : b.all(folded, body);
    bool needs_element = !attrs.allow_empty;
    return is_max ? b.max(folded, body, needs_element) : b.min(folded, body, needs_element);
  }));
}

Scalar element_count(const std::vector<Dim>& folded) { return te::from_dim(product(folded)); }

// Unlike a sum, a mean fits its dtype whatever the data; so must what leads to it, and the count.
DType mean_dtype(DType dtype) {
  if (dtype.is_float()) return te::wide_float(dtype);
  return dtype == kUInt64 ? kUInt64 : kInt64;
}

void compute_mean(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<ReduceAttrs>();
  te::Tensor data = b.input(0);
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  std::vector<Dim> folded = folded_dims(data.dims(), reduced);
  DType accumulator = mean_dtype(data.dtype());
  b.output(b.map(call.result().dims, [&](Indices outer) {
    Scalar total = b.sum(folded, [&](Indices inner) {
      return te::cast(data(data_index(outer, inner, reduced, attrs.keepdims)), accumulator);
    });
    Scalar count = te::cast(element_count(folded), accumulator);
    if (!accumulator.is_float()) {
      count = te::fail_unless(count != 0, count, "integer division by zero: the mean of nothing");
    }
    return te::cast(total / count, data.dtype());
  }));
}

void compute_variance(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<VarianceAttrs>();
  te::Tensor data = b.input(0);
  te::Tensor mean = b.input(1);
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  std::vector<Dim> folded = folded_dims(data.dims(), reduced);
  DType accumulator = te::wide_float(data.dtype());
  b.output(b.map(call.result().dims, [&](Indices outer) {
    Scalar total = b.sum(folded, [&](Indices inner) {
      std::vector<Scalar> index = data_index(outer, inner, reduced, attrs.keepdims);
      Scalar difference =
          te::cast(data(index), accumulator) - te::cast(mean.broadcast(index), accumulator);
      return difference * difference;
    });
    Scalar count = te::cast(element_count(folded), accumulator);
    if (attrs.unbiased) count = count - 1.0;
    return te::cast(total / count, data.dtype());
  }));
}

// The flat index, over the searched axes in order, of the first (or last) extreme element.
// Not-a-number counts as extreme, as in NumPy.
void compute_arg(const OpCall& call, te::Builder& b, bool is_max) {
  const auto& attrs = call.attrs<ArgReduceAttrs>();
  te::Tensor data = b.input(0);
  DType dtype = data.dtype().is_bool() ? kUInt8 : data.dtype();
  std::vector<bool> reduced = reduced_axes(call, attrs, data.rank());
  std::vector<Dim> folded = folded_dims(data.dims(), reduced);
  auto better = [&](const Scalar& a, const Scalar& b_value) {
    Scalar beats = is_max ? a > b_value : a < b_value;
    if (!dtype.is_float()) return beats;
    Scalar a_nan = te::unary(te::UnaryOp::kIsNan, a);
    Scalar b_nan = te::unary(te::UnaryOp::kIsNan, b_value);
    return beats || (a_nan && !b_nan);
  };
  b.output(b.map(call.result().dims, [&](Indices outer) {
    std::vector<Scalar> found = b.fold(
        folded,
        [&](Indices inner) -> std::vector<Scalar> {
          Scalar flat = te::index_constant(0);
          for (size_t k = 0; k < folded.size(); ++k)
            flat = flat * te::from_dim(folded[k]) + inner[k];
          return {te::cast(data(data_index(outer, inner, reduced, attrs.keepdims)), dtype), flat};
        },
        [&](std::span<const Scalar> l, std::span<const Scalar> r) -> std::vector<Scalar> {
          // Index -1 marks the identity. Between equals the order of the indices decides.
          Scalar tie = !better(l[0], r[0]) && !better(r[0], l[0]);
          Scalar tie_right = attrs.select_last_index ? r[1] > l[1] : r[1] < l[1];
          Scalar right = (r[1] >= 0) && ((l[1] < 0) || better(r[0], l[0]) || (tie && tie_right));
          return {te::select(right, r[0], l[0]), te::select(right, r[1], l[1])};
        },
        {is_max ? te::lowest(dtype) : te::highest(dtype), te::index_constant(-1)},
        {.needs_element = true, .commutes = true});
    return te::cast(found[1], kInt32);
  }));
}

RELAY_OP("sum")
    .doc("Sum over axes; of nothing, 0. Integers wrap in their own dtype.")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ReduceAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { sum(%x, axis=[1]) }", "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_fold)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_fold(call, b, &te::Builder::sum, true);
    });

RELAY_OP("prod")
    .doc("Product over axes; of nothing, 1. Integers wrap in their own dtype.")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ReduceAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { prod(%x, axis=[1]) }", "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_fold)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_fold(call, b, &te::Builder::prod, true);
    });

RELAY_OP("mean")
    .column(averages(), true)
    .doc("Mean over axes; of integers, truncated toward zero (their sum is taken in 64 bits).")
    .input("data", "Tensor of numbers.", tensor('T', kNumbers))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ReduceAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { mean(%x, axis=[0]) }", "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_fold)
    .level(4)
    .compute(compute_mean);

RELAY_OP("variance")
    .doc("Mean of the squared differences from a given mean, over axes.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .input("mean", "Mean of the data, broadcastable to its shape.", tensor('T'))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<VarianceAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { variance(%x, mean(%x)) }", "[1, 2, 3]")
    .relation(infer_variance)
    .level(4)
    .compute(compute_variance);

RELAY_OP("max")
    .doc(
        "Largest element over axes; not-a-number if there is one. Over nothing, an error "
        "unless allow_empty is set.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ExtremumAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { max(%x, axis=[0], keepdims=True) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_extremum)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_extremum(call, b, true); });

RELAY_OP("min")
    .doc(
        "Smallest element over axes; not-a-number if there is one. Over nothing, an error "
        "unless allow_empty is set.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ExtremumAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { min(%x) }", "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_extremum)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_extremum(call, b, false); });

RELAY_OP("all")
    .doc("True if all elements over axes are true; True for no elements.")
    .input("data", "Tensor of bool.", tensor('T', kBool))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ReduceAttrs>()
    .example("fn (%x: Tensor[(2, 2), bool]) { all(%x, axis=[1]) }", "[[True, True], [True, False]]")
    .relation(infer_fold)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_fold(call, b, &te::Builder::all, false);
    });

RELAY_OP("any")
    .doc("True if some element over axes is true; False for no elements.")
    .input("data", "Tensor of bool.", tensor('T', kBool))
    .output("result", "Tensor without the axes, or with extents of 1.", tensor('T'))
    .attrs<ReduceAttrs>()
    .example("fn (%x: Tensor[(2, 2), bool]) { any(%x, axis=[1]) }",
             "[[False, False], [True, False]]")
    .relation(infer_fold)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_fold(call, b, &te::Builder::any, false);
    });

RELAY_OP("argmax")
    .doc(
        "Index (int32) of the largest element, flat over the searched axes; of equal ones the "
        "first, or the last with select_last_index. Not-a-number counts as the largest.")
    .input("data", "Tensor.", tensor())
    .output("result", "Positions, without the axes, or with extents of 1.", tensor(kInt32))
    .attrs<ArgReduceAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { argmax(%x, axis=[1]) }", "[[1, 3, 2], [6, 5, 6]]")
    .relation(infer_arg)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_arg(call, b, true); })
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .no_gradient("its result is a position, an integer");

RELAY_OP("argmin")
    .doc(
        "Index (int32) of the smallest element, flat over the searched axes; of equal ones the "
        "first, or the last with select_last_index. Not-a-number counts as the smallest.")
    .input("data", "Tensor.", tensor())
    .output("result", "Positions, without the axes, or with extents of 1.", tensor(kInt32))
    .attrs<ArgReduceAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { argmin(%x, axis=[1]) }", "[[1, 3, 2], [6, 5, 6]]")
    .relation(infer_arg)
    .level(4)
    .compute([](const OpCall& call, te::Builder& b) { compute_arg(call, b, false); })
    .column(quantised_rules(), QuantisedRule::kKeeps)
    .no_gradient("its result is a position, an integer");

}  // namespace
}  // namespace relay
