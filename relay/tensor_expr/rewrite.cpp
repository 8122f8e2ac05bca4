#include <relay/tensor_expr/rewrite.h>

#include <map>

#include <relay/support/error.h>
#include <relay/tensor_expr/origin.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {

Ref<ScalarNode> new_node(ScalarKind kind, DType dtype) {
  auto node = make_ref<ScalarNode>(kind, dtype);
  node->origin = OriginScope::current();
  return node;
}

Ref<ScalarNode> copy_node(const ScalarNode& node) {
  Ref<ScalarNode> copy = new_node(node.kind, node.dtype);
  copy->unary = node.unary;
  copy->binary = node.binary;
  copy->bounds = node.bounds;
  copy->axis = node.axis;
  copy->id = node.id;
  copy->value = node.value;
  copy->dim = node.dim;
  copy->tensor = node.tensor;
  copy->fill = node.fill;
  copy->message = node.message;
  if (node.origin != 0) copy->origin = node.origin;
  copy->args = node.args;
  copy->axes = node.axes;
  copy->combiner = node.combiner;
  return copy;
}

ScalarRef with_args(const ScalarRef& node, std::vector<ScalarRef> args) {
  if (args == node->args) return node;
  const OriginScope scope(node->origin);
  switch (node->kind) {
    case ScalarKind::kUnary:
      return unary(node->unary, args[0]).ref();
    case ScalarKind::kBinary:
      return binary(node->binary, args[0], args[1]).ref();
    case ScalarKind::kCast:
      return cast(args[0], node->dtype).ref();
    case ScalarKind::kSelect:
      return select(args[0], args[1], args[2]).ref();
    case ScalarKind::kFail:
      if (args[0]->kind == ScalarKind::kConst && args[0]->value.i != 0) return args[1];
      [[fallthrough]];
    default: {
      Ref<ScalarNode> copy = copy_node(*node);
      copy->args = std::move(args);
      return copy;
    }
  }
}

ScalarRef ScalarRewriter::operator()(const ScalarRef& root) {
  struct Frame {
    const ScalarRef* node;  // the root, or an operand of one that the root keeps alive
    size_t next = 0;
  };
  if (const auto* done = done_.find(root.get())) return done->second;
  std::vector<Frame> stack{{&root}};
  std::vector<ScalarRef> args;
  while (true) {
    Frame& frame = stack.back();
    const ScalarRef& node = *frame.node;
    if (frame.next < node->args.size()) {
      const ScalarRef& arg = node->args[frame.next++];
      if (!done_.contains(arg.get())) stack.push_back({&arg});
      continue;
    }
    stack.pop_back();
    if (!done_.contains(node.get())) {
      args.clear();
      for (const ScalarRef& arg : node->args) args.push_back(done_.at(arg.get()).second);
      const OriginScope scope(node->origin);
      ScalarRef result = fn_(node, args);
      if (result.get() == nullptr)
        result = args == node->args ? node : with_args(node, std::move(args));
      done_[node.get()] = {node, std::move(result)};
    }
    if (stack.empty()) return done_.at(root.get()).second;
  }
}

std::vector<ScalarRef> ScalarRewriter::operator()(std::span<const ScalarRef> roots) {
  std::vector<ScalarRef> results;
  results.reserve(roots.size());
  for (const ScalarRef& root : roots) results.push_back((*this)(root));
  return results;
}

std::vector<ScalarRef> share_equal(std::span<const ScalarRef> roots) {
  // Operands are shared before, so nodes are equal if these are the same objects.
  auto key_of = [](const ScalarNode& node) {
    std::vector<uint64_t> key;
    auto add = [&](auto... parts) { (key.push_back(static_cast<uint64_t>(parts)), ...); };
    add(node.kind, node.dtype.code, node.dtype.bits, node.unary, node.binary, node.bounds);
    add(node.axis, node.id, node.value.u, node.dim.bits(), node.tensor.stage, node.tensor.index);
    add(node.origin, node.fill.get() == nullptr ? 0 : node.fill->value.u);
    for (const ScalarRef& arg : node.args) add(reinterpret_cast<uintptr_t>(arg.get()));
    return key;
  };
  std::map<std::vector<uint64_t>, ScalarRef> known;
  ScalarRewriter share([&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
    const ScalarRef now = args == node->args ? node : with_args(node, args);
    if (now->kind == ScalarKind::kFold || now->kind == ScalarKind::kFail || !now->message.empty())
      return now;
    return known.emplace(key_of(*now), now).first->second;
  });
  return share(roots);
}

