#include <relay/op/registry/layout_flow.h>

#include <algorithm>

#include <relay/op/registry/axis_flow.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/layout.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/op/shape/window_attrs.h>
#include <relay/support/error.h>

namespace relay {

OpColumn<std::vector<std::vector<size_t>>>& layout_operands() {
  static auto* column = new OpColumn<std::vector<std::vector<size_t>>>("layout_operands");
  return *column;
}
OpColumn<WeightLayoutFn>& weight_layouts() {
  static auto* column = new OpColumn<WeightLayoutFn>("weight_layout");
  return *column;
}
OpColumn<OrderAxesFn>& ordered_axes() {
  static auto* column = new OpColumn<OrderAxesFn>("ordered_axes");
  return *column;
}

OpColumn<SpellAxesFn>& spelled_axes() {
  static auto* column = new OpColumn<SpellAxesFn>("spelled_axes");
  return *column;
}

ExprRef make_layout_transform(const ExprRef& data, const std::string& from, const std::string& to,
                              Span span) {
  const ExprRef args[] = {data};
  LayoutTransformAttrs attrs;
  attrs.src_layout.value = from;
  attrs.dst_layout.value = to;
  return make_call(make_op(get_op("layout_transform")), args, Attrs::make(attrs), {}, span);
}

ExprRef make_leading_axes(const ExprRef& data, size_t count, Span span) {
  const ExprRef args[] = {data};
  ExpandDimsAttrs attrs;
  attrs.axis.value = 0;
  attrs.num_newaxis = static_cast<int64_t>(count);
  return make_call(make_op(get_op("expand_dims")), args, Attrs::make(attrs), {}, span);
}

TypeRef arranged_type(const TypeRef& type, const Arrangement& arrangement) {
  if (!arrangement.moved()) return type;
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) throw Error("a tensor of unknown rank");
  const std::string& axes = arrangement.axes;
  const size_t rank = tensor->dims().size();
  if (rank > axes.size()) throw Error("a tensor of more axes than layout " + axes + " has");
  const size_t missing = axes.size() - rank;
  Layout layout = Layout::parse(arrangement.stored, axes, "layout");
  std::vector<Dim> dims = layout.dims([&](char axis) -> Dim {
    const size_t place = axes.find(axis);
    return place < missing ? Dim(1) : tensor->dims()[place - missing];
  });
  return TensorType::make(std::move(dims), tensor->dtype());
}

namespace {

std::vector<TypeRef> stored_tensors(const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return {type};
  return {tuple->fields().begin(), tuple->fields().end()};
}

TypeRef arranged_value(const TypeRef& type, const Arrangements& arrangements) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return arranged_type(type, arrangements.at(0));
  std::vector<TypeRef> fields;
  for (size_t i = 0; i < tuple->fields().size(); ++i)
    fields.push_back(arranged_type(tuple->fields()[i], arrangements.at(i)));
  return TupleType::make(std::move(fields));
}

Arrangements unmoved(const TypeRef& type) { return Arrangements(stored_tensors(type).size()); }

size_t stored_rank(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) throw Error("a tensor of unknown rank");
  return tensor->dims().size();
}

/// The flow if the operator's relation says the same of it.
std::optional<CallFlow> checked(const OpCall& call, CallFlow flow) {
  std::vector<TypeRef> types;
  for (size_t i = 0; i < call.num_inputs(); ++i)
    types.push_back(arranged_value(call.input(i), flow.inputs[i]));
  TypeRef result = infer_call_type(call.op(), types, flow.attrs);
  if (!result || result != arranged_value(call.output(), flow.results)) return std::nullopt;
  return flow;
}

/// A layout with blocks of 1 on the axes of extent 1, along which the tensor broadcasts.
Arrangement fitted(const Arrangement& to, const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  const size_t missing = to.axes.size() - tensor->dims().size();
  Arrangement result{to.axes, {}};
  std::string number;
  for (char c : to.stored) {
    if (c >= '0' && c <= '9') {
      number += c;
      continue;
    }
    if (!number.empty()) {
      const size_t place = to.axes.find(static_cast<char>(c - 'a' + 'A'));
      const bool one = place < missing || tensor->dims()[place - missing].is_int(1);
      result.stored += one ? "1" : number;
      number.clear();
    }
    result.stored += c;
  }
  return result;
}

bool is_one_element(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && std::all_of(tensor->dims().begin(), tensor->dims().end(),
                                          [](Dim dim) { return dim.is_int(1); });
}

