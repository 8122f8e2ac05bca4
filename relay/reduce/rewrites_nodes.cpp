// One node in the place of another.
#include <set>
#include <string>

#include <relay/ir/visit.h>
#include <relay/reduce/rewrites.h>

namespace relay::reduce {

namespace {

Edit replacing(const Expr* node, ExprRef by) {
  return [node, by = std::move(by)](Draft& draft) { draft.replace(node, by); };
}

// Operands that may stand for the node: the parts that it computes its result from.
std::span<const ExprRef> parts(const Expr* expr) {
  if (const auto* call = expr->as<Call>()) return call->args();
  if (expr->is<Function>() || expr->is<Match>() || expr->is<If>() || expr->is<Let>()) return {};
  return expr->operands();
}

bool same_type(const Expr* a, const Expr* b) {
  return a->type() != nullptr && b->type() != nullptr && types_equal(a->type(), b->type());
}

}  // namespace

template <size_t kOperand>
std::vector<Edit> choose_operand(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    size_t fitting = 0;
    for (const ExprRef& part : parts(node.expr)) {
      if (!same_type(part.get(), node.expr)) continue;
      if (fitting++ != kOperand) continue;
      edits.push_back(replacing(node.expr, part));
      break;
    }
  }
  return edits;
}
template std::vector<Edit> choose_operand<0>(const Program&);
template std::vector<Edit> choose_operand<1>(const Program&);
template std::vector<Edit> choose_operand<2>(const Program&);

template <size_t kOperand>
std::vector<Edit> choose_any_operand(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    std::span<const ExprRef> all = parts(node.expr);
    if (all.size() <= kOperand || same_type(all[kOperand].get(), node.expr)) continue;
    edits.push_back(replacing(node.expr, all[kOperand]));
  }
  return edits;
}
template std::vector<Edit> choose_any_operand<0>(const Program&);
template std::vector<Edit> choose_any_operand<1>(const Program&);

namespace {

// The values of a pattern's variables if the clause is taken. Patterns nest no deeper than
// Pattern::kMaxDepth.
void bind_pattern(const Pattern& pattern, const ExprRef& data, Draft& draft) {
  if (pattern.kind() == PatternKind::kVar) {
    if (data) {
      draft.replace(pattern.var().get(), data);
    } else if (const Type* type = pattern.var()->type()) {
      if (ExprRef by = simplest(TypeRef(type), draft.module()))
        draft.replace(pattern.var().get(), by);
    }
    return;
  }
  std::span<const ExprRef> fields;
  if (data) {
    if (const auto* tuple = data->as<Tuple>()) fields = tuple->fields();
    const auto* call = data->as<Call>();
    if (call != nullptr && call->callee().get() == pattern.constructor().get())
      fields = call->args();
  }
  for (size_t i = 0; i < pattern.fields().size(); ++i) {
    bind_pattern(*pattern.fields()[i],
                 fields.size() == pattern.fields().size() ? fields[i] : ExprRef(), draft);
  }
}

}  // namespace

template <size_t kBranch>
std::vector<Edit> choose_branch(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    if (const auto* choice = node.expr->as<If>()) {
      if (kBranch > 1) continue;
      edits.push_back(
          replacing(choice, kBranch == 0 ? choice->then_branch() : choice->else_branch()));
    } else if (const auto* match = node.expr->as<Match>()) {
      if (match->patterns().size() <= kBranch) continue;
      edits.push_back([match](Draft& draft) {
        bind_pattern(*match->patterns()[kBranch], match->data(), draft);
        draft.replace(match, match->clause_bodies()[kBranch]);
      });
    }
  }
  return edits;
}
template std::vector<Edit> choose_branch<0>(const Program&);
template std::vector<Edit> choose_branch<1>(const Program&);
template std::vector<Edit> choose_branch<2>(const Program&);

std::vector<Edit> use_param(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    if (node.expr == node.function->function.get()) continue;
    for (const VarRef& param : node.function->function->params()) {
      if (!same_type(param.get(), node.expr)) continue;
      edits.push_back(replacing(node.expr, param));
      break;
    }
  }
  return edits;
}

