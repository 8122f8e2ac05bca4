#include <relay/tensor_expr/scalar.h>

#include <cmath>
#include <limits>
#include <optional>

#include <relay/support/error.h>
#include <relay/tensor_expr/rewrite.h>

namespace relay::te {
namespace {

Immediate immediate_of(DType dtype, const void* element) {
  Immediate value{};
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T stored = *static_cast<const T*>(element);
    if constexpr (std::is_same_v<T, Bool>) {
      value.i = stored ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        value.i = stored;
      } else {
        value.u = stored;
      }
    } else {
      value.f = static_cast<double>(static_cast<ComputeType<T>>(stored));
    }
  });
  return value;
}

template <class From>
Scalar constant_of(From from, DType dtype) {
  Ref<ScalarNode> node = new_node(ScalarKind::kConst, dtype);
  dispatch(dtype, [&](auto tag) {
    auto element = convert_element<typename decltype(tag)::type>(from);
    node->value = immediate_of(dtype, &element);
  });
  return Scalar(node);
}

Scalar bool_constant(bool value) { return constant(int64_t{value}, kBool); }

bool is_const(const Scalar& x) { return x.node()->kind == ScalarKind::kConst; }
bool is_index_const(const Scalar& x) { return is_const(x) && x.dtype() == kInt64; }

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// Folds two int64 constants; null if that is not possible (a division by zero stays and fails in
/// the run).
Scalar fold_int64(BinaryOp op, int64_t a, int64_t b) {
  auto apply = [&](auto asks, auto f) {
    return asks ? bool_constant(f(a, b) != 0) : index_constant(f(a, b));
  };
  if (!divides(op)) return arithmetic::with_binary<Scalar, int64_t>(op, apply);
  return b == 0 ? Scalar() : arithmetic::with_division<Scalar, int64_t>(op, apply);
}

/// Index terms are small, so they never wrap: rules that hold only without overflow may be used.
bool is_index_term(const ScalarNode* node, int depth = 4) {
  if (depth == 0) return false;
  switch (node->kind) {
    case ScalarKind::kIndex:
    case ScalarKind::kFromDim:
      return true;
    case ScalarKind::kConst:
      return std::abs(static_cast<double>(node->value.i)) < 1e9;
    case ScalarKind::kBinary:
      return (node->binary == BinaryOp::kAdd || node->binary == BinaryOp::kSub ||
              node->binary == BinaryOp::kMul || node->binary == BinaryOp::kFloorDiv ||
              node->binary == BinaryOp::kFloorMod) &&
             is_index_term(node->args[0].get(), depth - 1) &&
             is_index_term(node->args[1].get(), depth - 1);
    default:
      return false;
  }
}

/// Identities on int64 with a constant on the right; null if none applies.
Scalar simplify_int64(BinaryOp op, const Scalar& a, const Scalar& b) {
  if (!is_index_const(b)) return Scalar();
  int64_t c = b.node()->value.i;
  const ScalarNode* left = a.node();
  bool left_binary = left->kind == ScalarKind::kBinary && left->args[1]->kind == ScalarKind::kConst;
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      if (c == 0) return a;
      if (!left_binary) return Scalar();
      int64_t signed_c = op == BinaryOp::kAdd ? c : wrap_sub(0, c);
      int64_t inner = left->args[1]->value.i;
      if (left->binary == BinaryOp::kAdd) {
        return binary(BinaryOp::kAdd, left->args[0], index_constant(wrap_add(inner, signed_c)));
      }
      if (left->binary == BinaryOp::kSub) {
        return binary(BinaryOp::kAdd, left->args[0], index_constant(wrap_sub(signed_c, inner)));
      }
      return Scalar();
    }
    case BinaryOp::kMul:
      if (c == 1) return a;
      if (c == 0) return b;
      if (left_binary && left->binary == BinaryOp::kMul) {
        return binary(BinaryOp::kMul, left->args[0],
                      index_constant(wrap_mul(left->args[1]->value.i, c)));
      }
      return Scalar();
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      if (c == 1) return a;
      if (c > 0 && left_binary && left->binary == BinaryOp::kMul &&
          left->args[1]->value.i % c == 0 && is_index_term(left)) {
        return binary(BinaryOp::kMul, left->args[0], index_constant(left->args[1]->value.i / c));
      }
      return Scalar();
    case BinaryOp::kMod:
    case BinaryOp::kFloorMod:
      if (c == 1) return index_constant(0);
      if (c > 0 && left_binary && left->binary == BinaryOp::kMul &&
          left->args[1]->value.i % c == 0 && is_index_term(left)) {
        return index_constant(0);
      }
      return Scalar();
    default:
      return Scalar();
  }
}

/// The number that a term of floats is: a constant, or a difference of two (as derivatives have
/// it).
std::optional<double> known_number(const ScalarNode& node) {
  if (node.kind == ScalarKind::kConst) return node.value.f;
  if (node.kind != ScalarKind::kBinary || node.binary != BinaryOp::kSub) return std::nullopt;
  const ScalarNode &a = *node.args[0], &b = *node.args[1];
  if (a.kind != ScalarKind::kConst || b.kind != ScalarKind::kConst) return std::nullopt;
  return a.value.f - b.value.f;
}

