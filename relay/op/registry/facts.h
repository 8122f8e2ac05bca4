// Facts about calls of operators that passes ask for: their behaviour in another layout, on another
// scale of numbers, and their cost. Each is derived from the declaration and from the call's
// computation; a column gives it if that is not enough, as for library kernels.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// The effect on a call of another layout of its inputs, that is, of axes that change places.
///  - kFollows: any layout will do, that of all inputs (but scalars) and results.
///  - kBroadcasts: the same, once all inputs have the rank of the result.
///  - kNamed: attributes of kind layout name the layouts; give them others.
///  - kAxes: attributes of kind axis, axes, new-axis, per-axis name axes; give the new numbers.
///    Axes that none names stay in their order.
///  - kFixed: places have a meaning; the inputs go back to the layout of the original call.
RELAY_WORDS(LayoutRule, (kFollows, "follows", "works in any layout"),
            (kBroadcasts, "broadcasts",
             "works in any layout once all inputs have the rank of the result"),
            (kNamed, "named", "attributes name the layouts"),
            (kAxes, "axes", "attributes name the axes"),
            (kFixed, "fixed", "wants the layout it is written for"))

/// The effect on a call of quantised numbers: integers that stand for
/// scale · (number - zero point).
///  - kKeeps: results have the scale and zero point of the inputs, which must be the same for all.
///  - kConstants: the same, if constants that it compares with or writes are quantised as well.
///  - kRequantises: works on integers, whose sums and products have another scale.
///  - kQuantised: takes or gives scales and zero points itself.
///  - kFloats: no such form; needs the numbers themselves.
RELAY_WORDS(QuantisedRule, (kKeeps, "keeps", "keeps scale and zero point"),
            (kConstants, "constants",
             "keeps scale and zero point if its constants are quantised too"),
            (kRequantises, "requantises", "sums and products, to be requantised"),
            (kQuantised, "quantised", "takes or gives scales and zero points itself"),
            (kFloats, "floats", "needs the numbers themselves"))

/// The cost of a call, as terms over its extents; `?` for extents that are not known, and for the
/// operations of a library kernel whose operator declares no cost.
struct Cost {
  Dim operations = 0;  // arithmetic on values, not on positions: two for each multiply-add; at
                       // most so much, where the data decides
  Dim macs = 0;        // multiply-adds of two tensors' elements, as in convolutions
  Dim bytes = 0;       // of inputs that are read and results that are written, each once
};

/// The rule of a call. Throws nothing: without a derivation it is kFixed.
LayoutRule layout_rule(const OpCall& call);
/// The rule of a call. Throws nothing: without a derivation it is kFloats.
QuantisedRule quantised_rule(const OpCall& call);
/// The operator that does on quantised numbers the work of `op` on floats: the one with its name in
/// `float_forms`, or `qnn.NAME` for `NAME` and `nn.NAME`; null for none.
const Operator* quantised_form(const Operator& op);
/// The cost of a call. Throws `Error` if the call does not fit.
Cost cost_of(const OpCall& call);

// Columns for facts that are not derived; they replace the derivation. Plug-ins use them as well:
// `.column(costs(), [](const OpCall& call) { … })`.
using CostFn = std::function<Cost(const OpCall& call)>;
OpColumn<LayoutRule>& layout_rules();
OpColumn<QuantisedRule>& quantised_rules();
OpColumn<CostFn>& costs();
/// For an operator on quantised numbers: the name of the operator on floats, if it differs from its
/// own.
OpColumn<std::string>& float_forms();

/// The part of a call's cost that follows from its tensor expression: all but library kernels.
Cost cost_of_stages(const OpCall& call);
/// The cost of a kernel with `operations` operations that reads all inputs and writes all results.
Cost kernel_cost(const OpCall& call, Dim operations);
/// The cost of an operator that calculates nothing: it moves inputs to results.
Cost cost_of_moving(const OpCall& call);
/// The number of elements of input i.
Dim elements_of(const OpCall& call, size_t i = 0);
/// The binary logarithm, rounded up; `?` if `count` is not an integer.
Dim log2_of(Dim count);
/// The cost of sorting input 0 along an axis.
Cost sort_cost(const OpCall& call, int64_t axis);

/// The calls that replace a call of an operator defined by others, in order; for any other
/// operator, the call itself. Throws `Error` if types inside cannot be determined.
std::vector<OpCall> primitive_calls(const OpCall& call);

}  // namespace relay