/// Elementwise work: all tensors take the layout of the first that has another one and all axes.
std::optional<CallFlow> flow_elementwise(const OpCall& call,
                                         std::span<const Arrangements> offered) {
  size_t rank = 0;
  for (const TypeRef& result : stored_tensors(call.output()))
    rank = std::max(rank, stored_rank(result));
  const Arrangement* target = nullptr;
  for (const Arrangements& input : offered) {
    for (const Arrangement& one : input) {
      if (target == nullptr && one.moved() && one.axes.size() == rank) target = &one;
    }
  }
  if (target == nullptr) return std::nullopt;
  CallFlow flow{call.attrs_ref(), {}, {}};
  auto place = [&](const TypeRef& type) {
    return stored_rank(type) == 0 ? Arrangement() : fitted(*target, type);
  };
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    flow.inputs.emplace_back();
    // One element is what it is in every layout.
    const bool one = is_one_element(call.input(i)) && !offered[i].at(0).moved();
    for (const TypeRef& type : stored_tensors(call.input(i)))
      flow.inputs.back().push_back(one ? Arrangement() : place(type));
  }
  for (const TypeRef& type : stored_tensors(call.output())) {
    if (stored_rank(type) != rank) return std::nullopt;
    flow.results.push_back(place(type));
  }
  return checked(call, std::move(flow));
}

// ---- Attributes that name layouts -------------------------------------------------------------

/// The layouts of a call's operands with the attributes that give them.
struct NamedLayouts {
  std::vector<NamedAttr> attrs;
  std::vector<size_t> fields;                 // of kind layout
  std::vector<std::vector<size_t>> operands;  // of each

  std::string& text(size_t k) { return std::get<std::string>(attrs[fields[k]].value.data); }
  bool of_result(size_t k) const { return operands[k].empty(); }
};

std::optional<NamedLayouts> named_layouts(const Operator& op, const AttrsRef& attrs,
                                          size_t num_inputs) {
  const AttrsSchema* schema = op.attrs_schema();
  if (schema == nullptr || !attrs) return std::nullopt;
  NamedLayouts named;
  named.attrs = attrs->fields(false);
  const auto* declared = layout_operands().find(&op);
  size_t next = 0;
  for (size_t i = 0; i < schema->fields.size(); ++i) {
    if (schema->fields[i].kind != AttrKind::kLayout) continue;
    if (named.attrs[i].value.get<std::string>() == nullptr) return std::nullopt;
    const size_t k = named.fields.size();
    named.fields.push_back(i);
    if (declared != nullptr) {
      if (k >= declared->size()) return std::nullopt;
      named.operands.push_back((*declared)[k]);
      continue;
    }
    const AttrValue standard = schema->fields[i].required ? AttrValue() : schema->defaults(i);
    const bool result = standard == AttrValue(std::string()) || next >= num_inputs;
    named.operands.push_back(result ? std::vector<size_t>() : std::vector<size_t>{next++});
  }
  if (named.fields.empty()) return std::nullopt;
  return named;
}

bool is_plain_layout(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

OperandLayouts operands_of(NamedLayouts& named, size_t num_inputs) {
  OperandLayouts layouts{std::vector<std::string>(num_inputs), {}};
  for (size_t k = 0; k < named.fields.size(); ++k) {
    if (named.of_result(k)) layouts.result = named.text(k);
    for (size_t input : named.operands[k]) layouts.inputs.at(input) = named.text(k);
  }
  if (layouts.result.empty() && num_inputs > 0) layouts.result = layouts.inputs[0];
  return layouts;
}

/// The arrangement of a tensor that an attribute gave one layout and gives another one now.
Arrangement between(const TypeRef& type, const std::string& before, const std::string& after) {
  if (before == after) return {};
  if (!is_plain_layout(before) || stored_rank(type) != before.size())
    throw Error("layout " + before + " has blocks");
  return {before, after};
}

std::optional<CallFlow> named_flow(const OpCall& call, NamedLayouts before, NamedLayouts after) {
  const OperandLayouts old = operands_of(before, call.num_inputs());
  const OperandLayouts now = operands_of(after, call.num_inputs());
  CallFlow flow{Attrs::make(*call.op()->attrs_schema(), after.attrs, Span()), {}, {}};
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    flow.inputs.push_back(unmoved(call.input(i)));
    if (old.inputs[i] == now.inputs[i]) continue;
    if (flow.inputs.back().size() != 1) return std::nullopt;
    flow.inputs.back()[0] = between(call.input(i), old.inputs[i], now.inputs[i]);
  }
  flow.results = unmoved(call.output());
  if (old.result != now.result) {
    for (size_t i = 0; i < flow.results.size(); ++i)
      flow.results[i] = between(stored_tensors(call.output())[i], old.result, now.result);
  }
  return checked(call, std::move(flow));
}