Scalar product(const Scalar& a, const Scalar& b) { return binary(BinaryOp::kMul, a, b); }

/// Products and roots instead of a power, at most three roundings more; null where it takes others.
Scalar float_power(const Scalar& x, double exponent) {
  if (exponent == 1) return x;
  DType dtype = x.dtype();
  if (dtype != kFloat32 && dtype != kFloat64) {  // one rounding at the end
    Scalar result = float_power(cast(x, kFloat32), exponent);
    return result.node() == nullptr ? result : cast(result, dtype);
  }
  if (exponent == 2) return product(x, x);
  if (exponent == 3) return product(product(x, x), x);
  if (exponent == 4) {
    Scalar square = product(x, x);
    return product(square, square);
  }
  if (exponent == -1) return 1.0 / x;
  if (exponent == -2) {
    Scalar inverse = 1.0 / x;
    return product(inverse, inverse);
  }
  if (exponent == -0.25 || exponent == -0.5 || exponent == -0.75) {
    return 1.0 / float_power(x, -exponent);
  }
  if (exponent == 0.25 || exponent == 0.5 || exponent == 0.75) {
    // A power of -inf is inf, one of -0 is 0.
    Scalar root = select(x == lowest(dtype), highest(dtype), sqrt(x + 0.0));
    if (exponent == 0.5) return root;
    return exponent == 0.25 ? sqrt(root) : product(root, sqrt(root));
  }
  return Scalar();
}

Scalar integer_power(const Scalar& x, int64_t exponent) {
  constexpr int64_t kMost = 16;  // arithmetic wraps: any order of products will do
  if (exponent < 1 || exponent > kMost) return Scalar();
  Scalar result, square = x;
  for (int64_t left = exponent; true; square = product(square, square)) {
    if ((left & 1) != 0) result = result.node() == nullptr ? square : product(result, square);
    left >>= 1;
    if (left == 0) return result;
  }
}

/// Null unless the exponent is known and few steps do.
Scalar simplify_power(const Scalar& x, const Scalar& exponent) {
  if (!x.dtype().is_float()) {
    return is_const(exponent) ? integer_power(x, exponent.node()->value.i) : Scalar();
  }
  std::optional<double> number = known_number(*exponent.node());
  return number ? float_power(x, *number) : Scalar();
}

bool is_commutative(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin ||
         op == BinaryOp::kMax;
}

std::string type_text(const Scalar& x) { return std::string(x.dtype().name()); }

}  // namespace

void ScalarNode::destroy() const noexcept {
  // A chain of nodes must not become a chain of C++ frames: the outermost call frees the rest.
  thread_local std::vector<const ScalarNode*>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(this);
    return;
  }
  std::vector<const ScalarNode*> worklist{this};
  pending = &worklist;
  while (!worklist.empty()) {
    const ScalarNode* node = worklist.back();
    worklist.pop_back();
    delete node;
  }
  pending = nullptr;
}

Scalar constant(double value, DType dtype) { return constant_of(value, dtype); }
Scalar constant(int64_t value, DType dtype) { return constant_of(value, dtype); }

Scalar index_constant(int64_t value) {
  Ref<ScalarNode> node = new_node(ScalarKind::kConst, kInt64);
  node->value.i = value;
  return Scalar(node);
}

Scalar from_dim(Dim dim) {
  if (dim.is_int()) return index_constant(dim.as_int());
  Ref<ScalarNode> node = new_node(ScalarKind::kFromDim, kInt64);
  node->dim = dim;
  return Scalar(node);
}

Scalar index_of(Axis axis) {
  Ref<ScalarNode> node = new_node(ScalarKind::kIndex, kInt64);
  node->axis = axis.id;
  return Scalar(node);
}

Scalar placeholder(uint32_t id, DType dtype) {
  Ref<ScalarNode> node = new_node(ScalarKind::kVar, dtype);
  node->id = id;
  return Scalar(node);
}

Scalar lowest(DType dtype) {
  Ref<ScalarNode> node = new_node(ScalarKind::kConst, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      T value = std::numeric_limits<T>::min();
      node->value = immediate_of(dtype, &value);
    } else if (dtype.is_float()) {
      node->value.f = -std::numeric_limits<double>::infinity();
    }
  });
  return Scalar(node);
}

Scalar highest(DType dtype) {
  Ref<ScalarNode> node = new_node(ScalarKind::kConst, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      T value = std::numeric_limits<T>::max();
      node->value = immediate_of(dtype, &value);
    } else if (dtype.is_float()) {
      node->value.f = std::numeric_limits<double>::infinity();
    } else {
      node->value.i = 1;
    }
  });
  return Scalar(node);
}

