// The form of a call of floats on the integers that stand for them: the operators' part of
// FakeQuantizationToInteger.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// Integers q of a dtype that stand for the numbers scale · (q - zero_point). Scale and zero point
/// are scalars, or vectors along an axis of the tensor; scalars have no axis that matters.
struct Affine {
  ExprRef scale;       // float32
  ExprRef zero_point;  // int32
  DType dtype;
  int64_t axis = -1;
  bool vector = false;  // the scale or the zero point is one
  /// Integers of fewer bits, which operators get that do not take these; null where none hold the
  /// numbers.
  std::shared_ptr<const Affine> narrow = nullptr;
};
/// True if the same integers stand for the same numbers, as far as that is known.
bool same_affine(const Affine& a, const Affine& b);

/// A value, and what its tensors stand for: nothing for those that are no quantised numbers
/// (indices, conditions, constants of floats).
struct QuantisedValue {
  ExprRef expr;
  std::vector<std::optional<Affine>> tensors;  // one, or one for each field of a tuple
};

/// A call with its arguments on integers.
struct QuantisedCall {
  const OpCall& call;  // as the program has it, on floats
  std::span<const QuantisedValue> inputs;
  const Affine* result;  // what the numbers are to be in the end; null where nothing says it
  Span span = {};
};
struct QuantisedResult {
  QuantisedValue value;
  /// True if the scale was chosen by `QuantisedCall::result`. Then only calls may follow that keep
  /// the scale, since others would see numbers that it cannot hold.
  bool chosen = false;
};
/// Null if there is no such form for the call.
using IntegerFormFn = std::function<std::optional<QuantisedResult>(const QuantisedCall& call)>;

/// The form of a call: what is attached to its operator or declared with it, else what follows from
/// its rule for quantised numbers and its operator on them (relay/op/registry/facts.h). Throws
/// `Error` only where an attached function does.
std::optional<QuantisedResult> integer_form(const QuantisedCall& call);
/// The form by a function that takes what operators give: integers that have narrow ones are
/// requantized to these.
std::optional<QuantisedResult> with_narrow_inputs(const QuantisedCall& call,
                                                  const IntegerFormFn& form);
/// True if what the inputs' scales hold holds the results of the call.
bool keeps_scale(const OpCall& call);

/// A form that replaces what is derived.
OpColumn<IntegerFormFn>& integer_forms();
/// True for operators whose results are averages of elements: they are computed in int32 in steps
/// that are finer than those of the elements, so that they are rounded once, to the result's scale.
OpColumn<bool>& averages();
/// True for operators that are rewritten only if a caller names them, because much is lost.
OpColumn<bool>& optional_integer_forms();
/// For an operator on quantised numbers with a scale for each output channel of the weights: the
/// axis of the weights, and that of the result, for a call of it.
struct ChannelAxes {
  int64_t weight = 0;
  int64_t result = 0;
};
using ChannelAxesFn = std::function<std::optional<ChannelAxes>(const OpCall& call)>;
OpColumn<ChannelAxesFn>& channel_axes();

/// Forms of users, which come before all others. `optional` ones are asked only for operators that
/// a caller names. An empty function takes away what is there.
void attach_integer_form(const Operator* op, IntegerFormFn form, bool optional);
/// Empty if none is attached.
IntegerFormFn attached_integer_form(const Operator* op, bool optional);

// The parts of forms.

/// Integers of one scale as those of another one.
ExprRef requantized(const ExprRef& value, const Affine& from, const Affine& to, Span span);
/// Floats as integers.
ExprRef quantized_as(const ExprRef& value, const Affine& to, Span span);
/// The numbers that integers stand for, in float32.
ExprRef dequantized_from(const ExprRef& value, const Affine& from, Span span);
/// The affine of int32 for the integers times 2^bits; null for a zero point that int32 does not
/// hold then. Scale and zero point are scalars.
std::optional<Affine> finer(const Affine& affine, int bits);
/// The scale of products.
ExprRef product_of_scales(const ExprRef& a, const ExprRef& b);

}  // namespace relay
