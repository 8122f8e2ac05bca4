// DynamicToStatic: shapes that are arguments become attributes where they are constants.
#include <algorithm>
#include <vector>

#include <relay/eval/eval.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/forms.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>
#include <relay/transform/known_extents.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

namespace relay {
namespace {

constexpr std::string_view kDynamic = "dyn.";

// The operator with the same name but for the prefix, which has attributes for some inputs.
const Operator* static_operator(const Operator& op) {
  const std::string_view name = op.name().view();
  return name.substr(0, kDynamic.size()) == kDynamic ? find_op(name.substr(kDynamic.size()))
                                                     : nullptr;
}

const AttrField* find_field(const Operator& op, std::string_view name) {
  if (op.attrs_schema() == nullptr) return nullptr;
  for (const AttrField& field : op.attrs_schema()->fields) {
    if (field.name.view() == name) return &field;
  }
  return nullptr;
}

// A number, a list of numbers, or lists of these.
AttrValue attribute_of(const NDArray& data) {
  auto one = [&](int64_t at) {
    return data.dtype().is_float() ? AttrValue(data.element_as_double(at))
                                   : AttrValue(data.element_as_int64(at));
  };
  if (data.rank() == 0) return one(0);
  AttrValue::List rows;
  const int64_t width = data.rank() == 1 ? 1 : data.size() / std::max<int64_t>(1, data.extent(0));
  for (int64_t row = 0; row < data.extent(0); ++row) {
    if (data.rank() == 1) {
      rows.push_back(one(row));
      continue;
    }
    AttrValue::List entries;
    for (int64_t i = 0; i < width; ++i) entries.push_back(one(row * width + i));
    rows.emplace_back(std::move(entries));
  }
  return AttrValue(std::move(rows));
}

// The call of the static operator; null if an argument that is to be an attribute is no constant.
ExprRef static_call(const Call& call, std::span<const ExprRef> args) {
  const Operator* dynamic = called_op(&call);
  const Operator* op = dynamic == nullptr ? nullptr : static_operator(*dynamic);
  if (op == nullptr) return {};
  const auto* renamed = static_attributes().find(dynamic);
  std::vector<ExprRef> kept;
  std::vector<NamedAttr> attrs;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string name = dynamic->inputs()[i].name.str();
    if (renamed != nullptr && renamed->count(name) > 0) name = renamed->at(name);
    if (find_field(*op, name) == nullptr) {
      kept.push_back(args[i]);
      continue;
    }
    const auto* constant = args[i]->as<Constant>();
    if (constant == nullptr || constant->data().rank() > 2) return {};
    attrs.push_back({Name(name), attribute_of(constant->data()), call.span()});
  }
  if (kept.size() != op->num_inputs() || attrs.empty()) return {};
  if (call.attrs()) {
    for (NamedAttr& attr : call.attrs()->fields(true)) {
      const bool given = std::any_of(attrs.begin(), attrs.end(), [&](const NamedAttr& other) {
        return other.name == attr.name;
      });
      if (given || find_field(*dynamic, attr.name.view()) == nullptr) continue;
      if (find_field(*op, attr.name.view()) == nullptr) return {};
      attrs.push_back(std::move(attr));
    }
  }
  try {
    return make_call(make_op(op), kept, Attrs::make(*op->attrs_schema(), attrs, call.span()), {},
                     call.span());
  } catch (const Error&) {
    return {};  // a shape that the static operator refuses fails when the program runs
  }
}

// True if the function calls an operator that has a static form, or makes integers, which may be
// known extents.
bool may_become_static(const Function* function) {
  bool found = false;
  visit_each(function, [&](const Expr* expr) {
    const Operator* op = called_op(expr);
    if (op == nullptr) return true;
    const auto* tensor = expr->type() == nullptr ? nullptr : expr->type()->as<TensorType>();
    const bool integers = tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_integer();
    found = integers || static_operator(*op) != nullptr;
    return !found;
  });
  return found;
}

Module make_static(const Module& module, const PassContext& context) {
  // One that becomes static may decide the shape that the next one depends on.
  Module result = module;
  for (bool first = true, changed = true; changed; first = false) {
    changed = false;
    const Module folded = (*create_pass("FoldConstant"))(result, context);
    const bool has_types = first && same_functions(folded, result);
    result = has_types ? folded : (*create_pass("InferType"))(folded, context);
    const Module typed = result;
    for (const auto& entry : typed.functions()) {
      if (!may_become_static(entry.function.get())) continue;
      auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        const auto* call = expr->as<Call>();
        if (call == nullptr) return {};
        ExprRef known = known_extents(*call);
        return known ? known : static_call(*call, operands.subspan(1));
      };
      ExprRef rewritten = rewrite_post_order(entry.function, rewrite);
      if (rewritten == entry.function) continue;
      changed = true;
      result.update_function(entry.name, FunctionRef(rewritten->as<Function>()));
    }
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"DynamicToStatic",
     2,
     {ProgramState::kTyped},
     "Writes operators whose shapes are arguments (`dyn.reshape`, `dyn.topk`, …) as those whose "
     "shapes are attributes, where the arguments are constants or FoldConstant makes them such."},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_module_pass(info, make_static); },
});

}  // namespace
}  // namespace relay
