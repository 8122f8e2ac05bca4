// Attention and rotary positions, written with other operators.
#include <cmath>
#include <limits>
#include <optional>

#include <relay/op/nn/along_axis.h>
#include <relay/op/nn/attention_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

ExprRef number(double value, DType dtype) { return make_constant(NDArray::scalar(dtype, value)); }

ExprRef cast_to(const ExprRef& x, DType dtype) {
  CastAttrs attrs;
  attrs.dtype.value = dtype;
  return call_op("cast", {x}, Attrs::make(attrs));
}

ExprRef reshaped(const ExprRef& x, std::vector<int64_t> newshape) {
  ReshapeAttrs attrs;
  attrs.newshape.value = std::move(newshape);
  return call_op("reshape", {x}, Attrs::make(attrs));
}

// ---- Softmax of what is seen --------------------------------------------------------------------

void check_places(const RelationCall& call, bool causal, CausalAlign align, int64_t window) {
  call.require(window >= 0 && window <= kLargestExtent,
               "window must not be negative nor more than 2^60, found " + std::to_string(window));
  call.require(causal || (window == 0 && align == CausalAlign::kTopLeft),
               "align and window have a meaning only with causal=True");
}

TypeRef infer_masked_softmax(const RelationCall& call) {
  te::TensorInfo scores = call.tensor(0);
  te::TensorInfo mask = call.tensor(1);
  const auto& attrs = call.attrs<MaskedSoftmaxAttrs>();
  call.require_broadcasts(mask.dims, scores.dims,
                          "mask " + shape_str(mask.dims) + " does not broadcast to the scores " +
                              shape_str(scores.dims));
  check_places(call, attrs.causal, attrs.align, attrs.window);
  return call.input(0);
}

// Like softmax, with -infinity in columns that are not visible. If none is, the sum is 0 and cannot
// divide: the row is 0.
void compute_masked_softmax(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<MaskedSoftmaxAttrs>();
  te::Tensor scores = b.input(0);
  te::Tensor mask = b.input(1);
  size_t last = scores.rank() - 1;
  Rows rows(scores, last);
  Scalar hidden = te::lowest(rows.dtype);
  auto score = [&](Indices i) {
    Scalar value = te::cast(scores(i), rows.dtype);
    Scalar seen;
    if (mask.dtype() == kBool) {
      seen = mask.broadcast(i);
    } else {
      value = value + te::cast(mask.broadcast(i), rows.dtype);
    }
    if (attrs.causal) {
      Scalar place = i[last - 1];
      if (attrs.align == CausalAlign::kBottomRight)
        place = place + te::from_dim(scores.dim(last) - scores.dim(last - 1));
      Scalar before = i[last] <= place;
      if (attrs.window > 0) before = before && i[last] > place - attrs.window;
      seen = seen.node() == nullptr ? before : seen && before;
    }
    return seen.node() == nullptr ? value : te::select(seen, value, hidden);
  };
  auto element = [&](Indices row, const Scalar& k) {
    std::vector<Scalar> at(row.begin(), row.end());
    at.push_back(k);
    return score(at);
  };
  te::Tensor shift = b.map(rows.outer, [&](Indices row) {
    Scalar largest = b.max(rows.extent, [&](Indices k) { return element(row, k[0]); });
    return te::select(largest == hidden, te::constant(0.0, rows.dtype), largest);
  });
  te::Tensor total = b.map(rows.outer, [&](Indices row) {
    return b.sum(rows.extent, [&](Indices k) { return te::exp(element(row, k[0]) - shift(row)); });
  });
  b.output(b.map(scores.dims(), [&](Indices i) {
    std::vector<Scalar> row = rows.row_of(i);
    Scalar zero = te::constant(0.0, rows.dtype);
    Scalar share = te::exp(score(i) - shift(row)) / total(row);
    return te::cast(te::select(total(row) == zero, zero, share), scores.dtype());
  }));
}

// ---- Attention ----------------------------------------------------------------------------------

// The number of heads of the query that share one of key and value; 0 if they have as many, or one
// for all.
int64_t group_size(Dim query_heads, Dim key_heads) {
  if (query_heads == key_heads || key_heads.is_int(1)) return 0;
  if (!query_heads.is_int() || !key_heads.is_int()) return 0;
  return query_heads.as_int() / key_heads.as_int();
}

