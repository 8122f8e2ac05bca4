// Finds the values that have lanes.
#include <memory>

#include <relay/ir/type_fields.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/transform/batch/parts.h>

namespace relay::lanes {

std::vector<Name> functions_from(const Module& module, const Name& own) {
  std::vector<Name> names{own};
  std::unordered_set<Name> seen{own};
  for (size_t i = 0; i < names.size(); ++i) {
    const Name name = names[i];
    post_order(module.function(name), [&](const Expr* expr) {
      const auto* global = expr->as<GlobalVar>();
      if (global != nullptr && module.function(global->name()) != nullptr &&
          seen.insert(global->name()).second)
        names.push_back(global->name());
    });
  }
  return names;
}

bool is_simple(const Expr* root) {
  bool simple = true;
  visit_each(root, [&](const Expr* expr) {
    switch (expr->kind()) {
      case ExprKind::kCall: {
        const auto* op = static_cast<const Call*>(expr)->callee()->as<Op>();
        simple = op != nullptr && op->op()->pure();
        break;
      }
      case ExprKind::kFunction:
      case ExprKind::kRefCreate:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite:
      case ExprKind::kMatch:
        simple = false;
        break;
      default:
        break;
    }
    return simple;
  });
  return simple;
}

namespace {

bool is_global(const Expr* expr, const Name& name) {
  const auto* global = expr->as<GlobalVar>();
  return global != nullptr && global->name() == name;
}

/// Ifs in tail position, outermost first, and calls of `name` there.
void walk_tail(const Expr* tail, const Name& name, std::vector<const If*>& ifs, Loop& loop) {
  std::vector<const Expr*> work{tail};
  while (!work.empty()) {
    const Expr* expr = work.back();
    work.pop_back();
    while (const auto* let = expr->as<Let>()) expr = let->body().get();
    if (const auto* choice = expr->as<If>()) {
      ifs.push_back(choice);
      work.push_back(choice->then_branch().get());
      work.push_back(choice->else_branch().get());
    } else if (const auto* call = expr->as<Call>();
               call != nullptr && is_global(call->callee().get(), name)) {
      loop.calls.insert(call);
    }
  }
}

bool holds_call(const If* choice, const Loop& loop) {
  bool found = false;
  visit_each(choice, [&](const Expr* expr) {
    found = found || loop.calls.count(expr) != 0;
    return !found;
  });
  return found;
}

}  // namespace

std::unique_ptr<Loop> find_loop(const Function& function, const Name& name) {
  auto loop = std::make_unique<Loop>();
  std::vector<const If*> ifs;
  walk_tail(function.body().get(), name, ifs, *loop);
  if (loop->calls.empty()) return nullptr;
  size_t uses = 0;
  post_order(function.body().get(), [&](const Expr* expr) {
    for (const ExprRef& operand : expr->operands()) uses += is_global(operand.get(), name) ? 1 : 0;
  });
  if (uses != loop->calls.size()) return nullptr;
  for (const If* choice : ifs) {
    if (holds_call(choice, *loop)) loop->choices.insert(choice);
  }
  loop->invariant.assign(function.params().size(), true);
  for (const Expr* expr : loop->calls) {
    const auto args = static_cast<const Call*>(expr)->args();
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].get() != function.params()[i].get()) loop->invariant[i] = false;
    }
  }
  return loop;
}

namespace {

/// True for types with parameters that are no dimensions.
bool is_open(const Type& type) {
  if (const auto* var = type.as<TypeVar>()) return var->kind() == Kind::kType;
  if (const auto* function = type.as<FuncType>();
      function != nullptr && !function->constraints().empty())
    return true;
  bool found = false;
  for_each_part(type, [&](const Type* part) { found = found || is_open(*part); });
  return found;
}

}  // namespace

