// Annotations: the value itself, with something said about it; and the gradient of a function as a
// value.
#include <set>

#include <relay/op/annotation/annotation_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/gradient_call.h>
#include <relay/support/error.h>

namespace relay {
namespace {

// A tensor, or a tuple of tensors.
TypeRef infer_same(const RelationCall& call) {
  if (call.input(0)->is<TupleType>()) {
    call.tensors(0);
  } else {
    call.tensor(0);
  }
  return call.input(0);
}

// As infer_same; of no tensors there would be nothing to show.
TypeRef infer_shown(const RelationCall& call) {
  TypeRef type = infer_same(call);
  const auto* tuple = type->as<TupleType>();
  if (tuple != nullptr && tuple->fields().empty())
    call.fail("argument 1 must be a tensor or a tuple of at least one, found ()");
  return type;
}

ExprRef value_itself(const OpCall&, std::span<const ExprRef> args) { return args[0]; }

// The result's gradients are the argument's; integers have none.
std::vector<ExprRef> passed_on(const GradientCall& call) {
  if (!call.call.input(0)->is<TupleType>()) return {call.gradient()};
  std::vector<ExprRef> fields;
  for (size_t k = 0; k < call.gradients.size(); ++k) {
    ExprRef field = make_projection(call.args[0], static_cast<uint32_t>(k));
    fields.push_back(call.gradients[k] ? call.gradients[k] : call_op("zeros_like", {field}));
  }
  return {relay::make_tuple(fields)};
}

// The gradient passes; what it waits for has none.
std::vector<ExprRef> barrier_gradient(const GradientCall& call) { return {passed_on(call)[0], {}}; }

RELAY_OP("annotation.barrier")
    .doc(
        "The value itself, known only once another one is: what follows from it comes later, and "
        "is "
        "not merged with what follows from the value without a barrier. Gradients put it before "
        "what they compute again. No copy.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .input("after", "Tensor that must be there before.", tensor())
    .output("result", "The same as data.", any_value())
    .relation(infer_same)
    .column(stops_fusion(), true)
    .level(10)
    .compute([](const OpCall& call, te::Builder& b) {
      for (size_t k = 0; k < call.num_results(); ++k)
        b.output(b.reshape(b.input(k), call.result(k).dims));
    })
    .gradient(barrier_gradient)
    .example("fn (%x: Tensor[(3), float32], %y: float32) { exp(annotation.barrier(%x, %y)) }",
             "[0, 1, 2]", "1")
    .no_data("the value itself");

RELAY_OP("annotation.cast_hint")
    .doc("The value itself, which quantisation may keep in another dtype from here on.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<CastHintAttrs>()
    .relation(infer_same)
    .level(10)
    .expand(value_itself)
    .gradient(passed_on)
    .example("fn (%x: Tensor[(3), float32]) { annotation.cast_hint(%x, dtype=\"int8\") }",
             "[1, 2, 3]")
    .no_data("the value itself");

RELAY_OP("annotation.checkpoint")
    .doc(
        "The value itself, which a gradient keeps; what led to it since the checkpoint before is "
        "computed again instead. Loops between the two save some turns and run the others again.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<CheckpointAttrs>()
    .relation([](const RelationCall& call) -> TypeRef {
      const int64_t bytes = call.attrs<CheckpointAttrs>().bytes;
      call.require(bytes >= 0, "bytes must not be negative, found " + std::to_string(bytes));
      return infer_same(call);
    })
    .level(10)
    .expand(value_itself)
    .gradient(passed_on)
    .example("fn (%x: Tensor[(3), float32]) { exp(annotation.checkpoint(%x * 2f)) }", "[0, 1, 2]")
    .no_data("the value itself");

RELAY_OP("annotation.compiler_begin")
    .doc(
        "The value itself, where it goes into a region that a code generator compiles. "
        "AnnotateTarget writes "
        "it, MergeCompilerRegions and PartitionGraph read it.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<CompilerAttrs>()
    .relation(infer_same)
    .level(10)
    .expand(value_itself)
    .gradient(passed_on)
    .example("fn (%x: Tensor[(3), float32]) { annotation.compiler_begin(%x, compiler=\"dnnl\") }",
             "[1, 2, 3]")
    .no_data("the value itself");

RELAY_OP("annotation.compiler_end")
    .doc("The value itself, where it comes out of a region that a code generator compiles.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<CompilerAttrs>()
    .relation(infer_same)
    .level(10)
    .expand(value_itself)
    .gradient(passed_on)
    .example("fn (%x: Tensor[(3), float32]) { annotation.compiler_end(%x, compiler=\"dnnl\") }",
             "[1, 2, 3]")
    .no_data("the value itself");

RELAY_OP("annotation.stop_fusion")
    .doc("The value itself; operators before and behind it do not become one kernel. No copy.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .relation(infer_same)
    .column(stops_fusion(), true)
    .column(layout_rules(), LayoutRule::kFollows)
    .level(10)
    .compute([](const OpCall& call, te::Builder& b) {
      for (size_t k = 0; k < call.num_results(); ++k)
        b.output(b.reshape(b.input(k), call.result(k).dims));
    })
    .example("fn (%x: Tensor[(3), float32]) { exp(annotation.stop_fusion(%x * 2f)) }", "[0, 1, 2]")
    .no_data("the value itself");

RELAY_OP("debug")
    .doc(
        "The value itself, shown on standard error each time that the call runs: its dtype, shape "
        "and elements, abridged where they are many. An effect: passes neither drop, repeat, merge "
        "nor move such calls.")
    .input("program", "Tensor, or tuple of at least one.", any_value())
    .output("result", "The same.", any_value())
    .attrs<DebugAttrs>()
    .relation(infer_shown)
    .impure()
    .level(1)
    .column(costs(), cost_of_moving)
    .kernel("debug",
            [](const OpCall& call) -> KernelParams {
              return {{"label", call.attrs<DebugAttrs>().debug_func},
                      {"tuple", call.input(0)->is<TupleType>()}};
            })
    .gradient(passed_on)
    .example("fn (%x: Tensor[(3), float32]) { exp(debug(%x * 2f, debug_func=\"twice\")) }",
             "[0, 1, 2]")
    .no_data("the value itself");

RELAY_OP("memory.kill")
    .doc(
        "Says that a value is not needed from here on; gives the empty tuple. ManifestLifetimes "
        "writes such calls. They do nothing when a program runs, because the machine frees values "
        "by itself.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The empty tuple.", any_value())
    .relation([](const RelationCall& call) -> TypeRef {
      infer_same(call);
      return TupleType::make({});
    })
    .impure()
    .level(10)
    .expand([](const OpCall&, std::span<const ExprRef>) -> ExprRef {
      return relay::make_tuple(std::vector<ExprRef>());
    })
    .example("fn (%x: Tensor[(3), float32]) { let %y = exp(%x); let %u = memory.kill(%x); %y }",
             "[0, 1, 2]")
    .no_data("no value");

RELAY_OP("assert_op")
    .doc("The data; where the condition is false the run fails with a message.")
    .input("condition", "Has to be true.", tensor(kBool).rank(0))
    .input("data", "Tensor.", tensor('T'))
    .output("result", "The same elements.", tensor('T'))
    .attrs<AssertAttrs>()
    .relation([](const RelationCall& call) -> TypeRef {
      te::TensorInfo condition = call.tensor(0);
      call.require(condition.dtype == kBool && condition.rank() == 0,
                   "the condition must be a bool of rank 0");
      call.tensor(1);
      return call.input(1);
    })
    .column(stops_fusion(), true)
    .level(10)
    .column(costs(), cost_of_moving)
    .kernel("assert",
            [](const OpCall& call) -> KernelParams {
              return {{"message", call.attrs<AssertAttrs>().message}};
            })
    .gradient([](const GradientCall& call) -> std::vector<ExprRef> {
      return {ExprRef(), call.gradient()};
    })
    .example(
        "fn (%x: Tensor[(3), float32]) { assert_op(all(%x > 0f), exp(%x), message=\"x must be "
        "positive\") }",
        "[1, 2, 3]")
    .no_data("the value itself");

}  // namespace

// ---- Gradients of functions, which programs are rid of before they run ----------------------

std::vector<size_t> GradientCallAttrs::places(size_t params) const {
  std::vector<size_t> result;
  std::set<size_t> known;
  auto add = [&](int64_t place) {
    const auto count = static_cast<int64_t>(params);
    if (place < -count || place >= count)
      throw Error("argnums names parameter " + std::to_string(place) + " of a function with " +
                  std::to_string(params));
    const auto found = static_cast<size_t>(place < 0 ? place + count : place);
    if (!known.insert(found).second)
      throw Error("argnums names parameter " + std::to_string(found) + " twice");
    result.push_back(found);
  };
  if (const auto* list = argnums.get<AttrValue::List>()) {
    if (list->empty()) throw Error("argnums names no parameter");
    for (const AttrValue& item : *list) {
      if (item.get<int64_t>() == nullptr)
        throw Error("argnums is an integer or a list of integers");
      add(*item.get<int64_t>());
    }
  } else if (const auto* one = argnums.get<int64_t>()) {
    add(*one);
  } else {
    throw Error("argnums is an integer or a list of integers");
  }
  return result;
}

bool GradientCallAttrs::single() const { return argnums.get<AttrValue::List>() == nullptr; }

namespace {

const FuncType& function_of(const RelationCall& call) {
  const auto* function = call.input(0)->as<FuncType>();
  if (function == nullptr)
    call.fail("argument 1 must be a function, found " + call.input(0)->str());
  return *function;
}

TypeRef chosen_gradients(const RelationCall& call, std::span<const TypeRef> params) {
  const auto& attrs = call.attrs<GradientCallAttrs>();
  std::vector<TypeRef> gradients;
  try {
    for (size_t place : attrs.places(params.size())) gradients.push_back(params[place]);
  } catch (const Error& error) {
    call.fail(error.what());
  }
  return attrs.single() ? gradients[0] : TupleType::make(std::move(gradients));
}

TypeRef infer_gradient_call(const RelationCall& call, bool with_value) {
  const FuncType* function = &function_of(call);
  const auto* result = function->result()->as<TensorType>();
  if (result != nullptr && result->has_rank() && result->has_dtype())
    call.require(
        result->dims().empty() && result->dtype().is_float(),
        "a gradient is of a function that gives one number of a floating-point dtype; this "
        "one gives " +
            result->str());
  else if (result == nullptr)
    call.fail(
        "a gradient is of a function that gives one number of a floating-point dtype; this "
        "one gives " +
        function->result()->str());
  std::vector<TypeRef> params(function->params().begin(), function->params().end());
  TypeRef found = chosen_gradients(call, params);
  if (with_value) found = TupleType::make({function->result(), std::move(found)});
  return FuncType::make(std::move(params), std::move(found));
}

TypeRef infer_vjp_call(const RelationCall& call) {
  const FuncType& function = function_of(call);
  std::vector<TypeRef> params(function.params().begin(), function.params().end());
  TypeRef found = TupleType::make({function.result(), chosen_gradients(call, params)});
  params.push_back(function.result());
  return FuncType::make(std::move(params), std::move(found));
}

constexpr const char* kWhyNoGradient =
    "it is a function; take the gradient of a function that calls it";

RELAY_OP("grad")
    .doc(
        "The gradient of a function that gives one float: a function of the same parameters. The "
        "function is known when the program is compiled: a name, or a function that is written in "
        "the place or bound by a let.")
    .input("function", "Function of one number of floats.", any_value())
    .output("gradient", "Function: its result has the type of the parameter.", any_value())
    .attrs<GradientCallAttrs>()
    .relation([](const RelationCall& call) { return infer_gradient_call(call, false); })
    .no_gradient(kWhyNoGradient)
    .level(10)
    .intrinsic()
    .example(
        "fn (%x: Tensor[(3), float32]) { let %f = fn (%y: Tensor[(3), float32]) { sum(%y * %y) }; "
        "grad(%f)(%x) }",
        "[1, 2, 3]")
    .no_data("a function");

RELAY_OP("value_and_grad")
    .doc("Like grad, with the result `(value, gradient)`: the value is computed once.")
    .input("function", "Function of one number of floats.", any_value())
    .output("gradient", "Function: its result is the value and the gradient.", any_value())
    .attrs<GradientCallAttrs>()
    .relation([](const RelationCall& call) { return infer_gradient_call(call, true); })
    .no_gradient(kWhyNoGradient)
    .level(10)
    .intrinsic()
    .example(
        "fn (%x: float32) { let %f = fn (%a: float32, %b: float32) { %a * sin(%b) }; "
        "value_and_grad(%f, argnums=[0, 1])(%x, 1f) }",
        "2")
    .no_data("a function");

RELAY_OP("vjp")
    .doc(
        "Like value_and_grad, for a function of any result. The gradient takes the parameters and "
        "then a gradient of the result, which has the result's type.")
    .input("function", "Function whose result has floats.", any_value())
    .output("gradient", "Function: its result is the value and the gradient.", any_value())
    .attrs<GradientCallAttrs>()
    .relation(infer_vjp_call)
    .no_gradient(kWhyNoGradient)
    .level(10)
    .intrinsic()
    .example(
        "fn (%x: Tensor[(2), float32]) { let %f = fn (%y: Tensor[(2), float32]) { %y * %y }; "
        "vjp(%f)(%x, %x) }",
        "[1, 2]")
    .no_data("a function");

}  // namespace

ExprRef make_gradient_call(const ExprRef& function, const GradientCallForm& form) {
  const char* name = form.from_result ? "vjp" : form.with_value ? "value_and_grad" : "grad";
  const ExprRef args[] = {function};
  return make_call(make_op(get_op(name)), args, Attrs::make(form.attrs));
}

std::optional<GradientCallForm> gradient_call(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (callee == nullptr || call->args().size() != 1) return std::nullopt;
  const bool from_result = callee->op() == get_op("vjp");
  const bool with_value = from_result || callee->op() == get_op("value_and_grad");
  if (!with_value && callee->op() != get_op("grad")) return std::nullopt;
  const AttrsRef attrs = call->attrs();
  return GradientCallForm{attrs ? attrs->as<GradientCallAttrs>() : GradientCallAttrs(), with_value,
                          from_result};
}

}  // namespace relay
