// How layouts flow through a call: what it becomes on operands whose axes have changed places.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// How a tensor is stored. `axes` has a capital letter for each axis that the tensor has in the
/// program, `stored` is the layout of the same letters in which it is kept: `NCHW` and `NHWC`, or
/// `NCHW8c`. Both are empty, or equal, for a tensor that is kept as the program has it.
struct Arrangement {
  std::string axes;
  std::string stored;
  bool moved() const { return axes != stored; }
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};
/// Those of the tensors in a value: one, or one for each field of a tuple.
using Arrangements = std::vector<Arrangement>;

/// The type of a tensor that is stored so; axes of extent 1 in front are added if the letters are
/// more than its rank. Throws `Error` if a block does not divide an extent.
TypeRef arranged_type(const TypeRef& type, const Arrangement& arrangement);

/// A call in another layout: its attributes, how it wants its inputs and gives its results.
struct CallFlow {
  AttrsRef attrs;
  std::vector<Arrangements> inputs;
  Arrangements results;
};

/// The call on inputs that are stored as `offered` says, by its layout rule
/// (relay/op/registry/facts.h). Inputs may be asked for in another arrangement. Nothing if the call
/// has to stay as it is. What is given has been checked against the operator's relation.
std::optional<CallFlow> follow_layouts(const OpCall& call, std::span<const Arrangements> offered);

/// The call with layouts of its operands given by name: those of its attributes of kind layout, in
/// order of declaration; "default" or an empty text leaves the choice to the operator. Nothing if
/// the operator has none, or cannot work so. Throws `Error` for texts that are no layouts.
std::optional<CallFlow> choose_layouts(const OpCall& call, std::span<const std::string> wanted);

/// The layouts that attributes give to a call's operands: by input (empty for those that no
/// attribute speaks of), and to its result.
struct OperandLayouts {
  std::vector<std::string> inputs;
  std::string result;
};
/// Nothing if the operator has no attributes of kind layout.
std::optional<OperandLayouts> operand_layouts(const Operator& op, const AttrsRef& attrs,
                                              size_t num_inputs);

/// The inputs that each attribute of kind layout speaks of, in order of declaration; an empty list
/// is the result. By default the first speaks of input 0, one that is empty by default of the
/// result, and others of the next inputs, or of the result if no input is left.
OpColumn<std::vector<std::vector<size_t>>>& layout_operands();
/// The layout of the weights that goes with one of the data, if it is asked for as "default".
/// Throws `Error` if it has none.
using WeightLayoutFn = std::string (*)(const OpCall& call, const std::string& data_layout);
OpColumn<WeightLayoutFn>& weight_layouts();
/// The attributes of a call with those axes written out that it leaves to a default which depends
/// on their order, as `transpose` does.
using SpellAxesFn = AttrsRef (*)(const OpCall& call);
OpColumn<SpellAxesFn>& spelled_axes();
/// Attributes whose axes have got new numbers, as a person would write them for a tensor of a rank:
/// without axes where all are named.
using OrderAxesFn = AttrsRef (*)(const AttrsRef& attrs, size_t rank);
OpColumn<OrderAxesFn>& ordered_axes();

/// The calls that passes write: a tensor in another layout, and one with axes of extent 1 in front.
ExprRef make_layout_transform(const ExprRef& data, const std::string& from, const std::string& to,
                              Span span);
ExprRef make_leading_axes(const ExprRef& data, size_t count, Span span);

}  // namespace relay