ProgramLanes::ProgramLanes(const Module& whole, Module& target, const Name& own,
                           const BatchForm& form, const Dim& lanes, const LaneGradients* gradients)
    : whole_(whole),
      facts_(whole, target, lanes),
      names_(functions_from(whole, own)),
      gradients_(gradients) {
  for (const Name& name : names_) {
    const Function* function = whole.function(name);
    const auto* type = function->type()->as<FuncType>();
    if (type == nullptr || is_open(*type))
      throw Error(
          "vmap needs to know the types of a function, and this one is " + function->type()->str(),
          function->span());
    functions_[name] = facts_.make(TypeRef(type));
    if (name == own) continue;
    if (gradients != nullptr && gradients->has(name)) facts_.join_all(functions_[name]);
    if (std::unique_ptr<Loop> loop = find_loop(*function, name)) {
      for (const Expr* choice : loop->choices) loop_choices_[choice] = loop.get();
      loops_[name] = std::move(loop);
    }
  }
  for (const Name& name : names_) {
    const Function* function = whole.function(name);
    post_order(function, [&](const Expr* expr) { visit(expr); });
    facts_.equate(functions_[name], known(function));
    const Loop* loop = this->loop(name);
    if (loop == nullptr) continue;
    for (const Expr* choice : loop->choices) {
      const LaneFacts::Id condition = of(static_cast<const If*>(choice)->condition().get());
      for (size_t i = 0; i < loop->invariant.size(); ++i) {
        if (!loop->invariant[i]) facts_.imply(condition, facts_.part(functions_[name], i));
      }
    }
  }
  const Function* entry = whole.function(own);
  for (size_t i = 0; i < entry->params().size(); ++i)
    set_inputs(form.in.at(i), facts_.part(functions_[own], i), entry->params()[i].get());
  bool calls = false;
  post_order(entry, [&](const Expr* node) {
    const auto* call = node->as<Call>();
    calls = calls || (call != nullptr && !call->callee()->is<Op>());
  });
  masked_ = !lanes.is_int() && calls;
  solve();
  if (masked_) facts_.set_masked();
}

void ProgramLanes::set_inputs(const LaneAxes& axes, LaneFacts::Id id, const Expr* param) {
  if (axes.fields.empty()) {
    if (axes.axis) facts_.set(id);
    return;
  }
  if (!facts_.is_tuple(id) || facts_.num_parts(id) != axes.fields.size())
    throw Error("the axes of parameter " + static_cast<const Var*>(param)->name().str() + " are " +
                    std::to_string(axes.fields.size()) + ", and its type is " +
                    facts_.lane_type(id)->str(),
                param->span());
  for (size_t i = 0; i < axes.fields.size(); ++i)
    set_inputs(axes.fields[i], facts_.part(id, i), param);
}

// What has lanes decides if functions take masks, and masks give what is written lanes.
void ProgramLanes::solve() {
  for (bool again = true; again;) {
    facts_.solve();
    again = false;
    bool wanted = masked_;
    for (const If* choice : ifs_) {
      if (!parts_lanes(choice)) continue;
      for (const ExprRef& branch : {choice->then_branch(), choice->else_branch()})
        wanted = wanted || (!is_simple(branch.get()) && loop_choices_.count(choice) == 0);
    }
    for (const auto& entry : loop_choices_) {
      const Expr* choice = entry.first;  // lambdas capture no parts of a pair
      const Loop* loop = entry.second;
      if (wanted || !parts_lanes(static_cast<const If*>(choice))) continue;
      // Calls of the loop itself are no reason.
      visit_each(choice, [&](const Expr* expr) {
        const auto* call = expr->as<Call>();
        if (call != nullptr && !call->callee()->is<Op>())
          wanted = wanted || loop->calls.count(call) == 0;
        if (expr->is<RefWrite>() || expr->is<Match>()) wanted = true;
        return true;
      });
    }
    if (!wanted || masked_) continue;
    masked_ = again = true;
    for (const RefWrite* write : writes_) facts_.set(facts_.part(of(write->ref().get()), 0));
  }
}

void ProgramLanes::put(const Expr* expr, LaneFacts::Id id) { ids_[expr] = id; }

LaneFacts::Id ProgramLanes::known(const Expr* expr) {
  if (const LaneFacts::Id* id = ids_.find(expr)) return *id;
  if (expr->type() == nullptr) return LaneFacts::kNone;
  if (is_open(*expr->type()))
    throw Error("vmap needs to know the types of values, and this one is " + expr->type()->str(),
                expr->span());
  const LaneFacts::Id id = facts_.make(TypeRef(expr->type()));
  put(expr, id);
  return id;
}

