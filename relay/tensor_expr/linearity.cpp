#include <relay/tensor_expr/linearity.h>

#include <algorithm>
#include <unordered_map>

#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

bool is_free(Dependence d) { return d == Dependence::kZero || d == Dependence::kNone; }

/// One of two values, or their sum.
Dependence joined(Dependence a, Dependence b) {
  if (a == b) return a;
  if (a == Dependence::kOther || b == Dependence::kOther) return Dependence::kOther;
  if (a == Dependence::kZero) return b;
  return b == Dependence::kZero ? a : Dependence::kOther;
}

class Walk {
 public:
  Walk(const Computation& computation, const std::vector<bool>& inputs) : c_(computation) {
    for (const bool chosen : inputs)
      inputs_.push_back(chosen ? Dependence::kLinear : Dependence::kNone);
    for (const Stage& stage : c_.stages) {
      stages_.emplace_back();
      std::vector<Dependence> found =
          std::visit([&](const auto& body) { return of(body, stage); }, stage.body);
      stages_.back() = std::move(found);
    }
  }
  Dependence of(TensorId id) const {
    const auto index = static_cast<size_t>(id.index);
    return id.is_input() ? inputs_[index] : stages_[static_cast<size_t>(id.stage)][index];
  }

 private:
  std::vector<Dependence> of(const Map& map, const Stage&) { return of(map.values); }

  std::vector<Dependence> of(const Scan& scan, const Stage&) {
    std::vector<Dependence> carried = of(scan.init);
    for (bool more = true; more;) {
      more = false;
      for (size_t k = 0; k < carried.size(); ++k) vars_[scan.carries[k]->id] = carried[k];
      const std::vector<Dependence> next = of(scan.step);
      for (size_t k = 0; k < carried.size(); ++k) {
        const Dependence both = joined(carried[k], next[k]);
        more = more || both != carried[k];
        carried[k] = both;
      }
    }
    return carried;
  }

  std::vector<Dependence> of(const Update& update, const Stage&) {
    const std::vector<Dependence> at = of(update.at);
    const Dependence value = of({&update.value, 1})[0], base = of(update.base);
    if (!std::all_of(at.begin(), at.end(), is_free)) return {Dependence::kOther};
    const bool adds = !update.combiner || update.combiner->kind == Combiner::Kind::kSum;
    if (adds) return {joined(value, base)};
    return {is_free(value) && is_free(base) ? Dependence::kNone : Dependence::kOther};
  }

  std::vector<Dependence> of(const View& view, const Stage&) { return {of(view.source)}; }

  std::vector<Dependence> of(const Library& library, const Stage& stage) {
    const bool none = std::all_of(library.inputs.begin(), library.inputs.end(),
                                  [&](TensorId id) { return is_free(of(id)); });
    return {stage.outputs.size(), none ? Dependence::kNone : Dependence::kOther};
  }

  std::vector<Dependence> of(std::span<const ScalarRef> roots) {
    std::unordered_map<const ScalarNode*, Dependence> found;
    for (const ScalarNode* node : post_order(roots)) found[node] = of(*node, found);
    std::vector<Dependence> result;
    for (const ScalarRef& root : roots) result.push_back(found.at(root.get()));
    return result;
  }

  using Found = std::unordered_map<const ScalarNode*, Dependence>;
  Dependence of(const ScalarNode& node, const Found& found) const {
    auto arg = [&](size_t i) { return found.at(node.args[i].get()); };
    const bool free = std::all_of(node.args.begin(), node.args.end(), [&](const ScalarRef& one) {
      return is_free(found.at(one.get()));
    });
    const Dependence otherwise = free ? Dependence::kNone : Dependence::kOther;
    switch (node.kind) {
      case ScalarKind::kConst:
        return node.dtype.is_float() && node.value.f == 0 ? Dependence::kZero : Dependence::kNone;
      case ScalarKind::kVar: {
        auto var = vars_.find(node.id);
        return var == vars_.end() ? Dependence::kOther : var->second;
      }
      case ScalarKind::kUnary:
        return node.unary == UnaryOp::kNeg ? arg(0) : otherwise;
      case ScalarKind::kBinary:
        return of_binary(node.binary, arg(0), arg(1), otherwise);
      case ScalarKind::kCast: {
        const bool real = node.dtype.is_float() && node.args[0]->dtype.is_float();
        return real ? arg(0) : otherwise;
      }
      case ScalarKind::kLoad: {
        if (!free) return Dependence::kOther;
        const Dependence tensor = of(node.tensor);
        if (node.bounds != Bounds::kFill) return tensor;
        const bool zero = node.fill->kind == ScalarKind::kConst && node.fill->value.f == 0;
        return joined(tensor, zero ? Dependence::kZero : Dependence::kNone);
      }
      case ScalarKind::kSelect:
        return is_free(arg(0)) ? joined(arg(1), arg(2)) : Dependence::kOther;
      case ScalarKind::kFail:
        return is_free(arg(0)) ? arg(1) : Dependence::kOther;
      case ScalarKind::kFold: {
        if (node.combiner->kind != Combiner::Kind::kSum) return otherwise;
        return node.args.size() == 1 || is_free(arg(1)) ? arg(0) : Dependence::kOther;
      }
      case ScalarKind::kGet:
        return arg(0);
      default:
        return otherwise;
    }
  }

  static Dependence of_binary(BinaryOp op, Dependence a, Dependence b, Dependence otherwise) {
    switch (op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        return joined(a, b);
      case BinaryOp::kMul:
        if (a == Dependence::kLinear && is_free(b)) return a;
        return b == Dependence::kLinear && is_free(a) ? b : otherwise;
      case BinaryOp::kDiv:
        return a == Dependence::kLinear && is_free(b) ? a : otherwise;
      default:
        return otherwise;
    }
  }

  const Computation& c_;
  std::vector<Dependence> inputs_;
  std::vector<std::vector<Dependence>> stages_;
  std::unordered_map<uint32_t, Dependence> vars_;  // what scans carry
};

}  // namespace

std::vector<Dependence> dependence_on(const Computation& computation,
                                      const std::vector<bool>& inputs) {
  const Walk walk(computation, inputs);
  std::vector<Dependence> found;
  for (const Output& output : computation.outputs) found.push_back(walk.of(output.tensor));
  return found;
}

bool is_pointwise_in(const Computation& computation, const std::vector<bool>& inputs) {
  const Map* first = nullptr;
  for (const Stage& stage : computation.stages) {
    const auto* map = std::get_if<Map>(&stage.body);
    if (map == nullptr) return false;
    if (first == nullptr) first = map;
    if (map->axes.size() != first->axes.size()) return false;
    for (size_t d = 0; d < map->axes.size(); ++d) {
      if (!(map->axes[d].extent == first->axes[d].extent)) return false;
    }
    for (const ScalarNode* node : post_order(map->values)) {
      if (node->kind == ScalarKind::kFold) return false;
      if (node->kind != ScalarKind::kLoad) continue;
      if (node->tensor.is_input() && !inputs[static_cast<size_t>(node->tensor.index)]) continue;
      const TensorInfo& info = computation.info(node->tensor);
      if (info.rank() != map->axes.size()) return false;
      for (size_t d = 0; d < info.rank(); ++d) {
        const ScalarNode& at = *node->args[d];
        const bool own = at.kind == ScalarKind::kIndex && at.axis == map->axes[d].id;
        if (!own || !(info.dims[d] == map->axes[d].extent)) return false;
      }
    }
  }
  return std::ranges::none_of(computation.outputs,
                              [](const Output& output) { return output.tensor.is_input(); });
}

}  // namespace relay::te