ScalarRef moved_load(const ScalarRef& node, const std::vector<ScalarRef>& args,
                     const MovedTensor& moved) {
  if (node->kind != ScalarKind::kLoad) return {};
  TensorId tensor = moved(node->tensor);
  if (tensor == node->tensor) return {};
  Ref<ScalarNode> copy = copy_node(*node);
  copy->tensor = tensor;
  copy->args = args;
  return copy;
}

ScalarRewriter moved_loads(MovedTensor moved) {
  return ScalarRewriter(
      [moved = std::move(moved)](const ScalarRef& node, const std::vector<ScalarRef>& args) {
        return moved_load(node, args, moved);
      });
}

ScalarRef substitute(const ScalarRef& root, const std::unordered_map<uint32_t, ScalarRef>& axes,
                     const std::unordered_map<uint32_t, ScalarRef>& vars) {
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
    if (node->kind == ScalarKind::kIndex) {
      auto found = axes.find(node->axis);
      if (found != axes.end()) return found->second;
    } else if (node->kind == ScalarKind::kVar) {
      auto found = vars.find(node->id);
      if (found != vars.end()) return found->second;
    }
    return {};
  });
  return rewrite(root);
}

std::shared_ptr<const Combiner> renumber_vars(const Combiner& combiner,
                                              const std::function<uint32_t(uint32_t)>& var) {
  auto result = std::make_shared<Combiner>(combiner);
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
    if (node->kind != ScalarKind::kVar) return {};
    return placeholder(var(node->id), node->dtype).ref();
  });
  result->lhs = rewrite(combiner.lhs);
  result->rhs = rewrite(combiner.rhs);
  result->result = rewrite(combiner.result);
  return result;
}

void rewrite_roots(Stage& stage, const std::function<ScalarRef(const ScalarRef&)>& rewrite) {
  auto each = [&](std::vector<ScalarRef>& roots) {
    for (ScalarRef& root : roots) root = rewrite(root);
  };
  if (auto* map = std::get_if<Map>(&stage.body)) {
    each(map->values);
  } else if (auto* scan = std::get_if<Scan>(&stage.body)) {
    each(scan->init);
    each(scan->step);
  } else if (auto* update = std::get_if<Update>(&stage.body)) {
    each(update->at);
    update->value = rewrite(update->value);
  }
}

ScalarRef combiner_identity(const Combiner& combiner, size_t k, DType dtype) {
  auto number = [&](int value) {
    return dtype.is_float() ? constant(static_cast<double>(value), dtype).ref()
                            : constant(value, dtype).ref();
  };
  switch (combiner.kind) {
    case Combiner::Kind::kSum:
    case Combiner::Kind::kOr:
      return number(0);
    case Combiner::Kind::kProd:
    case Combiner::Kind::kAnd:
      return number(1);
    case Combiner::Kind::kMax:
      return lowest(dtype).ref();
    case Combiner::Kind::kMin:
      return highest(dtype).ref();
    case Combiner::Kind::kCustom:
      return combiner.identity[k];
  }
  RELAY_UNREACHABLE("unknown combiner");
}

std::vector<ScalarRef> combine(const Combiner& combiner, std::span<const ScalarRef> lhs,
                               std::span<const ScalarRef> rhs) {
  auto join = [&](BinaryOp op) { return std::vector<ScalarRef>{binary(op, lhs[0], rhs[0]).ref()}; };
  switch (combiner.kind) {
    case Combiner::Kind::kSum:
      return join(BinaryOp::kAdd);
    case Combiner::Kind::kProd:
      return join(BinaryOp::kMul);
    case Combiner::Kind::kMax:
      return join(BinaryOp::kMax);
    case Combiner::Kind::kMin:
      return join(BinaryOp::kMin);
    case Combiner::Kind::kAnd:
      return join(BinaryOp::kAnd);
    case Combiner::Kind::kOr:
      return join(BinaryOp::kOr);
    case Combiner::Kind::kCustom:
      break;
  }
  std::unordered_map<uint32_t, ScalarRef> vars;
  for (size_t k = 0; k < lhs.size(); ++k) {
    vars.emplace(combiner.lhs[k]->id, lhs[k]);
    vars.emplace(combiner.rhs[k]->id, rhs[k]);
  }
  std::vector<ScalarRef> results;
  for (const ScalarRef& result : combiner.result) results.push_back(substitute(result, {}, vars));
  return results;
}

size_t num_accumulators(const ScalarNode& fold) {
  return fold.combiner->kind == Combiner::Kind::kCustom ? fold.combiner->lhs.size() : 1;
}

}  // namespace relay::te
