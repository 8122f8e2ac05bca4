// Random numbers of a distribution, from keys.
#include <numbers>

#include <relay/op/random/random_attrs.h>
#include <relay/op/random/threefry.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

constexpr DTypes kDrawn = DTypes(kFloat32) | kFloat64;

template <class A>
TypeRef infer_drawn(const RelationCall& call) {
  const A& attrs = call.attrs<A>();
  DType dtype = call.tensor(1).dtype;
  call.require(!attrs.out_dtype || *attrs.out_dtype == dtype,
               "out_dtype is " + std::string(attrs.out_dtype.value_or(dtype).name()) +
                   ", the parameters are " + std::string(dtype.name()));
  std::vector<Dim> dims = drawn_dims(call, attrs.out_shape);
  return TupleType::make({key_type(call), TensorType::make(dims, dtype)});
}

// From 0 to below 1, with as many bits as fractions of the dtype have.
std::function<Scalar(Scalar)> standard_uniform(DType dtype) {
  return [dtype](const Scalar& bits) {
    bool wide = dtype == kFloat64;
    DType words = wide ? kInt64 : kUInt32;
    Scalar high = wide ? te::binary(te::BinaryOp::kShr, bits, te::constant(12, kUInt64)) : bits;
    Scalar whole = te::cast(high, words);
    if (!wide) whole = te::binary(te::BinaryOp::kShr, whole, te::constant(9, kUInt32));
    return te::cast(whole, dtype) * (wide ? 0x1p-52 : 0x1p-23);
  };
}

void compute_uniform(const OpCall& call, te::Builder& b) {
  te::TensorInfo result = call.result(1);
  Scalar low = b.input(1)({}), high = b.input(2)({});
  Drawn drawn = draw(b, b.input(0), result.dims, [&](const Scalar& bits) {
    return standard_uniform(result.dtype)(bits) * (high - low) + low;
  });
  b.output(drawn.key);
  b.output(drawn.numbers);
}

// sqrt(-2 log u) · sin(2π v) of two uniform numbers (Box and Muller): all u are drawn before all v.
void compute_normal(const OpCall& call, te::Builder& b) {
  te::TensorInfo result = call.result(1);
  std::vector<Dim> dims = result.dims;
  dims.insert(dims.begin(), 2);
  Drawn drawn = draw(b, b.input(0), dims, standard_uniform(result.dtype));
  b.output(drawn.key);
  Scalar mean = b.input(1)({}), scale = b.input(2)({});
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar u = drawn.numbers(te::insert(i, 0, te::index_constant(0)));
    Scalar v = drawn.numbers(te::insert(i, 0, te::index_constant(1)));
    Scalar radius = te::sqrt(te::log(1.0 - u) * -2.0);
    Scalar angle = v * (2 * std::numbers::pi);
    return radius * te::unary(te::UnaryOp::kSin, angle) * scale + mean;
  }));
}

TypeRef infer_multinomial(const RelationCall& call) {
  te::TensorInfo probs = call.tensor(1);
  int64_t samples = call.attrs<MultinomialAttrs>().num_samples;
  call.require(samples >= 0 && samples <= kLargestExtent,
               "num_samples must be at least 0, found " + std::to_string(samples));
  call.require_at_most(1, probs.dims.back(),
                       "there is no category to draw: probs " + shape_str(probs.dims));
  std::vector<Dim> dims = probs.dims;
  dims.back() = samples;
  return TupleType::make({key_type(call), TensorType::make(dims, kInt32)});
}

// The number of sums of leading probabilities that a uniform number reaches, without the whole sum.
void compute_multinomial(const OpCall& call, te::Builder& b) {
  te::Tensor probs = b.input(1);
  te::TensorInfo result = call.result(1);
  size_t axis = probs.rank() - 1;
  Dim count = probs.dim(axis);
  Drawn drawn = draw(b, b.input(0), result.dims, standard_uniform(probs.dtype()));
  te::Tensor sums = b.scan(
      probs.dims(), static_cast<uint32_t>(axis),
      [&](Indices) { return std::vector<Scalar>{te::constant(0.0, probs.dtype())}; },
      [&](Indices i, std::span<const Scalar> carry) {
        return std::vector<Scalar>{carry[0] + probs(i)};
      })[0];
  b.output(drawn.key);
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar total = sums(te::replace(i, axis, te::from_dim(count - 1)));
    return b.sum({count}, [&](Indices k) {
      Scalar reached = sums(te::replace(i, axis, k[0])) / total <= drawn.numbers(i);
      return te::cast(reached, kInt32);
    });
  }));
}

RELAY_OP("random.uniform")
    .doc("Random numbers evenly spread from low to below high.")
    .input("key", kKeyDoc, tensor(kUInt64).rank(1))
    .input("low", "Scalar.", tensor('T', kDrawn).rank(0))
    .input("high", "Scalar.", tensor('T').rank(0))
    .output("key", "The key to go on with.", tensor(kUInt64).rank(1))
    .output("numbers", "The numbers.", tensor('T'))
    .attrs<UniformAttrs>()
    .relation(infer_drawn<UniformAttrs>)
    .example("fn (%key: Tensor[(10), uint64]) { random.uniform(%key, 0f, 1f, out_shape=[2, 3]) }",
             "[7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]")
    .level(10)
    .compute(compute_uniform);

RELAY_OP("random.normal")
    .doc("Random numbers of a normal distribution. Draws two uniform numbers for each.")
    .input("key", kKeyDoc, tensor(kUInt64).rank(1))
    .input("mean", "Scalar.", tensor('T', kDrawn).rank(0))
    .input("scale", "Standard deviation: a scalar.", tensor('T').rank(0))
    .output("key", "The key to go on with.", tensor(kUInt64).rank(1))
    .output("numbers", "The numbers.", tensor('T'))
    .attrs<NormalAttrs>()
    .relation(infer_drawn<NormalAttrs>)
    .example("fn (%key: Tensor[(10), uint64]) { random.normal(%key, 0f, 1f, out_shape=[2, 3]) }",
             "[7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]")
    .level(10)
    .compute(compute_normal);

RELAY_OP("random.multinomial")
    .doc(
        "Random categories, drawn with the given probabilities along the last axis, which need not "
        "sum to one.")
    .input("key", kKeyDoc, tensor(kUInt64).rank(1))
    .input("probs", "Probabilities of the categories along the last axis.",
           tensor(kDrawn).rank(1, kAnyRank))
    .output("key", "The key to go on with.", tensor(kUInt64).rank(1))
    .output("categories", "Positions along the last axis of probs, num_samples for each row.",
            tensor(kInt32))
    .attrs<MultinomialAttrs>()
    .relation(infer_multinomial)
    .example(
        "fn (%key: Tensor[(10), uint64], %probs: Tensor[(3), float32]) { "
        "random.multinomial(%key, %probs, num_samples=8) }",
        "[7, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]", "[0.2, 0.5, 0.3]")
    .level(10)
    .compute(compute_multinomial);

}  // namespace
}  // namespace relay
