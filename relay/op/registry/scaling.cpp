#include <relay/op/registry/scaling.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <relay/op/shape/shape_attrs.h>
#include <relay/tensor_expr/walk.h>

namespace relay {
namespace {

using te::BinaryOp;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::UnaryOp;

constexpr size_t kMaxInputs = 6;

/// The effect on a value of multiplying some inputs by a factor.
enum class Degree : uint8_t {
  kZero,     // it is 0
  kFree,     // nothing
  kScaled,   // it is multiplied, too
  kUnknown,  // anything else
};

bool is_scaled(Degree d) { return d == Degree::kScaled || d == Degree::kZero; }
bool is_free(Degree d) { return d == Degree::kFree || d == Degree::kZero; }

bool orders(BinaryOp op) {
  switch (op) {
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      return true;
    default:
      return false;
  }
}

class Degrees {
 public:
  Degrees(const te::Map& map, uint32_t inputs, size_t axis)
      : map_(map), scaled_(inputs), axis_(map.axes[axis].id) {}

  /// The dimensions of the inputs, if the value is scaled.
  std::optional<Scaling> run() {
    std::vector<const ScalarNode*> order = te::post_order(map_.values);
    te::NodeNumbers numbers = te::number_nodes(order);
    for (const ScalarNode* node : order) {
      std::vector<Degree> args;
      for (const ScalarRef& arg : node->args) args.push_back(degrees_[numbers.at(arg.get())]);
      degrees_.push_back(of(*node, args));
    }
    if (degrees_.back() != Degree::kScaled || !good_) return std::nullopt;
    return result_;
  }

 private:
  static bool all(const std::vector<Degree>& args, bool (*test)(Degree)) {
    return std::all_of(args.begin(), args.end(), test);
  }

  Degree of(const ScalarNode& node, const std::vector<Degree>& args) {
    if (node.kind == ScalarKind::kConst) return constant(node);
    if (node.kind == ScalarKind::kLoad) return load(node, args);
    bool free = all(args, is_free);
    switch (node.kind) {
      case ScalarKind::kUnary:
        if (free)
          return args[0] == Degree::kZero && keeps_zero(node.unary) ? Degree::kZero : Degree::kFree;
        return unary(node, args[0]);
      case ScalarKind::kCast:
        // Rounded another time, as every product is.
        if (args[0] == Degree::kZero && node.dtype.is_float()) return Degree::kZero;
        if (free) return Degree::kFree;
        return node.dtype.is_float() && node.args[0]->dtype.is_float() ? args[0] : Degree::kUnknown;
      case ScalarKind::kBinary:
        return binary(node, args[0], args[1]);
      case ScalarKind::kSelect:
        if (!is_free(args[0])) return Degree::kUnknown;
        if (is_scaled(args[1]) && is_scaled(args[2])) {
          return args[1] == args[2] ? args[1] : Degree::kScaled;
        }
        return is_free(args[1]) && is_free(args[2]) ? Degree::kFree : Degree::kUnknown;
      case ScalarKind::kFold:
        return fold(node, args);
      default:
        return free ? Degree::kFree : Degree::kUnknown;
    }
  }

  Degree constant(const ScalarNode& node) {
    if (!node.dtype.is_float()) return Degree::kFree;
    if (node.value.f == 0) return Degree::kZero;
    return Degree::kFree;
  }

  static bool keeps_zero(UnaryOp op) { return op == UnaryOp::kNeg || op == UnaryOp::kAbs; }

  Degree unary(const ScalarNode& node, Degree arg) {
    if (node.unary == UnaryOp::kNeg) return arg;
    if (node.unary == UnaryOp::kAbs && arg == Degree::kScaled) {
      result_.positive = true;
      return arg;
    }
    return Degree::kUnknown;
  }

  Degree binary(const ScalarNode& node, Degree a, Degree b) {
    bool real = node.dtype.is_float();
    if (a == Degree::kUnknown || b == Degree::kUnknown) return Degree::kUnknown;
    bool any = a == Degree::kScaled || b == Degree::kScaled;
    if (orders(node.binary)) {
      if (!any) return Degree::kFree;
      // x > 0 is as it was.
      if (!is_scaled(a) || !is_scaled(b)) return Degree::kUnknown;
      result_.positive = true;
      return Degree::kFree;
    }
    switch (node.binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        if (any) return real && is_scaled(a) && is_scaled(b) ? Degree::kScaled : Degree::kUnknown;
        return a == Degree::kZero && b == Degree::kZero ? Degree::kZero : Degree::kFree;
      case BinaryOp::kMul:
        if (a == Degree::kZero || b == Degree::kZero) return Degree::kZero;
        if (!any) return Degree::kFree;
        return real && a != b ? Degree::kScaled : Degree::kUnknown;
      case BinaryOp::kDiv:
        if (!any) return Degree::kFree;
        return real && b == Degree::kFree ? Degree::kScaled : Degree::kUnknown;
      case BinaryOp::kMax:
      case BinaryOp::kMin:
        if (!any) return Degree::kFree;
        if (!real || !is_scaled(a) || !is_scaled(b)) return Degree::kUnknown;
        result_.positive = true;
        return Degree::kScaled;
      default:
        return any ? Degree::kUnknown : Degree::kFree;
    }
  }