TypeRef infer_attention(const RelationCall& call) {
  te::TensorInfo query = call.tensor(0);
  te::TensorInfo key = call.tensor(1);
  te::TensorInfo value = call.tensor(2);
  te::TensorInfo mask = call.tensor(3);
  const auto& attrs = call.attrs<AttentionAttrs>();
  size_t rank = query.rank();
  std::string shapes = ", found query " + shape_str(query.dims) + ", key " + shape_str(key.dims) +
                       ", value " + shape_str(value.dims);
  call.require(key.rank() == rank && value.rank() == rank,
               "query, key and value must have one rank" + shapes);
  for (size_t k = 0; k + 3 < rank; ++k) {
    call.require_equal(query.dims[k], key.dims[k], "the batches differ" + shapes);
    call.require_equal(key.dims[k], value.dims[k], "the batches differ" + shapes);
  }
  Dim heads = query.dims[rank - 3], shared = key.dims[rank - 3];
  std::string message = "the query's heads must be as many as the key's, or a multiple" + shapes;
  if (heads.is_int() && shared.is_int()) {
    bool multiple =
        shared.as_int() == 0 ? heads.as_int() == 0 : heads.as_int() % shared.as_int() == 0;
    call.require(multiple, message);
  } else if (!shared.is_int(1)) {
    call.require_equal(heads, shared, message);
  }
  call.require_equal(shared, value.dims[rank - 3], "key and value differ in heads" + shapes);
  call.require_equal(query.dims[rank - 1], key.dims[rank - 1],
                     "query and key differ in their last extent" + shapes);
  call.require_equal(key.dims[rank - 2], value.dims[rank - 2],
                     "key and value differ in the number of keys" + shapes);
  std::vector<Dim> scores(query.dims.begin(), query.dims.end() - 1);
  scores.push_back(key.dims[rank - 2]);
  call.require_broadcasts(mask.dims, scores,
                          "mask " + shape_str(mask.dims) +
                              " does not broadcast to the scores of queries and keys " +
                              shape_str(scores));
  check_places(call, attrs.causal, attrs.align, attrs.window);
  call.require(!attrs.scale || std::isfinite(*attrs.scale), "scale must be a finite number");
  call.require(std::isfinite(attrs.softcap) && attrs.softcap >= 0,
               "softcap must be a finite number and not negative");
  Dim extent = query.dims[rank - 1];
  call.require(attrs.scale.has_value() || extent.is_int() || extent.has_variable(),
               "the extent of a query is not known when the program is compiled (" + extent.str() +
                   "): give scale");
  std::vector<Dim> result(query.dims.begin(), query.dims.end() - 1);
  result.push_back(value.dims[rank - 1]);
  return TensorType::make(result, query.dtype);
}

bool is_true(const ExprRef& expr) {
  const auto* constant = expr->as<Constant>();
  return constant != nullptr && constant->data().rank() == 0 && constant->data().dtype() == kBool &&
         constant->data().item_as_int64() != 0;
}

