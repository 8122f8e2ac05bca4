// An interpreter of scalar expressions one element at a time, as plain as can be: what the direct
// evaluator is compared with. Values are doubles or 64-bit integers with the wrapping of their
// dtype.
#pragma once

#include <cmath>
#include <map>

#include <relay/support/error.h>
#include <relay/tensor_expr/computation.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::te::naive {

struct Number {
  int64_t i = 0;  // integers (unsigned: the bits) and bool
  double f = 0;   // floats
};

inline int64_t wrap(DType dtype, int64_t value) {
  int64_t result = 0;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) result = static_cast<int64_t>(static_cast<T>(value));
    if constexpr (std::is_same_v<T, Bool>) result = value != 0;
  });
  return result;
}

inline double round_to(DType dtype, double value) {
  if (dtype == kFloat16) return static_cast<float>(Half(static_cast<float>(value)));
  if (dtype == kBFloat16) return static_cast<float>(BFloat16(static_cast<float>(value)));
  if (dtype == kFloat32) return static_cast<float>(value);
  return value;
}

struct Interpreter {
  const Computation& computation;
  std::span<const NDArray> inputs;
  std::map<uint32_t, int64_t> axes;
  std::map<uint32_t, Number> vars;
  int64_t steps = 0;

  /// Nothing is shared here, so that folds in folds may take for ever.
  struct TooLong {};

