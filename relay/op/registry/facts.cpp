#include <relay/op/registry/facts.h>

#include <algorithm>
#include <unordered_map>

#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/analysis.h>
#include <relay/tensor_expr/facts.h>
#include <relay/tensor_expr/walk.h>

namespace relay {

OpColumn<LayoutRule>& layout_rules() {
  static auto* column = new OpColumn<LayoutRule>("layout_rule");
  return *column;
}
OpColumn<QuantisedRule>& quantised_rules() {
  static auto* column = new OpColumn<QuantisedRule>("quantised_rule");
  return *column;
}
OpColumn<CostFn>& costs() {
  static auto* column = new OpColumn<CostFn>("cost");
  return *column;
}

OpColumn<std::string>& float_forms() {
  static auto* column = new OpColumn<std::string>("float_form");
  return *column;
}

// ---- Operators defined by others --------------------------------------------------------------

namespace {

constexpr size_t kMaxParts = 10'000;

AttrsRef with_defaults(const Operator& op, const AttrsRef& attrs) {
  if (attrs || op.attrs_schema() == nullptr) return attrs;
  return Attrs::make(*op.attrs_schema(), {}, {});
}

/// The types of an expansion's nodes, operands before users.
class PartsOfExpansion {
 public:
  explicit PartsOfExpansion(const Operator& op) : op_(op) {}
  std::vector<OpCall> calls;

  void visit(const Expr* expr) { types_[expr] = type_of(expr); }

 private:
  [[noreturn]] void fail() const {
    throw Error("the definition of " + op_.name().str() + " has parts of unknown type");
  }

  TypeRef known(const Expr* expr) const {
    auto found = types_.find(expr);
    if (found == types_.end() || !found->second) fail();
    return found->second;
  }

  TypeRef type_of(const Expr* expr) {
    if (const auto* var = expr->as<Var>()) return var->annotation();
    if (const auto* constant = expr->as<Constant>()) return type_of_array(constant->data());
    if (const auto* tuple = expr->as<Tuple>()) {
      std::vector<TypeRef> fields;
      for (const ExprRef& field : tuple->fields()) fields.push_back(known(field.get()));
      return TupleType::make(std::move(fields));
    }
    if (const auto* item = expr->as<TupleGetItem>()) {
      TypeRef tuple = known(item->tuple().get());
      const auto* type = tuple->as<TupleType>();
      if (type == nullptr || item->index() >= type->fields().size()) fail();
      return type->fields()[item->index()];
    }
    const auto* call = expr->as<Call>();
    const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (callee == nullptr) return {};  // an operator node, say: fails if it is used as a value
    std::vector<TypeRef> inputs;
    for (const ExprRef& arg : call->args()) inputs.push_back(known(arg.get()));
    AttrsRef attrs = with_defaults(*callee->op(), call->attrs());
    TypeRef output = infer_call_type(
        callee->op(), inputs, attrs, nullptr, [&](size_t i) -> std::optional<NDArray> {
          const auto* constant = call->args()[i]->as<Constant>();
          return constant == nullptr ? std::nullopt : std::optional<NDArray>(constant->data());
        });
    if (!output) fail();
    calls.emplace_back(callee->op(), attrs, std::move(inputs), output);
    return output;
  }

  const Operator& op_;
  std::unordered_map<const Expr*, TypeRef> types_;
};

std::vector<OpCall> parts_of(const OpCall& call) {
  std::vector<ExprRef> args;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    VarRef var = make_var(call.op()->inputs()[i].name, call.input(i));
    var->set_type(call.input(i));
    args.emplace_back(var);
  }
  ExprRef body = call.op()->expand()(call, args);
  PartsOfExpansion parts(*call.op());
  post_order(body.get(), [&](const Expr* expr) { parts.visit(expr); });
  return std::move(parts.calls);
}

}  // namespace

std::vector<OpCall> primitive_calls(const OpCall& call) {
  std::vector<OpCall> done;
  std::vector<OpCall> todo{call};
  for (size_t count = 0; !todo.empty(); ++count) {
    OpCall next = std::move(todo.back());
    todo.pop_back();
    if (next.op()->definition() != DefinitionKind::kExpand) {
      done.push_back(std::move(next));
      continue;
    }
    if (count > kMaxParts)
      throw Error("the definition of " + call.op()->name().str() + " is endless");
    std::vector<OpCall> parts = parts_of(next);
    todo.insert(todo.end(), std::make_move_iterator(parts.rbegin()),
                std::make_move_iterator(parts.rend()));
  }
  return done;
}

// ---- Layout -----------------------------------------------------------------------------------