ExprRef expand_attention(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<AttentionAttrs>();
  te::TensorInfo query = call.tensor(0);
  size_t rank = query.rank();
  DType dtype = query.dtype;
  DType wide = dtype.bits < 32 ? kFloat32 : dtype;
  int64_t group = group_size(query.dims[rank - 3], call.tensor(1).dims[rank - 3]);
  // Codes of reshape for the axes before the heads.
  auto codes = [&](std::initializer_list<int64_t> last) {
    std::vector<int64_t> shape(rank - 3, 0);
    shape.insert(shape.end(), last);
    return shape;
  };
  // Heads that share a key have an axis of their own behind that of the key's heads.
  const int64_t shared = group == 0 ? 0 : query.dims[rank - 3].as_int() / group;
  auto grouped = [&](const ExprRef& x) {
    return group == 0 ? x : reshaped(x, codes({-4, shared, group, 0, 0}));
  };
  auto one_for_group = [&](const ExprRef& x) {
    return group == 0 ? x : reshaped(x, codes({0, -4, 1, -1, 0}));
  };
  auto apart = [&](const ExprRef& x) { return group == 0 ? x : reshaped(x, codes({-3, 0, 0})); };
  // The mask in that form; if nobody knows whether it is one for all heads, nothing.
  auto mask_of_groups = [&]() -> std::optional<ExprRef> {
    te::TensorInfo mask = call.tensor(3);
    if (group == 0 || mask.rank() < 3) return args[3];
    Dim heads = mask.dims[mask.rank() - 3];
    if (!heads.is_int()) return std::nullopt;
    const bool one = heads.is_int(1);
    std::vector<int64_t> shape(mask.rank() - 3, 0);
    for (int64_t code : {int64_t{-4}, one ? 1 : shared, one ? 1 : group, int64_t{0}, int64_t{0}})
      shape.push_back(code);
    return reshaped(args[3], std::move(shape));
  };

  BatchMatmulAttrs product;
  product.transpose_b = true;
  if (wide != dtype) product.out_dtype = wide;
  ExprRef scores =
      call_op("nn.batch_matmul", {grouped(args[0]), one_for_group(args[1])}, Attrs::make(product));
  double scale = attrs.scale.value_or(
      1 / std::sqrt(static_cast<double>(
              query.dims[rank - 1].is_int() ? query.dims[rank - 1].as_int() : 1)));
  if (scale != 1) scores = call_op("multiply", {scores, number(scale, wide)});
  if (attrs.softcap > 0) {
    ExprRef bounded =
        call_op("tanh", {call_op("multiply", {scores, number(1 / attrs.softcap, wide)})});
    scores = call_op("multiply", {bounded, number(attrs.softcap, wide)});
  }
  ExprRef weights;
  if (attrs.causal || !is_true(args[3])) {
    MaskedSoftmaxAttrs seen;
    seen.causal = attrs.causal;
    seen.align = attrs.align;
    seen.window = attrs.window;
    const std::optional<ExprRef> mask = mask_of_groups();
    weights = call_op("nn.masked_softmax", {mask ? scores : apart(scores), mask ? *mask : args[3]},
                      Attrs::make(seen));
    if (!mask) weights = grouped(weights);
  } else {
    weights = call_op("nn.softmax", {scores});
  }
  if (wide != dtype) weights = cast_to(weights, dtype);
  return apart(call_op("nn.batch_matmul", {weights, one_for_group(args[2])}));
}

// ---- Rotary positions ---------------------------------------------------------------------------

TypeRef infer_rotary(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo cosines = call.tensor(1);
  te::TensorInfo sines = call.tensor(2);
  std::string shapes = ", found data " + shape_str(data.dims) + ", cos " + shape_str(cosines.dims) +
                       ", sin " + shape_str(sines.dims);
  call.require(cosines.rank() == sines.rank(), "cos and sin must have one shape" + shapes);
  for (size_t k = 0; k < cosines.rank(); ++k)
    call.require_equal(cosines.dims[k], sines.dims[k], "cos and sin must have one shape" + shapes);
  call.require(cosines.rank() <= data.rank(), "cos and sin have more axes than data" + shapes);
  Dim half = cosines.dims.back();
  call.require(half.is_int() || half.has_variable(),
               "the last extent of cos must be known when the program is compiled" + shapes);
  call.require_at_most(half * 2, data.dims.back(),
                       "cos and sin have more than half of the elements of a row of data" + shapes);
  std::span<const Dim> outer(data.dims.data(), data.rank() - 1);
  call.require_broadcasts({cosines.dims.data(), cosines.rank() - 1}, outer,
                          "cos and sin do not broadcast to the rows of data" + shapes);
  return call.input(0);
}

ExprRef expand_rotary(const OpCall& call, std::span<const ExprRef> args) {
  te::TensorInfo data = call.tensor(0);
  auto last = static_cast<int64_t>(data.rank()) - 1;
  int64_t half = call.tensor(1).dims.back().is_int() ? call.tensor(1).dims.back().as_int() : 0;
  if (half == 0) return args[0];
  bool interleaved = call.attrs<RotaryEmbeddingAttrs>().interleaved;
  auto slice = [&](int64_t begin, int64_t end, int64_t stride) {
    StridedSliceAttrs attrs;
    attrs.begin.value = {begin};
    attrs.end.value = {end};
    attrs.strides = {stride};
    attrs.axes = {last};
    return call_op("strided_slice", {args[0]}, Attrs::make(attrs));
  };
  ExprRef first = interleaved ? slice(0, 2 * half, 2) : slice(0, half, 1);
  ExprRef second = interleaved ? slice(1, 2 * half, 2) : slice(half, 2 * half, 1);
  auto times = [](const ExprRef& a, const ExprRef& b) { return call_op("multiply", {a, b}); };
  ExprRef turned_first = call_op("subtract", {times(first, args[1]), times(second, args[2])});
  ExprRef turned_second = call_op("add", {times(first, args[2]), times(second, args[1])});
  std::vector<ExprRef> parts{turned_first, turned_second};
  if (interleaved) {
    StackAttrs stack;
    stack.axis = -1;
    ExprRef pairs = call_op("stack", {relay::make_tuple(parts)}, Attrs::make(stack));
    std::vector<int64_t> merge(static_cast<size_t>(last), 0);
    merge.push_back(-3);
    parts = {reshaped(pairs, std::move(merge))};
  }
  Dim extent = data.dims.back();
  if (!extent.is_int(2 * half))
    parts.push_back(slice(2 * half, extent.is_int() ? extent.as_int() : kLargestExtent, 1));
  if (parts.size() == 1) return parts[0];
  ConcatenateAttrs join;
  join.axis = last;
  return call_op("concatenate", {relay::make_tuple(parts)}, Attrs::make(join));
}