  Degree load(const ScalarNode& node, const std::vector<Degree>& args) {
    if (!all(args, is_free)) return Degree::kUnknown;
    bool scaled = node.tensor.is_input() && (scaled_ >> node.tensor.index & 1) != 0;
    if (!scaled) return node.tensor.is_input() ? Degree::kFree : Degree::kUnknown;
    if (!node.dtype.is_float()) return Degree::kUnknown;
    if (node.bounds == te::Bounds::kFill) {
      double fill = node.fill->value.f;
      if (std::isinf(fill)) result_.positive = true;
      if (fill != 0 && !std::isinf(fill)) return Degree::kUnknown;
    } else if (node.bounds != te::Bounds::kProven) {
      return Degree::kUnknown;
    }
    auto input = static_cast<size_t>(node.tensor.index);
    auto entry = std::find_if(result_.inputs.begin(), result_.inputs.end(),
                              [&](const InputAxis& at) { return at.input == input; });
    for (size_t d = 0; d < node.args.size(); ++d) {
      if (node.args[d]->kind != ScalarKind::kIndex || node.args[d]->axis != axis_) continue;
      if (entry == result_.inputs.end()) {
        result_.inputs.push_back({input, d});
        return Degree::kScaled;
      }
      if (entry->dim == d) return Degree::kScaled;
    }
    good_ = false;
    return Degree::kUnknown;
  }

  Degree fold(const ScalarNode& node, const std::vector<Degree>& args) {
    if (all(args, is_free)) return Degree::kFree;
    for (size_t i = 1; i < args.size(); ++i) {  // `where`
      if (!is_free(args[i])) return Degree::kUnknown;
    }
    if (!node.dtype.is_float() || args[0] != Degree::kScaled) return Degree::kUnknown;
    switch (node.combiner->kind) {
      case te::Combiner::Kind::kMax:
      case te::Combiner::Kind::kMin:
        result_.positive = true;
        return Degree::kScaled;
      case te::Combiner::Kind::kSum:
        return Degree::kScaled;
      default:
        return Degree::kUnknown;
    }
  }

  const te::Map& map_;
  uint32_t scaled_;
  uint32_t axis_;
  std::vector<Degree> degrees_;
  Scaling result_;
  bool good_ = true;
};

/// Past casts between floats.
const ScalarNode* plain(const ScalarNode* node) {
  while (node->kind == ScalarKind::kCast && node->dtype.is_float() &&
         node->args[0]->dtype.is_float()) {
    node = node->args[0].get();
  }
  return node;
}

/// The two loads of inputs whose products a stage sums, elementwise work apart from casts excluded.
struct Product {
  const ScalarNode* lhs = nullptr;
  const ScalarNode* rhs = nullptr;
};

std::optional<Product> summed_product(const te::Map& map) {
  if (map.values.size() != 1) return std::nullopt;
  const ScalarNode* fold = plain(map.values[0].get());
  if (fold->kind != ScalarKind::kFold || fold->combiner->kind != te::Combiner::Kind::kSum ||
      fold->args.size() != 1 || !fold->dtype.is_float()) {
    return std::nullopt;
  }
  const ScalarNode* product = fold->args[0].get();
  if (product->kind != ScalarKind::kBinary || product->binary != BinaryOp::kMul) {
    return std::nullopt;
  }
  Product result{plain(product->args[0].get()), plain(product->args[1].get())};
  for (const ScalarNode* factor : {result.lhs, result.rhs}) {
    bool zero = factor->bounds == te::Bounds::kProven ||
                (factor->bounds == te::Bounds::kFill && factor->fill->value.f == 0);
    if (factor->kind != ScalarKind::kLoad || !factor->tensor.is_input() || !zero ||
        !factor->dtype.is_float()) {
      return std::nullopt;
    }
  }
  if (result.lhs->tensor.index == result.rhs->tensor.index) return std::nullopt;
  return result;
}

bool uses_axis(const ScalarNode& load, uint32_t axis) {
  for (const ScalarNode* node : te::post_order(load.args)) {
    if (node->kind == ScalarKind::kIndex && node->axis == axis) return true;
  }
  return false;
}

}  // namespace

CallScaling::CallScaling(const OpCall& call) {
  if (call.op()->definition() != DefinitionKind::kCompute || !call.op()->pure()) return;
  computation_ = build_computation(call);
  if (computation_.stages.size() != 1 || computation_.outputs.size() != 1) return;
  const auto* map = std::get_if<te::Map>(&computation_.stages[0].body);
  if (map != nullptr && map->values.size() == 1) map_ = map;
}

bool CallScaling::multiplies(size_t lhs) const {
  if (map_ == nullptr || computation_.inputs.size() != 2 || lhs > 1) return false;
  const ScalarNode& value = *map_->values[0];
  if (value.kind != ScalarKind::kBinary || value.binary != BinaryOp::kMul ||
      !value.dtype.is_float()) {
    return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    const ScalarNode& load = *value.args[i];
    if (load.kind != ScalarKind::kLoad || !load.tensor.is_input()) return false;
    if (value.args[0]->tensor == value.args[1]->tensor) return false;
    if (static_cast<size_t>(load.tensor.index) != lhs) continue;
    if (load.args.size() != map_->axes.size()) return false;
    for (size_t d = 0; d < load.args.size(); ++d) {
      const ScalarNode& at = *load.args[d];
      bool same = at.kind == ScalarKind::kIndex && at.axis == map_->axes[d].id;
      if (!same && !map_->axes[d].extent.is_int(1)) return false;
    }
  }
  return true;
}

bool CallScaling::is_weight(size_t input) const {
  if (map_ == nullptr || map_->axes.empty()) return false;
  std::optional<Product> product = summed_product(*map_);
  if (!product) return false;
  for (const ScalarNode* load : {product->lhs, product->rhs}) {
    if (static_cast<size_t>(load->tensor.index) == input) {
      return !uses_axis(*load, map_->axes[0].id);
    }
  }
  return false;
}

std::vector<Scaling> CallScaling::along(size_t axis) const {
  std::vector<Scaling> found;
  if (map_ == nullptr || axis >= map_->axes.size() || computation_.inputs.size() > kMaxInputs) {
    return found;
  }
  std::vector<uint32_t> sets;
  for (uint32_t set = 1; set < (uint32_t{1} << computation_.inputs.size()); ++set) {
    sets.push_back(set);
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](uint32_t a, uint32_t b) { return std::popcount(a) < std::popcount(b); });
  std::vector<uint32_t> taken;
  for (uint32_t set : sets) {
    bool least = std::none_of(taken.begin(), taken.end(),
                              [&](uint32_t smaller) { return (smaller & set) == smaller; });
    if (!least) continue;
    std::optional<Scaling> one = scaling(set, axis);
    if (!one) continue;
    taken.push_back(set);
    found.push_back(std::move(*one));
  }
  return found;
}

