// Annotations: the value itself, with something said about it.
#include <relay/op/annotation/annotation_attrs.h>
#include <relay/op/columns.h>
#include <relay/op/facts.h>
#include <relay/op/op.h>

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

ExprRef value_itself(const OpCall&, std::span<const ExprRef> args) { return args[0]; }

RELAY_OP("annotation.cast_hint")
    .doc("The value itself, which quantisation may keep in another dtype from here on.")
    .input("data", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<CastHintAttrs>()
    .relation(infer_same)
    .level(10)
    .expand(value_itself)
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
    .example("fn (%x: Tensor[(3), float32]) { exp(annotation.checkpoint(%x * 2f)) }", "[0, 1, 2]")
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

}  // namespace
}  // namespace relay