  Number load(const ScalarNode& n) {
    const NDArray& array = inputs[static_cast<size_t>(n.tensor.index)];
    int64_t offset = 0;
    for (size_t d = 0; d < n.args.size(); ++d) {
      int64_t at = value(*n.args[d]).i, extent = array.extent(d);
      if (at < 0 || at >= extent) {
        if (n.bounds == Bounds::kFill) return value(*n.fill);
        if (n.bounds == Bounds::kClamp) {
          at = at < 0 ? 0 : extent - 1;
        } else if (n.bounds == Bounds::kWrap) {
          at = ((at % extent) + extent) % extent;
        } else {
          throw RuntimeError("index out of range");
        }
      }
      offset += at * array.stride(d);
    }
    Number result;
    dispatch(array.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T element = array.data<T>()[offset];
      if constexpr (std::is_integral_v<T>) {
        result.i = static_cast<int64_t>(element);
      } else if constexpr (std::is_same_v<T, Bool>) {
        result.i = element.value;
      } else {
        result.f = static_cast<double>(static_cast<ComputeType<T>>(element));
      }
    });
    return result;
  }

  Number binary(BinaryOp op, DType type, DType result, Number a, Number b) {
    Number r;
    if (type.is_float()) {
      switch (op) {
        case BinaryOp::kAdd:
          r.f = a.f + b.f;
          break;
        case BinaryOp::kSub:
          r.f = a.f - b.f;
          break;
        case BinaryOp::kMul:
          r.f = a.f * b.f;
          break;
        case BinaryOp::kDiv:
          r.f = a.f / b.f;
          break;
        case BinaryOp::kMod:
          r.f = std::fmod(a.f, b.f);
          break;
        case BinaryOp::kMin:
          r.f = a.f < b.f || std::isnan(a.f) ? a.f : b.f;
          break;
        case BinaryOp::kMax:
          r.f = a.f > b.f || std::isnan(a.f) ? a.f : b.f;
          break;
        case BinaryOp::kEq:
          r.i = a.f == b.f;
          break;
        case BinaryOp::kNe:
          r.i = a.f != b.f;
          break;
        case BinaryOp::kLt:
          r.i = a.f < b.f;
          break;
        case BinaryOp::kLe:
          r.i = a.f <= b.f;
          break;
        case BinaryOp::kGt:
          r.i = a.f > b.f;
          break;
        case BinaryOp::kGe:
          r.i = a.f >= b.f;
          break;
        default:
          throw std::logic_error("not tested");
      }
      r.f = round_to(result, r.f);
      return r;
    }
    auto ua = static_cast<uint64_t>(a.i), ub = static_cast<uint64_t>(b.i);
    bool is_unsigned = type.is_unsigned();
    bool less = is_unsigned ? ua < ub : a.i < b.i;
    auto quotient = [&](bool floored) -> int64_t {
      if (b.i == 0) throw RuntimeError("integer division by zero");
      if (is_unsigned) return static_cast<int64_t>(ua / ub);
      if (b.i == -1) return static_cast<int64_t>(0 - ua);
      int64_t q = a.i / b.i;
      return floored && a.i % b.i != 0 && ((a.i < 0) != (b.i < 0)) ? q - 1 : q;
    };
    switch (op) {
      case BinaryOp::kAdd:
        r.i = static_cast<int64_t>(ua + ub);
        break;
      case BinaryOp::kSub:
        r.i = static_cast<int64_t>(ua - ub);
        break;
      case BinaryOp::kMul:
        r.i = static_cast<int64_t>(ua * ub);
        break;
      case BinaryOp::kDiv:
        r.i = quotient(false);
        break;
      case BinaryOp::kFloorDiv:
        r.i = quotient(true);
        break;
      case BinaryOp::kMod:
        r.i = static_cast<int64_t>(ua - static_cast<uint64_t>(quotient(false)) * ub);
        break;
      case BinaryOp::kFloorMod:
        r.i = static_cast<int64_t>(ua - static_cast<uint64_t>(quotient(true)) * ub);
        break;
      case BinaryOp::kMin:
        r.i = less ? a.i : b.i;
        break;
      case BinaryOp::kMax:
        r.i = less ? b.i : a.i;
        break;
      case BinaryOp::kAnd:
        r.i = a.i & b.i;
        break;
      case BinaryOp::kOr:
        r.i = a.i | b.i;
        break;
      case BinaryOp::kXor:
        r.i = a.i ^ b.i;
        break;
      case BinaryOp::kEq:
        r.i = a.i == b.i;
        break;
      case BinaryOp::kNe:
        r.i = a.i != b.i;
        break;
      case BinaryOp::kLt:
        r.i = less;
        break;
      case BinaryOp::kLe:
        r.i = less || a.i == b.i;
        break;
      case BinaryOp::kGt:
        r.i = !less && a.i != b.i;
        break;
      case BinaryOp::kGe:
        r.i = !less;
        break;
      default:
        throw std::logic_error("not tested");
    }
    r.i = wrap(result, r.i);
    return r;
  }

  Number cast(DType from, DType to, Number a) {
    Number r;
    if (from.is_float()) {
      if (to.is_float()) {
        r.f = round_to(to, a.f);
      } else if (to.is_bool()) {
        r.i = a.f != 0;
      } else {
        r.i = wrap(to, static_cast<int64_t>(a.f));  // tests stay in range
      }
    } else if (to.is_float()) {
      double exact = from.is_unsigned() ? static_cast<double>(static_cast<uint64_t>(a.i))
                                        : static_cast<double>(a.i);
      r.f = round_to(to, exact);
    } else {
      r.i = wrap(to, a.i);
    }
    return r;
  }

  std::vector<Number> fold(const ScalarNode& n) {
    const Combiner& c = *n.combiner;
    bool custom = c.kind == Combiner::Kind::kCustom;
    size_t k = custom ? c.lhs.size() : 1;
    std::vector<Number> acc(k);
    int64_t total = 1;
    for (const Axis& axis : n.axes) total *= axis.extent.as_int();
    for (size_t j = 0; j < k && custom; ++j) acc[j] = value(*c.identity[j]);
    if (!custom) {
      DType t = n.dtype;
      if (c.kind == Combiner::Kind::kMax) acc[0] = value(*lowest(t).node());
      if (c.kind == Combiner::Kind::kMin) acc[0] = value(*highest(t).node());
      if (c.kind == Combiner::Kind::kProd) acc[0] = value(*constant(1, t).node());
      if (c.kind == Combiner::Kind::kAnd) acc[0].i = 1;
    }
    for (int64_t point = 0; point < total; ++point) {
      int64_t rest = point;
      for (size_t a = n.axes.size(); a-- > 0;) {
        axes[n.axes[a].id] = rest % n.axes[a].extent.as_int();
        rest /= n.axes[a].extent.as_int();
      }
      if (n.args.size() > k && value(*n.args[k]).i == 0) continue;
      std::vector<Number> values;
      for (size_t j = 0; j < k; ++j) values.push_back(value(*n.args[j]));
      if (custom) {
        for (size_t j = 0; j < k; ++j) {
          vars[c.lhs[j]->id] = acc[j];
          vars[c.rhs[j]->id] = values[j];
        }
        for (size_t j = 0; j < k; ++j) acc[j] = value(*c.result[j]);
        continue;
      }
      static const std::map<Combiner::Kind, BinaryOp> ops{
          {Combiner::Kind::kSum, BinaryOp::kAdd}, {Combiner::Kind::kProd, BinaryOp::kMul},
          {Combiner::Kind::kMax, BinaryOp::kMax}, {Combiner::Kind::kMin, BinaryOp::kMin},
          {Combiner::Kind::kAnd, BinaryOp::kAnd}, {Combiner::Kind::kOr, BinaryOp::kOr}};
      acc[0] = binary(ops.at(c.kind), n.dtype, n.dtype, acc[0], values[0]);
    }
    return acc;
  }

  Number value(const ScalarNode& n) {
    if (++steps > 300000) throw TooLong();
    Number r;
    switch (n.kind) {
      case ScalarKind::kConst:
        r.i = n.value.i;
        r.f = n.dtype.is_float() ? n.value.f : 0;
        return r;
      case ScalarKind::kIndex:
        r.i = axes.at(n.axis);
        return r;
      case ScalarKind::kFromDim:
        r.i = evaluate_dim(n.dim, inputs);
        return r;
      case ScalarKind::kVar:
        return vars.at(n.id);
      case ScalarKind::kLoad:
        return load(n);
      case ScalarKind::kSelect:
        return value(value(*n.args[0]).i != 0 ? *n.args[1] : *n.args[2]);
      case ScalarKind::kFail:
        if (value(*n.args[0]).i == 0) throw RuntimeError(n.message);
        return value(*n.args[1]);
      case ScalarKind::kCast:
        return cast(n.args[0]->dtype, n.dtype, value(*n.args[0]));
      case ScalarKind::kBinary:
        return binary(n.binary, n.args[0]->dtype, n.dtype, value(*n.args[0]), value(*n.args[1]));
      case ScalarKind::kFold:
        return fold(n)[0];
      case ScalarKind::kGet:
        return fold(*n.args[0])[n.id];
      case ScalarKind::kUnary: {
        Number a = value(*n.args[0]);
        DType t = n.args[0]->dtype;
        switch (n.unary) {
          case UnaryOp::kNeg:
            r.i = t.is_float() ? 0 : wrap(t, static_cast<int64_t>(0 - static_cast<uint64_t>(a.i)));
            r.f = -a.f;
            return r;
          case UnaryOp::kNot:
            r.i = a.i == 0;
            return r;
          case UnaryOp::kAbs:
            r.i = a.i < 0 && !t.is_unsigned()
                      ? wrap(t, static_cast<int64_t>(0 - static_cast<uint64_t>(a.i)))
                      : a.i;
            r.f = std::abs(a.f);
            return r;
          case UnaryOp::kExp:
            r.f = round_to(n.dtype, round_to(kFloat32, std::exp(a.f)));
            return r;
          case UnaryOp::kFloor:
            r.f = std::floor(a.f);
            return r;
          default:
            throw std::logic_error("not tested");
        }
      }
      case ScalarKind::kBitcast:
        throw std::logic_error("not tested");
    }
    return r;
  }
};

}  // namespace relay::te::naive
