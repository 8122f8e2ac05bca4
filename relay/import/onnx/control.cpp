// Loops and branches of the program that a model becomes.
#include <algorithm>

#include <relay/import/onnx/context.h>

namespace relay::onnx {
namespace {

// What both types are: extents that differ are `?`. Nothing if no tensor is both.
std::optional<TypeRef> joined(const TypeRef& a, const TypeRef& b) {
  if (a == b) return a;
  const auto* x = a->as<TensorType>();
  const auto* y = b->as<TensorType>();
  if (x == nullptr || y == nullptr || x->dtype() != y->dtype() ||
      x->dims().size() != y->dims().size()) {
    return std::nullopt;
  }
  std::vector<Dim> dims;
  for (size_t k = 0; k < x->dims().size(); ++k) {
    dims.push_back(x->dims()[k] == y->dims()[k] ? x->dims()[k] : Dim::any());
  }
  return TensorType::make(dims, x->dtype());
}

std::vector<TypeRef> types_of(const std::vector<GraphValue>& values) {
  std::vector<TypeRef> types;
  for (const GraphValue& value : values) types.push_back(value.type());
  return types;
}

// While it lives, conversion is inside of a loop.
struct Inside {
  Importer& importer;
  Inside(Importer& of, Importer::Loop& loop) : importer(of) { importer.enter_loop(loop); }
  ~Inside() { importer.leave_loop(); }
};

}  // namespace

std::vector<TypeRef> NodeContext::widened(const std::vector<TypeRef>& types,
                                          const std::vector<GraphValue>& next) const {
  std::vector<TypeRef> result;
  for (size_t k = 0; k < next.size(); ++k) {
    require(next[k].is_tensor(), "a loop's state is no tensor");
    std::optional<TypeRef> type = joined(types[k], next[k].type());
    if (!type) {
      fail("a round of the loop makes " + next[k].type()->str() + " of a state of type " +
           types[k]->str());
    }
    result.push_back(*type);
  }
  return result;
}

std::vector<GraphValue> NodeContext::try_round(const std::vector<TypeRef>& types,
                                               const LoopStep& step) {
  Block before, body;
  Importer::Loop frame{&before, {}};
  Inside inside(importer_, frame);
  std::vector<GraphValue> states;
  for (const TypeRef& type : types) {
    states.push_back(GraphValue::of(ExprRef(importer_.fresh_var("state", type)), type));
  }
  Scope scope{&scope_, &body, scope_.opsets, scope_.attributes, {}};
  NodeContext inner(importer_, scope, node_, opset_);
  return step(inner, states);
}

std::vector<GraphValue> NodeContext::loop(std::vector<GraphValue> first, const LoopTest& test,
                                          const LoopStep& step) {
  for (const GraphValue& value : first) require(value.is_tensor(), "a loop's state is no tensor");
  std::vector<TypeRef> types = types_of(first);
  std::vector<ExprRef> begin;
  for (const GraphValue& value : first) begin.push_back(importer_.expr(value));
  Importer::Loop frame{scope_.block, {}};
  // Each round of this widens an extent at least.
  for (;;) {
    VarRef self = importer_.fresh_var("loop", {});
    std::vector<VarRef> params;
    std::vector<GraphValue> states;
    for (const TypeRef& type : types) {
      params.push_back(importer_.fresh_var("state", type));
      states.push_back(GraphValue::of(ExprRef(params.back()), type));
    }
    Block head, body;
    Scope head_scope{&scope_, &head, scope_.opsets, scope_.attributes, {}};
    Scope body_scope{&scope_, &body, scope_.opsets, scope_.attributes, {}};
    NodeContext tester(importer_, head_scope, node_, opset_);
    NodeContext stepper(importer_, body_scope, node_, opset_);
    ExprRef goes_on;
    std::vector<GraphValue> next;
    std::vector<ExprRef> again;
    {
      Inside inside(importer_, frame);
      goes_on = importer_.expr(test(tester, states));
      next = step(stepper, states);
      for (const GraphValue& value : next) {
        require(value.is_tensor(), "a loop's state is no tensor");
        again.push_back(importer_.expr(value));
      }
    }
    RELAY_CHECK(next.size() == states.size(), "a loop's step gives as many states as it gets");
    std::vector<TypeRef> wider = widened(types, next);
    if (wider != types) {
      types = std::move(wider);
      continue;
    }
    Span span = importer_.span();
    std::vector<ExprRef> last;
    for (const VarRef& param : params) last.emplace_back(param);
    ExprRef round = body.close(make_call(ExprRef(self), again, {}, {}, span));
    ExprRef whole = make_if(goes_on, round, make_tuple(last, span), span);
    TypeRef result = TupleType::make(types);
    FunctionRef function =
        make_function(params, head.close(std::move(whole)), result, {}, {}, {}, span);
    scope_.block->bind(self, ExprRef(function));
    ExprRef call = make_call(ExprRef(self), begin, {}, {}, span);
    return fields(importer_.made(std::move(call), std::move(result)));
  }
}

std::vector<GraphValue> NodeContext::branch(const GraphValue& condition, const Graph& then_graph,
                                            const Graph& else_graph) {
  Body yes = body(then_graph, {}), no = body(else_graph, {});
  require(yes.outputs.size() == no.outputs.size(),
          "the branches have " + std::to_string(yes.outputs.size()) + " and " +
              std::to_string(no.outputs.size()) + " outputs");
  std::vector<TypeRef> types;
  for (size_t k = 0; k < yes.outputs.size(); ++k) {
    const GraphValue &a = yes.outputs[k], &b = no.outputs[k];
    require(a.is_tensor() && b.is_tensor(),
            "output " + std::to_string(k) + " of a branch is no tensor");
    std::optional<TypeRef> type = joined(a.type(), b.type());
    if (!type) {
      fail("output " + std::to_string(k) + " is " + a.type()->str() + " in one branch and " +
           b.type()->str() + " in the other");
    }
    types.push_back(*type);
  }
  Span span = importer_.span();
  auto close = [&](const Body& part) {
    std::vector<ExprRef> exprs;
    for (size_t k = 0; k < types.size(); ++k) {
      exprs.push_back(importer_.expr(part.outputs[k]));
      if (part.outputs[k].type() == types[k]) continue;
      // Extents by name and others have nothing in common; `?` is said of each.
      VarRef var = importer_.fresh_var("branch", types[k]);
      part.block->bind(var, exprs.back());
      exprs.back() = ExprRef(var);
    }
    return part.block->close(exprs.size() == 1 ? exprs[0] : make_tuple(exprs, span));
  };
  ExprRef choice = make_if(importer_.expr(condition), close(yes), close(no), span);
  if (types.size() == 1) return {importer_.made(std::move(choice), types[0])};
  return fields(importer_.made(std::move(choice), TupleType::make(std::move(types))));
}

}  // namespace relay::onnx
