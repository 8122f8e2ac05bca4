// Smooth activations, each a composition of other operators.
#include <cmath>
#include <numbers>

#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

ExprRef cast_to(const ExprRef& x, DType dtype) {
  CastAttrs attrs;
  attrs.dtype.value = dtype;
  return call_op("cast", {x}, Attrs::make(attrs));
}

/// Writes an activation: a function of the argument and of numbers of its dtype.
struct Terms {
  DType dtype;
  ExprRef number(double value) const { return make_constant(NDArray::scalar(dtype, value)); }
  ExprRef add(const ExprRef& a, const ExprRef& b) const { return call_op("add", {a, b}); }
  ExprRef mul(const ExprRef& a, const ExprRef& b) const { return call_op("multiply", {a, b}); }
  ExprRef scaled(const ExprRef& x, double by) const { return by == 1 ? x : mul(x, number(by)); }
};

// Narrow floats are computed in float32 and rounded once.
ExprRef in_float32(const OpCall& call, const ExprRef& x,
                   const std::function<ExprRef(const Terms&, const ExprRef&)>& f) {
  DType dtype = call.tensor(0).dtype;
  if (dtype.bits >= 32) return f({dtype}, x);
  return cast_to(f({kFloat32}, cast_to(x, kFloat32)), dtype);
}

// x * (1 + erf(x / √2)) / 2.
ExprRef gelu_erf(const Terms& t, const ExprRef& x) {
  ExprRef share = t.scaled(call_op("erf", {t.scaled(x, std::numbers::sqrt2 / 2)}), 0.5);
  return t.mul(x, t.add(share, t.number(0.5)));
}

// x * (1 + tanh(√(2/π) * (x + 0.044715 * x³))) / 2.
ExprRef gelu_tanh(const Terms& t, const ExprRef& x) {
  double slope = std::sqrt(2 / std::numbers::pi);
  ExprRef square = t.mul(x, x);
  ExprRef inner = t.mul(x, t.add(t.scaled(square, slope * 0.044715), t.number(slope)));
  ExprRef share = t.scaled(call_op("tanh", {inner}), 0.5);
  return t.mul(x, t.add(share, t.number(0.5)));
}

// log(1 + exp(x)), without exponentials of positive numbers.
ExprRef softplus(const Terms& t, const ExprRef& x) {
  ExprRef small = call_op("exp", {call_op("negative", {call_op("abs", {x})})});
  ExprRef rest = call_op("log", {t.add(small, t.number(1))});
  return t.add(call_op("nn.relu", {x}), rest);
}

TypeRef infer_softplus(const RelationCall& call) {
  double beta = call.attrs<SoftplusAttrs>().beta;
  call.require(std::isfinite(beta) && beta != 0, "beta must be a finite number other than 0");
  return call.input(0);
}

RELAY_OP("nn.gelu")
    .doc("x times the share of a normal distribution that lies below x.")
    .input("data", "Tensor of any shape.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<GeluAttrs>()
    .relation(identity_relation())
    .level(10)
    .expand([](const OpCall& call, std::span<const ExprRef> args) {
      bool tanh = call.attrs<GeluAttrs>().approximate == GeluForm::kTanh;
      return in_float32(call, args[0], tanh ? gelu_tanh : gelu_erf);
    })
    .example("fn (%x: Tensor[(5), float32]) { nn.gelu(%x) }", "[-3, -1, 0, 1, 3]");

RELAY_OP("nn.silu")
    .doc("x * sigmoid(alpha * x).")
    .input("data", "Tensor of any shape.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<SiluAttrs>()
    .relation(identity_relation())
    .level(10)
    .expand([](const OpCall& call, std::span<const ExprRef> args) {
      double alpha = call.attrs<SiluAttrs>().alpha;
      return in_float32(call, args[0], [alpha](const Terms& t, const ExprRef& x) {
        return t.mul(x, call_op("sigmoid", {t.scaled(x, alpha)}));
      });
    })
    .example("fn (%x: Tensor[(5), float32]) { nn.silu(%x) }", "[-3, -1, 0, 1, 3]");

RELAY_OP("nn.softplus")
    .doc("log(1 + exp(beta * x)) / beta, computed stably.")
    .input("data", "Tensor of any shape.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<SoftplusAttrs>()
    .relation(infer_softplus)
    .level(10)
    .expand([](const OpCall& call, std::span<const ExprRef> args) {
      double beta = call.attrs<SoftplusAttrs>().beta;
      return in_float32(call, args[0], [beta](const Terms& t, const ExprRef& x) {
        return t.scaled(softplus(t, t.scaled(x, beta)), 1 / beta);
      });
    })
    .example("fn (%x: Tensor[(5), float32]) { nn.softplus(%x) }", "[-3, -1, 0, 1, 3]");

RELAY_OP("nn.mish")
    .doc("x * tanh(log(1 + exp(x))).")
    .input("data", "Tensor of any shape.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .relation(identity_relation())
    .level(10)
    .expand([](const OpCall& call, std::span<const ExprRef> args) {
      return in_float32(call, args[0], [](const Terms& t, const ExprRef& x) {
        return t.mul(x, call_op("tanh", {softplus(t, x)}));
      });
    })
    .example("fn (%x: Tensor[(5), float32]) { nn.mish(%x) }", "[-3, -1, 0, 1, 3]");

}  // namespace
}  // namespace relay