/// True if a tensor of as many axes is part of the call, of which no attribute says the layout.
bool has_unnamed_operand(const OpCall& call, const OperandLayouts& layouts) {
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    if (!layouts.inputs[i].empty()) continue;
    for (const TypeRef& type : stored_tensors(call.input(i))) {
      const size_t rank = stored_rank(type);
      if (rank >= 3 && rank == layouts.inputs[0].size()) return true;
    }
  }
  return false;
}

/// The data come in another layout: it says so, if the data are all that has one.
std::optional<CallFlow> flow_named(const OpCall& call, std::span<const Arrangements> offered) {
  std::optional<NamedLayouts> before =
      named_layouts(*call.op(), call.attrs_ref(), call.num_inputs());
  if (!before || offered[0].size() != 1 || !offered[0][0].moved()) return std::nullopt;
  const OperandLayouts old = operands_of(*before, call.num_inputs());
  const size_t named = static_cast<size_t>(std::count_if(
      old.inputs.begin(), old.inputs.end(), [](const std::string& text) { return !text.empty(); }));
  if (named != 1 || !is_plain_layout(old.inputs[0]) || has_unnamed_operand(call, old))
    return std::nullopt;
  std::optional<Arrangement> now = with_letters(offered[0][0], old.inputs[0]);
  if (!now) return std::nullopt;
  NamedLayouts after = *before;
  for (size_t k = 0; k < after.fields.size(); ++k) {
    if (!after.text(k).empty() && after.text(k) == old.inputs[0]) after.text(k) = now->stored;
  }
  return named_flow(call, std::move(*before), std::move(after));
}

}  // namespace

std::optional<OperandLayouts> operand_layouts(const Operator& op, const AttrsRef& attrs,
                                              size_t num_inputs) {
  std::optional<NamedLayouts> named = named_layouts(op, attrs, num_inputs);
  if (!named) return std::nullopt;
  return operands_of(*named, num_inputs);
}

std::optional<CallFlow> follow_layouts(const OpCall& call, std::span<const Arrangements> offered) {
  if (!call.op()->pure()) return std::nullopt;
  try {
    switch (layout_rule(call)) {
      case LayoutRule::kFollows:
      case LayoutRule::kBroadcasts:
        return flow_elementwise(call, offered);
      case LayoutRule::kNamed:
        return flow_named(call, offered);
      case LayoutRule::kAxes: {
        std::optional<CallFlow> flow = flow_axes(call, offered);
        return flow ? checked(call, std::move(*flow)) : std::nullopt;
      }
      case LayoutRule::kFixed:
        break;
    }
  } catch (const Error&) {
    // It cannot work so: a block that does not divide, a layout that the operator does not have.
  }
  return std::nullopt;
}

std::optional<CallFlow> choose_layouts(const OpCall& call, std::span<const std::string> wanted) {
  std::optional<NamedLayouts> before =
      named_layouts(*call.op(), call.attrs_ref(), call.num_inputs());
  if (!before) return std::nullopt;
  const std::string name = call.op()->name().str();
  if (wanted.size() > before->fields.size())
    throw Error(name + " has " + std::to_string(before->fields.size()) + " layouts, " +
                std::to_string(wanted.size()) + " are given");
  NamedLayouts after = *before;
  auto given = [&](size_t k) {
    return k < wanted.size() && !wanted[k].empty() && wanted[k] != "default";
  };
  const std::string data = given(0) ? wanted[0] : before->text(0);
  for (size_t k = 0; k < after.fields.size(); ++k) {
    std::string& text = after.text(k);
    const std::string old = text;
    if (given(k)) {
      std::string axes = old.empty() ? before->text(0) : old;
      if (!is_plain_layout(axes)) return std::nullopt;
      text = wanted[k];
      (void)Layout::parse(text, axes, name + ": " + after.attrs[after.fields[k]].name.str());
    } else if (!before->of_result(k) && k > 0 && data != before->text(0)) {
      const WeightLayoutFn* standard = weight_layouts().find(call.op());
      if (standard != nullptr) text = (*standard)(call, data);
    } else if (before->of_result(k) && given(0) && data != before->text(0)) {
      // The result goes with the data. Without weights it is written, as in TVM.
      if (!old.empty() || before->fields.size() == 2) text = data;
    }
  }
  try {
    return named_flow(call, std::move(*before), std::move(after));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace relay