std::optional<Scaling> CallScaling::scaling(uint32_t inputs, size_t axis) const {
  return Degrees(*map_, inputs, axis).run();
}

std::optional<InputAxis> CallScaling::exchange(InputAxis from) const {
  if (map_ == nullptr) return std::nullopt;
  std::optional<Product> product = summed_product(*map_);
  if (!product) return std::nullopt;
  const ScalarNode *here = product->lhs, *there = product->rhs;
  if (static_cast<size_t>(here->tensor.index) != from.input) std::swap(here, there);
  if (static_cast<size_t>(here->tensor.index) != from.input || from.dim >= here->args.size()) {
    return std::nullopt;
  }
  const ScalarNode& index = *here->args[from.dim];
  if (index.kind != ScalarKind::kIndex) return std::nullopt;
  Dim extent = computation_.inputs[from.input].dims[from.dim];
  auto other = static_cast<size_t>(there->tensor.index);
  for (size_t d = 0; d < there->args.size(); ++d) {
    const ScalarNode& at = *there->args[d];
    if (at.kind == ScalarKind::kIndex && at.axis == index.axis &&
        computation_.inputs[other].dims[d] == extent && is_weight(other)) {
      return InputAxis{other, d};
    }
  }
  return std::nullopt;
}

namespace {

ExprRef expanded(const ExprRef& data, int64_t axis, size_t count) {
  ExpandDimsAttrs attrs;
  attrs.axis.value = axis;
  attrs.num_newaxis = static_cast<int64_t>(count);
  return call_op("expand_dims", {data}, Attrs::make(attrs));
}

}  // namespace

ExprRef factor_vector(ExprRef factors, std::span<const Dim> dims, std::optional<int64_t> repeats) {
  if (dims.empty()) factors = expanded(factors, 0, 1);
  if (dims.size() > 1) {
    size_t kept = dims.size() - 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!dims[d].is_int(1)) kept = d;
    }
    SqueezeAttrs attrs;
    attrs.axis.emplace();
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d != kept) attrs.axis->push_back(static_cast<int64_t>(d));
    }
    factors = call_op("squeeze", {factors}, Attrs::make(attrs));
  }
  if (repeats && *repeats != 1) {
    RepeatAttrs attrs;
    attrs.repeats.value = *repeats;
    attrs.axis = 0;
    factors = call_op("repeat", {factors}, Attrs::make(attrs));
  }
  return factors;
}

ExprRef with_factors(const ExprRef& data, const ExprRef& factors, size_t behind, bool divide,
                     Span span) {
  ExprRef shaped = behind == 0 ? factors : expanded(factors, 1, behind);
  return call_op(divide ? "divide" : "multiply", {data, shaped}, {}, span);
}

}  // namespace relay
