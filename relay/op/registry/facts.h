// Facts about calls of operators that passes ask for: how they meet another layout, another scale
// of numbers, and what they cost. Each is derived from the declaration and from what the call
// computes; a column says it where that is not enough, as of library kernels.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// What becomes of a call when its inputs change layout, that is, when their axes change places.
///  - kFollows: any layout will do, that of all inputs (but scalars) and results.
///  - kBroadcasts: the same, once all inputs have the rank of the result.
///  - kNamed: attributes of kind layout name the layouts; give them others.
///  - kAxes: attributes of kind axis, axes, new-axis, per-axis name axes; say where they are now.
///    Axes that none names stay in their order.
///  - kFixed: places have a meaning; the inputs go back to what the call was written for.
RELAY_WORDS(LayoutRule, (kFollows, "follows", "works in any layout"),
            (kBroadcasts, "broadcasts",
             "works in any layout once all inputs have the rank of the result"),
            (kNamed, "named", "attributes name the layouts"),
            (kAxes, "axes", "attributes name the axes"),
            (kFixed, "fixed", "wants the layout it is written for"))

/// What becomes of a call when its numbers are quantised: integers that stand for
/// scale · (number - zero point).
///  - kKeeps: results have the scale and zero point of the inputs, which must be one's.
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

/// What a call costs, as terms over its extents; `?` where an extent is not known, and for the
/// operations of a library kernel whose operator declares no cost.
struct Cost {
  Dim operations = 0;  // arithmetic on values, not on positions: two for each multiply-add; at
                       // most so much, where the data decides
  Dim macs = 0;        // multiply-adds of two tensors' elements, as in convolutions
  Dim bytes = 0;       // of inputs that are read and results that are written, each once
};

/// The rule of a call. Throws nothing: what cannot be derived is kFixed.
LayoutRule layout_rule(const OpCall& call);
/// The rule of a call. Throws nothing: what cannot be derived is kFloats.
QuantisedRule quantised_rule(const OpCall& call);
/// The operator that does on quantised numbers what `op` does on floats: the one that says so in
/// `float_forms`, or `qnn.NAME` for `NAME` and `nn.NAME`; null for none.
const Operator* quantised_form(const Operator& op);
/// The cost of a call. Throws `Error` where the call does not fit.
Cost cost_of(const OpCall& call);

// Columns for what is not derived; they replace what would be. Plug-ins use them as well:
// `.column(costs(), [](const OpCall& call) { … })`.
using CostFn = std::function<Cost(const OpCall& call)>;
OpColumn<LayoutRule>& layout_rules();
OpColumn<QuantisedRule>& quantised_rules();
OpColumn<CostFn>& costs();
/// Of an operator on quantised numbers: the name of the operator on floats, where its own is
/// another.
OpColumn<std::string>& float_forms();

/// The part of a call's cost that does follow from its tensor expression: all but library kernels.
Cost cost_of_stages(const OpCall& call);
/// The cost of a kernel that takes `operations` and reads all inputs and writes all results.
Cost kernel_cost(const OpCall& call, Dim operations);
/// The cost of an operator that calculates nothing: it moves inputs to results.
Cost cost_of_moving(const OpCall& call);
/// The number of elements of input i.
Dim elements_of(const OpCall& call, size_t i = 0);
/// The binary logarithm, rounded up; `?` of what is no integer.
Dim log2_of(Dim count);
/// The cost of sorting input 0 along an axis.
Cost sort_cost(const OpCall& call, int64_t axis);

/// The calls that an operator defined by others becomes, in order; of any other, the call itself.
/// Throws `Error` where types inside cannot be told.
std::vector<OpCall> primitive_calls(const OpCall& call);

}  // namespace relay