void ProgramLanes::visit(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return;
    case ExprKind::kGlobalVar:
      put(expr, functions_.at(static_cast<const GlobalVar*>(expr)->name()));
      return;
    case ExprKind::kCall:
      return visit_call(static_cast<const Call&>(*expr));
    case ExprKind::kLet: {
      const auto& let = static_cast<const Let&>(*expr);
      facts_.flow(known(let.value().get()), known(let.var().get()));
      put(expr, known(let.body().get()));
      return;
    }
    case ExprKind::kTupleGetItem: {
      const auto& item = static_cast<const TupleGetItem&>(*expr);
      put(expr, facts_.part(known(item.tuple().get()), item.index()));
      return;
    }
    case ExprKind::kRefRead:
      put(expr, facts_.part(known(expr->operands()[0].get()), 0));
      return;
    default:
      break;
  }
  const LaneFacts::Id id = known(expr);
  visit_node(*expr,
             Overloaded{[&](const Tuple& tuple) {
                          for (size_t i = 0; i < tuple.fields().size(); ++i)
                            facts_.flow(known(tuple.fields()[i].get()), facts_.part(id, i));
                        },
                        [&](const Function& function) {
                          for (size_t i = 0; i < function.params().size(); ++i)
                            facts_.equate(known(function.params()[i].get()), facts_.part(id, i));
                          facts_.flow(known(function.body().get()),
                                      facts_.part(id, function.params().size()));
                        },
                        [&](const If& choice) {
                          ifs_.push_back(&choice);
                          facts_.flow(known(choice.then_branch().get()), id);
                          facts_.flow(known(choice.else_branch().get()), id);
                          facts_.imply(known(choice.condition().get()), id);
                        },
                        [&](const Match& match) {
                          for (size_t i = 0; i < match.patterns().size(); ++i) {
                            visit_pattern(match.patterns()[i].get(), known(match.data().get()));
                            facts_.flow(known(match.clause_bodies()[i].get()), id);
                          }
                        },
                        [&](const RefCreate& cell) {
                          facts_.flow(known(cell.value().get()), facts_.part(id, 0));
                        },
                        [&](const RefWrite& write) {
                          writes_.push_back(&write);
                          facts_.flow(known(write.value().get()),
                                      facts_.part(known(write.ref().get()), 0));
                        },
                        [](const Expr&) {}});
}

void ProgramLanes::visit_pattern(const Pattern* pattern, LaneFacts::Id data) {
  if (pattern->kind() == PatternKind::kVar) {
    facts_.equate(data, known(pattern->var().get()));
    return;
  }
  for (size_t i = 0; i < pattern->fields().size(); ++i) {
    visit_pattern(pattern->fields()[i].get(), pattern->kind() == PatternKind::kTuple
                                                  ? facts_.part(data, i)
                                                  : facts_.field(*pattern->constructor(), i, data));
  }
}

void ProgramLanes::visit_call(const Call& call) {
  const Expr* callee = call.callee().get();
  const auto args = call.args();
  const LaneFacts::Id id = known(&call);
  if (callee->is<Op>()) {
    for (const ExprRef& arg : args) {
      std::vector<LaneFacts::Id> work{known(arg.get())};
      while (!work.empty()) {
        const LaneFacts::Id one = work.back();
        work.pop_back();
        if (facts_.is_tensor(one)) facts_.imply(one, id);
        for (size_t i = 0; i < facts_.num_parts(one); ++i) work.push_back(facts_.part(one, i));
      }
    }
  } else if (const auto* constructor = callee->as<Constructor>()) {
    std::vector<LaneFacts::Id> fields;
    for (size_t i = 0; i < args.size(); ++i) {
      fields.push_back(facts_.field(*constructor, i, id));
      facts_.flow(known(args[i].get()), fields.back());
    }
    fields_[&call] = std::move(fields);
  } else {
    const LaneFacts::Id function = known(callee);
    for (size_t i = 0; i < args.size(); ++i)
      facts_.flow(known(args[i].get()), facts_.part(function, i));
    facts_.equate(facts_.part(function, args.size()), id);
  }
}

}  // namespace relay::lanes