RELAY_OP("nn.masked_softmax")
    .doc(
        "nn.softmax over what each row may see of the last axis; 0 elsewhere, and in rows that see "
        "nothing.")
    .input("scores", "Tensor (…, rows, columns).", tensor('T', kFloats).rank(2, kAnyRank))
    .input("mask",
           "Visible keys (bool), or numbers added to the scores (floats, perhaps -infinity); "
           "broadcasts to the scores. True masks nothing.",
           tensor(kFloats | kBool))
    .output("weights", "Tensor of the scores' shape.", tensor('T'))
    .attrs<MaskedSoftmaxAttrs>()
    .relation(infer_masked_softmax)
    .level(10)
    .compute(compute_masked_softmax)
    .example("fn (%x: Tensor[(3, 3), float32]) { nn.masked_softmax(%x, True, causal=True) }",
             "[[1, 2, 3], [0, 0, 0], [1, 2, 3]]");

RELAY_OP("nn.scaled_dot_product_attention")
    .doc(
        "softmax(query · keyᵀ * scale + mask) · value for each head. A query that sees no key "
        "gets zeros.")
    .input("query", "Tensor (…, heads, queries, extent).", tensor('T', kFloats).rank(3, kAnyRank))
    .input("key",
           "Tensor (…, heads, keys, extent); each of its heads may serve several of the query's, "
           "in a row.",
           tensor('T').rank(3, kAnyRank))
    .input("value", "Tensor (…, heads of the key, keys, extent of the result).",
           tensor('T').rank(3, kAnyRank))
    .input("mask",
           "Which keys each query sees (bool), or what is added to the scores (floats); broadcasts "
           "to (…, heads, queries, keys). True masks nothing.",
           tensor(kFloats | kBool))
    .output("result", "Tensor (…, heads, queries, extent of the result).", tensor('T'))
    .attrs<AttentionAttrs>()
    .relation(infer_attention)
    .level(10)
    .expand(expand_attention)
    .example(
        "fn (%q: Tensor[(1, 2, 2), float32], %k: Tensor[(1, 3, 2), float32], "
        "%v: Tensor[(1, 3, 2), float32]) { "
        "nn.scaled_dot_product_attention(%q, %k, %v, True, causal=True) }",
        "[[[1, 0], [0, 1]]]", "[[[1, 0], [0, 1], [1, 1]]]", "[[[1, 2], [3, 4], [5, 6]]]");

RELAY_OP("nn.rotary_embedding")
    .doc(
        "Pairs of elements of each row turned by the angles of its place: (a, b) becomes "
        "(a cos - b sin, a sin + b cos). Elements behind the last pair stay.")
    .input("data", "Tensor (…, extent).", tensor('T', kFloats).rank(1, kAnyRank))
    .input("cos", "Cosines (…, pairs), broadcast to the rows of data.",
           tensor('T').rank(1, kAnyRank))
    .input("sin", "Sines of the same shape.", tensor('T').rank(1, kAnyRank))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<RotaryEmbeddingAttrs>()
    .relation(infer_rotary)
    .level(10)
    .expand(expand_rotary)
    .example(
        "fn (%x: Tensor[(2, 4), float32], %cos: Tensor[(2, 2), float32], "
        "%sin: Tensor[(2, 2), float32]) { nn.rotary_embedding(%x, %cos, %sin) }",
        "[[1, 2, 3, 4], [1, 2, 3, 4]]", "[[1, 1], [0, 1]]", "[[0, 0], [1, 0]]");

}  // namespace
}  // namespace relay