namespace {

/// True if the order of axes does not matter to any fold; with `one_axis`, folds along a single
/// axis have none.
bool folds_in_any_order(const te::Computation& computation, bool one_axis) {
  for (const te::Stage& stage : computation.stages) {
    if (!one_axis && !std::holds_alternative<te::Map>(stage.body)) return false;
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind == te::ScalarKind::kFold &&
          node->combiner->kind == te::Combiner::Kind::kCustom &&
          !(one_axis && node->axes.size() == 1)) {
        return false;
      }
    }
  }
  return true;
}

/// By the attributes alone, if they decide; `absent`: only axes, and none is given.
std::optional<LayoutRule> rule_of_attrs(const OpCall& call, bool& absent) {
  const AttrsSchema* schema = call.op()->attrs_schema();
  if (schema == nullptr) return std::nullopt;
  std::vector<NamedAttr> values = call.attrs_ref()->fields(false);
  bool has_axes = false;
  bool given = false;
  for (size_t i = 0; i < schema->fields.size(); ++i) {
    switch (schema->fields[i].kind) {
      case AttrKind::kLayout:
        return LayoutRule::kNamed;
      case AttrKind::kShape:
        return LayoutRule::kFixed;
      case AttrKind::kAxis:
      case AttrKind::kAxes:
      case AttrKind::kNewAxis:
      case AttrKind::kPerAxis:
        has_axes = true;
        given |= !values[i].value.is_none();
        break;
      default:
        break;
    }
  }
  if (!has_axes) return std::nullopt;
  absent = !given;
  return LayoutRule::kAxes;
}

bool reads_values(Dim dim) {
  bool found = dim.is_any();
  for_each_atom(dim, [&](Dim atom) { found |= atom.is_term() && atom.term().op == DimOp::kValue; });
  return found;
}

/// The axis that an index is: plainly, or where a dimension of unknown extent may have to be read
/// at 0.
const te::ScalarNode* axis_of(const te::ScalarNode& index) {
  if (index.kind == te::ScalarKind::kSelect) return axis_of(*index.args[2]);
  return index.kind == te::ScalarKind::kIndex ? &index : nullptr;
}

/// True if tensors of a lower rank are read at the last axes of what reads them, as broadcasting
/// does: extents do not tell where several are equal.
bool reads_at_last_axes(const te::Computation& computation) {
  for (const te::Stage& stage : computation.stages) {
    const std::span<const te::Axis> axes = te::stage_axes(stage);
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind != te::ScalarKind::kLoad) continue;
      for (size_t d = 0; d < node->args.size(); ++d) {
        const te::ScalarNode* axis = axis_of(*node->args[d]);
        const size_t from_end = node->args.size() - d;
        if (axis != nullptr &&
            (from_end > axes.size() || axes[axes.size() - from_end].id != axis->axis))
          return false;
      }
    }
  }
  return true;
}

/// Elementwise, perhaps under broadcasting: all results have the shape that the inputs broadcast
/// to.
LayoutRule rule_of_computation(const te::Computation& computation) {
  if (computation.inputs.empty() || te::uses_positions(computation)) return LayoutRule::kFixed;
  std::optional<std::vector<Dim>> shape = std::vector<Dim>();
  for (const te::TensorInfo& input : computation.inputs) {
    if (shape) shape = broadcast_shapes(*shape, input.dims);
  }
  if (!shape) return LayoutRule::kFixed;
  for (const te::Output& output : computation.outputs) {
    bool reads = std::any_of(output.dims.begin(), output.dims.end(), reads_values);
    if (reads || output.dims != *shape) return LayoutRule::kFixed;
  }
  te::FusionKind kind = te::fusion_kind(computation);
  if (kind != te::FusionKind::kElementwise && kind != te::FusionKind::kBroadcast)
    return LayoutRule::kFixed;
  if (!reads_at_last_axes(computation)) return LayoutRule::kFixed;
  for (const te::TensorInfo& input : computation.inputs) {
    if (input.rank() != 0 && input.rank() != shape->size()) return LayoutRule::kBroadcasts;
  }
  return LayoutRule::kFollows;
}

LayoutRule derived_layout_rule(const OpCall& call) {
  bool absent = false;
  std::optional<LayoutRule> by_attrs = rule_of_attrs(call, absent);
  if (by_attrs && *by_attrs != LayoutRule::kAxes) return *by_attrs;
  if (call.op()->definition() == DefinitionKind::kExpand) {
    if (by_attrs) return absent ? LayoutRule::kFixed : LayoutRule::kAxes;
    LayoutRule all = LayoutRule::kFollows;
    for (const OpCall& part : primitive_calls(call)) all = std::max(all, layout_rule(part));
    return all <= LayoutRule::kBroadcasts ? all : LayoutRule::kFixed;
  }
  if (call.op()->definition() != DefinitionKind::kCompute) return LayoutRule::kFixed;
  te::Computation computation = build_computation(call);
  if (!by_attrs) return rule_of_computation(computation);
  return folds_in_any_order(computation, !absent) ? LayoutRule::kAxes : LayoutRule::kFixed;
}

}  // namespace

