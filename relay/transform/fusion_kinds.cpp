// Kinds of operator calls, from the tensor expressions of the operators.
#include <algorithm>

#include <relay/op/registry/columns.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/declared_fusion.h>
#include <relay/transform/fusion.h>

namespace relay {
namespace {

// A tensor, or a tuple of tensors, of known ranks and dtypes.
bool is_plain(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      const auto* tensor = field->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank() || !tensor->has_dtype()) return false;
    }
    return true;
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

bool keeps_elements(const te::Computation& computation) {
  if (computation.stages.empty() || computation.outputs.size() != 1) return false;
  for (const te::Stage& stage : computation.stages) {
    const auto* view = std::get_if<te::View>(&stage.body);
    if (view == nullptr || !view->offset.is_int(0)) return false;
    Dim stride(1);
    for (size_t i = view->extents.size(); i-- > 0;) {
      if (!(view->strides[i] == stride) && !view->extents[i].is_int(1)) return false;
      stride = stride * view->extents[i];
    }
    Dim count = product(computation.info(view->source).dims);
    if (dims_equal(count, product(view->extents)) == Truth::kNo) return false;
  }
  return true;
}

// Inputs whose folds, if there are any, all run along the last dimension.
std::vector<uint32_t> folded_rows(const te::Computation& computation) {
  std::map<int32_t, bool> inputs;
  for (const te::Stage& stage : computation.stages) {
    for (const te::ScalarNode* fold : te::post_order(te::stage_roots(stage))) {
      if (fold->kind != te::ScalarKind::kFold) continue;
      for (const te::ScalarNode* load : te::post_order(fold->args)) {
        if (load->kind != te::ScalarKind::kLoad || !load->tensor.is_input()) continue;
        bool along = !load->args.empty() && load->args.back()->kind == te::ScalarKind::kIndex &&
                     std::any_of(fold->axes.begin(), fold->axes.end(), [&](const te::Axis& axis) {
                       return axis.id == load->args.back()->axis;
                     });
        inputs.try_emplace(load->tensor.index, true).first->second &= along;
      }
    }
  }
  std::vector<uint32_t> result;
  for (auto [input, along] : inputs) {
    if (along) result.push_back(static_cast<uint32_t>(input));
  }
  return result;
}

// An operator's declaration replaces facts that its computation does not show. If the computation
// shows more, the two are joined, so that a declaration cannot claim more than the call allows.
te::FusionKind with_declared(te::FusionKind derived, const Operator* op) {
  const std::optional<te::FusionKind>* declared = declared_fusion().find(op);
  if (declared == nullptr || !*declared) return derived;
  return derived == te::FusionKind::kOpaque ? **declared : std::max(derived, **declared);
}

std::optional<CallFusion> derive(const Call& call, const Operator* op) {
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call.args()) types.emplace_back(arg->type());
  AttrsRef attrs = call.attrs();
  if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
  CallFusion result;
  try {
    infer_call_type(op, types, attrs, nullptr, [&](size_t i) -> std::optional<NDArray> {
      if (const auto* constant = call.args()[i]->as<Constant>()) {
        result.constants_read.push_back(static_cast<uint32_t>(i));
        return constant->data();
      }
      result.reads_values = true;
      return std::nullopt;
    });
    if (op->definition() != DefinitionKind::kCompute || !op->pure()) return result;
    te::Computation computation = build_computation(OpCall(op, attrs, types, TypeRef(call.type())));
    result.reshape_only = keeps_elements(computation);
    if (result.reads_values || stops_fusion().find(op) != nullptr) return result;
    result.kind = with_declared(te::fusion_kind(computation), op);
    bool one = computation.outputs.size() == 1 && !computation.outputs[0].counted();
    if (result.kind == te::FusionKind::kRowProgram && !one) result.kind = te::FusionKind::kOpaque;
    if (result.kind == te::FusionKind::kRowProgram && types.size() == computation.inputs.size()) {
      result.rows = folded_rows(computation);
    }
  } catch (const Error&) {
    result.kind = te::FusionKind::kOpaque;  // says what is wrong when it runs
  }
  return result;
}

}  // namespace

OpColumn<std::optional<te::FusionKind>>& declared_fusion() {
  static auto* column = new OpColumn<std::optional<te::FusionKind>>("declared_fusion");
  return *column;
}

const std::optional<CallFusion>& FusionKinds::find(const Call& call) {
  static const std::optional<CallFusion> kNone;
  const auto* node = call.callee()->as<Op>();
  if (node == nullptr || !is_plain(call.type())) return kNone;
  const Operator* op = node->op();
  if (op->definition() != DefinitionKind::kCompute && op->definition() != DefinitionKind::kExpand)
    return kNone;
  if (call.args().size() != op->num_inputs()) return kNone;
  std::vector<const void*> key{op, call.attrs().get(), call.type()};
  for (const ExprRef& arg : call.args()) {
    if (!is_plain(arg->type())) return kNone;
    key.push_back(arg->type());
    // A constant's value may decide the shape.
    key.push_back(arg->is<Constant>() ? arg.get() : nullptr);
  }
  auto [entry, added] = known_.try_emplace(std::move(key));
  if (added) entry->second = derive(call, op);
  return entry->second;
}

bool is_primitive(const Function* function) {
  if (!function->attrs()) return false;
  AttrValue value = dict_attr(function->attrs(), "Primitive");
  const auto* number = value.get<int64_t>();
  return number != nullptr ? *number != 0 : value.get<bool>() != nullptr && *value.get<bool>();
}

std::vector<char> primitive_regions(const Regions& regions) {
  std::vector<signed char> known(regions.num_regions(), -1);
  known[0] = 0;
  std::vector<uint32_t> way;
  for (uint32_t region = 0; region < regions.num_regions(); ++region) {
    uint32_t at = region;
    for (way.clear(); known[at] < 0; at = regions.region(at).parent) way.push_back(at);
    bool inside = known[at] != 0;
    for (size_t i = way.size(); i-- > 0;) {
      uint32_t owner = regions.region(way[i]).owner;
      const auto* function =
          owner == Regions::kNone ? nullptr : regions.expr(owner)->as<Function>();
      inside |= function != nullptr && is_primitive(function);
      known[way[i]] = inside;
    }
  }
  return {known.begin(), known.end()};
}

}  // namespace relay