// Tensors that a function computes come in from outside.
std::vector<Edit> add_params(const Program& program) {
  std::unordered_map<Name, std::set<std::string>> names;
  for (const Module::FunctionEntry& entry : program.module.functions()) {
    for (const VarRef& var : bound_vars(entry.function.get()))
      names[entry.name].insert(var->name().str());
  }
  std::vector<Edit> edits;
  std::unordered_map<Name, size_t> next;
  for (const Program::Node& node : program.nodes) {
    Name function = node.function->name;
    if (program.free_functions.count(function) == 0) continue;
    const auto* type = node.expr->type() == nullptr ? nullptr : node.expr->type()->as<TensorType>();
    if (type == nullptr || !type->closed() || type->has_any_dim()) continue;
    if (node.expr->is<Constant>() && type->has_rank() && type->dims().empty()) continue;
    std::string name;
    do {
      name = "p" + std::to_string(next[function]++);
    } while (names[function].count(name) != 0);
    VarRef param = make_var(Name(name), TypeRef(type));
    edits.push_back([expr = node.expr, function, param](Draft& draft) {
      draft.replace(expr, param);
      draft.add_param(function, param);
    });
  }
  return edits;
}

namespace {

std::vector<Edit> filled(const Program& program, int fill) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    if (node.expr->type() == nullptr || node.expr == node.function->function.get()) continue;
    const auto* constant = node.expr->as<Constant>();
    if (constant != nullptr && constant->data().rank() == 0) continue;
    if (ExprRef by = simplest(TypeRef(node.expr->type()), program.module, fill))
      edits.push_back(replacing(node.expr, std::move(by)));
  }
  return edits;
}

}  // namespace

std::vector<Edit> use_zeros(const Program& program) { return filled(program, 0); }
std::vector<Edit> use_ones(const Program& program) { return filled(program, 1); }

// A field of a tuple that is known, also where the tuple comes out of a let, an if or a match.
std::vector<Edit> project_fields(const Program& program) {
  auto field = [](const ExprRef& expr, uint32_t index) {
    const auto* tuple = expr->as<Tuple>();
    return tuple != nullptr && index < tuple->fields().size() ? tuple->fields()[index]
                                                              : make_projection(expr, index);
  };
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* projection = node.expr->as<TupleGetItem>();
    if (projection == nullptr) continue;
    const Expr* from = projection->tuple().get();
    uint32_t index = projection->index();
    if (const auto* var = from->as<Var>()) {
      auto found = program.lets.find(var);
      if (found == program.lets.end() || !found->second->is<Tuple>()) continue;
      from = found->second;
    }
    if (const auto* tuple = from->as<Tuple>()) {
      if (index < tuple->fields().size())
        edits.push_back(replacing(node.expr, tuple->fields()[index]));
    } else if (const auto* let = from->as<Let>()) {
      edits.push_back(
          replacing(node.expr, make_let(let->var(), let->value(), field(let->body(), index))));
    } else if (const auto* choice = from->as<If>()) {
      edits.push_back(
          replacing(node.expr, make_if(choice->condition(), field(choice->then_branch(), index),
                                       field(choice->else_branch(), index))));
    } else if (const auto* match = from->as<Match>()) {
      std::vector<ExprRef> bodies;
      for (const ExprRef& body : match->clause_bodies()) bodies.push_back(field(body, index));
      edits.push_back(replacing(
          node.expr, make_match(match->data(), match->patterns(), bodies, match->complete())));
    }
  }
  return edits;
}

std::vector<Edit> drop_fields(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* tuple = node.expr->as<Tuple>();
    for (size_t i = 0; tuple != nullptr && i < tuple->fields().size(); ++i) {
      edits.push_back([tuple, i, function = node.function->function.get()](Draft& draft) {
        draft.drop_field(tuple, i);
        draft.drop_ret_type(function);
      });
    }
  }
  return edits;
}

std::vector<Edit> drop_clauses(const Program& program) {
  std::vector<Edit> edits;
  for (const Program::Node& node : program.nodes) {
    const auto* match = node.expr->as<Match>();
    if (match == nullptr || match->patterns().size() < 2) continue;
    for (size_t i = 0; i < match->patterns().size(); ++i)
      edits.push_back([match, i](Draft& draft) { draft.drop_clause(match, i); });
  }
  return edits;
}

}  // namespace relay::reduce
