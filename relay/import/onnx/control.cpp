// Loops of the program that a model becomes.
#include <algorithm>

#include <relay/import/onnx/context.h>

namespace relay::onnx {
namespace {

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
    states.push_back(importer_.parameter(importer_.fresh_var("state", type), type));
  }
  Scope scope = scope_.inside(body);
  NodeContext inner(importer_, scope, node_, opset_);
  return step(inner, states);
}

std::vector<GraphValue> NodeContext::loop(std::vector<GraphValue> first, const LoopTest& test,
                                          const LoopStep& step) {
  for (const GraphValue& value : first) {
    require(value.is_tensor(), "a loop's state is no tensor");
    require(!value.is_text(), "a loop's state has strings");
  }
  std::vector<TypeRef> types = types_of(first);
  std::vector<ExprRef> begin;
  for (const GraphValue& value : first) begin.push_back(importer_.expr(value));
  Importer::Loop frame{scope_.block, {}};
  // Each round of this widens an extent at least.
  for (;;) {
    VarRef self = importer_.fresh_var("loop", {});
    std::vector<VarRef> params;
    std::vector<GraphValue> states;
    for (const TypeRef& type : types) params.push_back(importer_.fresh_var("state", type));
    Block head, body;
    Scope head_scope = scope_.inside(head);
    Scope body_scope = scope_.inside(body);
    NodeContext tester(importer_, head_scope, node_, opset_);
    NodeContext stepper(importer_, body_scope, node_, opset_);
    ExprRef goes_on;
    std::vector<GraphValue> next;
    std::vector<ExprRef> again;
    {
      Inside inside(importer_, frame);
      for (size_t k = 0; k < types.size(); ++k) {
        states.push_back(importer_.parameter(params[k], types[k]));
      }
      goes_on = importer_.expr(test(tester, states));
      next = step(stepper, states);
      for (const GraphValue& value : next) {
        require(value.is_tensor(), "a loop's state is no tensor");
        require(!value.is_text(), "a loop's state has strings");
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
    FunctionRef function = make_function(params, head.close(std::move(whole)),
                                         importer_.published(result), {}, {}, {}, span);
    scope_.block->bind(self, ExprRef(function));
    ExprRef call = make_call(ExprRef(self), begin, {}, {}, span);
    return fields(importer_.made(std::move(call), std::move(result)));
  }
}

}  // namespace relay::onnx
