// Annotations: the value itself, with something said about it.
#include <relay/op/annotation/annotation_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient.h>

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
        "computed again instead.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .relation(infer_same)
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

}  // namespace relay