LayoutRule layout_rule(const OpCall& call) {
  if (const LayoutRule* declared = layout_rules().find(call.op())) return *declared;
  try {
    return derived_layout_rule(call);
  } catch (const Error&) {
    return LayoutRule::kFixed;  // the call says what is wrong when it is typed or runs
  }
}

// ---- Quantised numbers ------------------------------------------------------------------------

namespace {

QuantisedRule derived_quantised_rule(const OpCall& call) {
  if (call.op()->definition() == DefinitionKind::kExpand) {
    QuantisedRule all = QuantisedRule::kKeeps;
    for (const OpCall& part : primitive_calls(call)) all = std::max(all, quantised_rule(part));
    return all;
  }
  if (call.op()->definition() != DefinitionKind::kCompute || !call.op()->pure())
    return QuantisedRule::kFloats;
  switch (te::numbers_of(build_computation(call))) {
    case te::NumbersOf::kElements:
      return QuantisedRule::kKeeps;
    case te::NumbersOf::kConstants:
    case te::NumbersOf::kElementsOrConstants:
      return QuantisedRule::kConstants;
    case te::NumbersOf::kSums:
      return QuantisedRule::kRequantises;
    case te::NumbersOf::kFunctions:
      break;
  }
  return QuantisedRule::kFloats;
}

}  // namespace

QuantisedRule quantised_rule(const OpCall& call) {
  if (const QuantisedRule* declared = quantised_rules().find(call.op())) return *declared;
  if (quantised().find(call.op()) != nullptr) return QuantisedRule::kQuantised;
  try {
    return derived_quantised_rule(call);
  } catch (const Error&) {
    return QuantisedRule::kFloats;
  }
}

const Operator* quantised_form(const Operator& op) {
  std::string_view name = op.name().view();
  if (name.starts_with("nn.")) name.remove_prefix(3);
  const Operator* form = find_op(Name("qnn." + std::string(name)));
  if (form != nullptr && quantised().find(form) != nullptr) return form;
  for (const Operator* other : all_ops()) {
    const std::string* floats = float_forms().find(other);
    if (floats != nullptr && *floats == op.name().view()) return other;
  }
  return nullptr;
}

// ---- Cost -------------------------------------------------------------------------------------

Cost cost_of_stages(const OpCall& call) {
  te::Work work = te::work_of(build_computation(call));
  return {work.operations, work.macs, work.bytes};
}

Cost cost_of(const OpCall& call) {
  if (const CostFn* declared = costs().find(call.op())) return (*declared)(call);
  if (call.op()->definition() == DefinitionKind::kExpand) {
    Cost sum;
    for (const OpCall& part : primitive_calls(call)) {
      Cost one = cost_of(part);
      sum = {sum.operations + one.operations, sum.macs + one.macs, sum.bytes + one.bytes};
    }
    return sum;
  }
  if (call.op()->definition() != DefinitionKind::kCompute) return {};
  te::Work work = te::work_of(build_computation(call));
  if (work.has_library) return kernel_cost(call, Dim::any());
  return {work.operations, work.macs, work.bytes};
}

Dim elements_of(const OpCall& call, size_t i) { return product(call.tensor(i).dims); }

Cost kernel_cost(const OpCall& call, Dim operations) {
  Cost cost;
  cost.operations = operations;
  auto add = [&](const te::TensorInfo& info) {
    cost.bytes = cost.bytes + product(info.dims) * Dim(static_cast<int64_t>(info.dtype.size()));
  };
  std::vector<TypeRef> types;
  for (size_t i = 0; i < call.num_inputs(); ++i) types.push_back(call.input(i));
  types.push_back(call.output());
  for (const te::TensorInfo& info : tensors_in(types)) add(info);
  return cost;
}

Cost cost_of_moving(const OpCall& call) { return kernel_cost(call, 0); }

Dim log2_of(Dim count) {
  if (!count.is_int()) return Dim::any();
  int64_t bits = 0;
  while (bits < 62 && (int64_t{1} << bits) < count.as_int()) ++bits;
  return bits;
}

Cost sort_cost(const OpCall& call, int64_t axis) {
  te::TensorInfo data = call.tensor(0);
  return kernel_cost(call,
                     product(data.dims) * log2_of(data.dims[axis_position(axis, data.rank())]));
}

}  // namespace relay
