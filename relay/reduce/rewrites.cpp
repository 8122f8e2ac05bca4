#include <relay/reduce/rewrites.h>

#include <algorithm>

#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay::reduce {

namespace {

// Patterns nest no deeper than Pattern::kMaxDepth.
void add_constructors(const Pattern& pattern, std::unordered_set<const Constructor*>& to) {
  if (pattern.constructor()) to.insert(pattern.constructor().get());
  for (const PatternRef& field : pattern.fields()) add_constructors(*field, to);
}

}  // namespace

Program::Program(const Module& of) : module(of) {
  std::unordered_set<Name> called;
  for (const Module::FunctionEntry& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      if (!expr->operands().empty() || expr->is<Constant>()) nodes.push_back({expr, &entry});
      if (const auto* var = expr->as<Var>()) used_vars.insert(var);
      if (const auto* constructor = expr->as<Constructor>()) used_constructors.insert(constructor);
      if (const auto* let = expr->as<Let>()) lets[let->var().get()] = let->value().get();
      if (const auto* global = expr->as<GlobalVar>()) called.insert(global->name());
      if (const auto* match = expr->as<Match>()) {
        for (const PatternRef& pattern : match->patterns())
          add_constructors(*pattern, used_constructors);
      }
    });
  }
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (called.count(entry.name) == 0) free_functions.insert(entry.name);
  }
}

const Function* Program::callee(const Call& call) const {
  const Expr* callee = call.callee().get();
  if (const auto* global = callee->as<GlobalVar>()) return module.function(global->name());
  if (const auto* var = callee->as<Var>()) {
    auto found = lets.find(var);
    if (found == lets.end()) return nullptr;
    callee = found->second;
  }
  return callee->as<Function>();
}

namespace {

// Data types may mention themselves: made values nest no deeper than this.
constexpr int kMaxNesting = 4;

ExprRef simplest_inside(const TypeRef& type, const Module& module, int fill, int depth);

ExprRef simplest_tensor(const TensorType& tensor, int fill) {
  if (!tensor.has_rank() || !tensor.has_dtype()) return {};
  InitOpAttrs attrs;
  std::vector<int64_t> shape;
  for (Dim dim : tensor.dims()) {
    if (!dim.is_int()) return {};
    shape.push_back(dim.as_int());
  }
  if (shape.empty()) return make_constant(NDArray::scalar_int(tensor.dtype(), fill));
  attrs.shape = attr::Shape(std::move(shape));
  attrs.dtype = tensor.dtype();
  return call_op(fill == 0 ? "zeros" : "ones", {}, Attrs::make(attrs));
}

ExprRef simplest_data(const TypeRef& type, const Module& module, int fill, int depth) {
  const Type* callee = type.get();
  std::span<const TypeRef> args;
  if (const auto* call = type->as<TypeCall>()) {
    callee = call->callee().get();
    args = call->args();
  }
  const auto* name = callee->as<GlobalTypeVar>();
  const TypeData* data = name == nullptr ? nullptr : module.type_data(name);
  if (data == nullptr || data->type_vars().size() != args.size()) return {};
  std::vector<ConstructorRef> order(data->constructors().begin(), data->constructors().end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a->inputs().size() < b->inputs().size();
  });
  for (const ConstructorRef& constructor : order) {
    std::vector<ExprRef> fields;
    for (const TypeRef& input : constructor->inputs()) {
      TypeRef field = substitute(input, [&](const TypeVar* var) {
        for (size_t i = 0; i < args.size(); ++i) {
          if (data->type_vars()[i].get() == var) return args[i];
        }
        return TypeRef();
      });
      ExprRef made = simplest_inside(field, module, fill, depth + 1);
      if (!made) break;
      fields.push_back(std::move(made));
    }
    if (fields.size() == constructor->inputs().size()) return make_call(constructor, fields);
  }
  return {};
}

ExprRef simplest_inside(const TypeRef& type, const Module& module, int fill, int depth) {
  if (!type || depth > kMaxNesting) return {};
  if (const auto* tensor = type->as<TensorType>()) return simplest_tensor(*tensor, fill);
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<ExprRef> fields;
    for (const TypeRef& field : tuple->fields()) {
      fields.push_back(simplest_inside(field, module, fill, depth + 1));
      if (!fields.back()) return {};
    }
    return make_tuple(fields);
  }
  if (const auto* function = type->as<FuncType>()) {
    if (function->is_scheme() || type->has_type_var()) return {};
    ExprRef body = simplest_inside(function->result(), module, fill, depth + 1);
    if (!body) return {};
    std::vector<VarRef> params;
    for (const TypeRef& param : function->params()) params.push_back(make_var("a", param));
    return make_function(std::move(params), std::move(body));
  }
  if (const auto* ref = type->as<RefType>()) {
    ExprRef value = simplest_inside(ref->value(), module, fill, depth + 1);
    return value ? make_ref_create(std::move(value)) : ExprRef();
  }
  return simplest_data(type, module, fill, depth);
}

}  // namespace

ExprRef simplest(const TypeRef& type, const Module& module, int fill) {
  return simplest_inside(type, module, fill, 0);
}

std::span<const Rewrite> all_rewrites() {
  // Rewrites that remove much come first; those that only make a program plainer come last.
  static const Rewrite kRewrites[] = {
      {"drop functions", false, drop_functions},
      {"choose results", true, choose_results},
      {"drop types", false, drop_types},
      {"take a then branch or the first clause", false, choose_branch<0>},
      {"take an else branch or the second clause", false, choose_branch<1>},
      {"take the third clause", false, choose_branch<2>},
      {"inline lets", false, inline_lets},
      {"take the first operand", false, choose_operand<0>},
      {"take the second operand", false, choose_operand<1>},
      {"take the third operand", false, choose_operand<2>},
      {"use a parameter", false, use_param},
      {"add parameters", false, add_params},
      {"use zeros", false, use_zeros},
      {"use ones", false, use_ones},
      {"take fields", false, project_fields},
      {"drop fields", false, drop_fields},
      {"drop clauses", false, drop_clauses},
      {"inline calls", false, inline_calls},
      {"inline calls by lets", false, bind_calls},
      {"drop parameters", false, drop_params},
      {"merge parameters", false, merge_params},
      {"take an operand of another type", false, choose_any_operand<0>},
      {"take a second operand of another type", false, choose_any_operand<1>},
      {"drop constructors", false, drop_constructors},
      {"drop types of lets", false, drop_let_types},
      {"drop types of results", false, drop_result_types},
      {"drop attributes of functions", false, drop_function_attrs},
      {"drop attributes", false, drop_attrs},
      {"decide type parameters", true, decide_type_params},
      {"shrink ranks", true, shrink_ranks},
      {"shrink extents", true, shrink_extents},
      {"shrink parameters", false, shrink_params},
      {"simplify dtypes", true, simplify_dtypes},
      {"shrink constants", false, shrink_constants},
      {"make numbers 0", false, simplify_numbers<0>},
      {"make numbers 1", false, simplify_numbers<1>},
  };
  return kRewrites;
}

}  // namespace relay::reduce