Scalar unary(UnaryOp op, Scalar x) {
  using Is = ScalarForm::Is;
  DType dtype = x.dtype();
  const ScalarForm& form = scalar_op(op).on(dtype);
  RELAY_CHECK(form.is != Is::kNothing, std::string(unary_name(op)) + " of " + type_text(x));
  if (form.is == Is::kOther) return unary(static_cast<UnaryOp>(form.other), std::move(x));
  if (form.is == Is::kItself) return x;
  if (form.is == Is::kFalse || form.is == Is::kTrue) return bool_constant(form.is == Is::kTrue);
  if (is_const(x) && dtype.is_bool()) return bool_constant(x.node()->value.i == 0);
  if (is_index_const(x)) {
    return arithmetic::with_unary<Scalar, int64_t>(
        op, [&](auto, auto f) { return index_constant(f(x.node()->value.i)); });
  }
  Ref<ScalarNode> node = new_node(ScalarKind::kUnary, scalar_op(op).result(dtype));
  node->unary = op;
  node->args.push_back(x.ref());
  return Scalar(node);
}

Scalar binary(BinaryOp op, Scalar a, Scalar b) {
  DType dtype = a.dtype();
  RELAY_CHECK(dtype == b.dtype(),
              std::string(binary_name(op)) + " of " + type_text(a) + " and " + type_text(b));
  const ScalarForm& form = scalar_op(op).on(dtype);
  RELAY_CHECK(form.is != ScalarForm::Is::kNothing,
              std::string(binary_name(op)) + " of " + type_text(a));
  if (form.is == ScalarForm::Is::kOther) op = static_cast<BinaryOp>(form.other);
  if (dtype.is_bool() && (op == BinaryOp::kAnd || op == BinaryOp::kOr)) {
    int64_t neutral = op == BinaryOp::kAnd ? 1 : 0;
    if (is_const(a)) return a.node()->value.i == neutral ? b : a;
    if (is_const(b)) return b.node()->value.i == neutral ? a : b;
  }
  if (dtype == kInt64) {
    if (is_const(a) && is_const(b)) {
      Scalar folded = fold_int64(op, a.node()->value.i, b.node()->value.i);
      if (folded.node() != nullptr) return folded;
    }
    if (is_const(a) && is_commutative(op)) std::swap(a, b);
    Scalar simpler = simplify_int64(op, a, b);
    if (simpler.node() != nullptr) return simpler;
  }
  if (op == BinaryOp::kPow) {
    Scalar simpler = simplify_power(a, b);
    if (simpler.node() != nullptr) return simpler;
  }
  Ref<ScalarNode> node = new_node(ScalarKind::kBinary, scalar_op(op).result(dtype));
  node->binary = op;
  node->args.reserve(2);
  node->args.push_back(a.ref());
  node->args.push_back(b.ref());
  return Scalar(node);
}

Scalar cast(Scalar x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_index_const(x)) return constant(x.node()->value.i, dtype);
  Ref<ScalarNode> node = new_node(ScalarKind::kCast, dtype);
  node->args.push_back(x.ref());
  return Scalar(node);
}

Scalar bitcast(Scalar x, DType dtype) {
  if (x.dtype() == dtype) return x;
  RELAY_CHECK(x.dtype().size() == dtype.size() && !x.dtype().is_bool() && !dtype.is_bool(),
              "bitcast of " + type_text(x) + " to " + std::string(dtype.name()));
  Ref<ScalarNode> node = new_node(ScalarKind::kBitcast, dtype);
  node->args.push_back(x.ref());
  return Scalar(node);
}

Scalar select(Scalar condition, Scalar then_value, Scalar else_value) {
  RELAY_CHECK(condition.dtype().is_bool(), "select on " + type_text(condition));
  RELAY_CHECK(then_value.dtype() == else_value.dtype(),
              "select of " + type_text(then_value) + " and " + type_text(else_value));
  if (is_const(condition)) return condition.node()->value.i != 0 ? then_value : else_value;
  if (then_value.node() == else_value.node()) return then_value;
  Ref<ScalarNode> node = new_node(ScalarKind::kSelect, then_value.dtype());
  node->args.reserve(3);
  node->args.push_back(condition.ref());
  node->args.push_back(then_value.ref());
  node->args.push_back(else_value.ref());
  return Scalar(node);
}

bool is_integer_division(const ScalarNode& node) {
  return node.kind == ScalarKind::kBinary && !node.dtype.is_float() && divides(node.binary);
}

Scalar fail_unless(Scalar condition, Scalar value, std::string message) {
  RELAY_CHECK(condition.dtype().is_bool(), "fail on " + type_text(condition));
  if (is_const(condition) && condition.node()->value.i != 0) return value;
  Ref<ScalarNode> node = new_node(ScalarKind::kFail, value.dtype());
  node->message = std::move(message);
  node->args.reserve(2);
  node->args.push_back(condition.ref());
  node->args.push_back(value.ref());
  return Scalar(node);
}

}  // namespace relay::te
