#include <relay/infer/again.h>
#include <relay/infer/infer.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/infer/functions/inferencer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay {
namespace inference {
namespace {

using Entry = Module::FunctionEntry;

/// The global functions that a function mentions, in the order of their first mention. Parts
/// without any are not looked into.
std::vector<Name> mentioned_globals(const Function* function) {
  std::vector<Name> names;
  std::unordered_set<Name> found;
  PointerSet<Expr> seen;
  std::vector<const Expr*> stack{function};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    if (!expr->contains(ExprPart::kGlobal)) continue;
    if (!expr->has_one_owner() && !seen.insert(expr)) continue;
    const auto* global = expr->as<GlobalVar>();
    if (global != nullptr && found.insert(global->name()).second) names.push_back(global->name());
    auto operands = expr->operands();
    for (size_t i = operands.size(); i-- > 0;) stack.push_back(operands[i].get());
  }
  return names;
}

/// Strongly connected components of the functions, callees first (Tarjan, without recursion).
class Groups {
 public:
  explicit Groups(const Module& module) : entries_(module.functions()) {
    size_t count = entries_.size();
    std::unordered_map<Name, size_t> index;
    for (size_t i = 0; i < count; ++i) index.emplace(entries_[i].name, i);
    edges_.resize(count);
    called_.resize(count);
    if (count > 1) {
      for (size_t i = 0; i < count; ++i) {
        for (Name name : mentioned_globals(entries_[i].function.get())) {
          auto found = index.find(name);
          if (found == index.end()) continue;
          edges_[i].push_back(found->second);
          if (found->second != i) called_[found->second] = true;
        }
      }
    }
    std::vector<size_t> all(count);
    for (size_t i = 0; i < count; ++i) all[i] = i;
    for (std::vector<size_t>& component : components(all, false)) {
      const std::vector<size_t>& edges = edges_[component[0]];
      if (component.size() > 1 ||
          std::find(edges.begin(), edges.end(), component[0]) != edges.end()) {
        for (size_t i : component) recursive_.insert(entries_[i].name);
      }
      if (component.size() == 1) {
        groups_.push_back(std::move(component));
        continue;
      }
      // T12: functions whose signature is fully written do not tie others together.
      for (std::vector<size_t>& part : components(component, true))
        groups_.push_back(std::move(part));
    }
  }

  const std::vector<std::vector<size_t>>& groups() const { return groups_; }
  const std::unordered_set<Name>& recursive() const { return recursive_; }
  bool called(size_t i) const { return called_[i]; }

 private:
  std::vector<std::vector<size_t>> components(const std::vector<size_t>& nodes,
                                              bool skip_annotated) {
    constexpr size_t kUnseen = SIZE_MAX;
    size_t count = entries_.size();
    std::vector<size_t> order(count, kUnseen), low(count, 0);
    std::vector<bool> inside(count), on_stack(count);
    for (size_t node : nodes) inside[node] = true;
    std::vector<size_t> stack;
    std::vector<std::pair<size_t, size_t>> frames;  // node, next edge
    std::vector<std::vector<size_t>> result;
    size_t next = 0;
    auto enter = [&](size_t node) {
      order[node] = low[node] = next++;
      stack.push_back(node);
      on_stack[node] = true;
      frames.emplace_back(node, 0);
    };
    for (size_t root : nodes) {
      if (order[root] != kUnseen) continue;
      enter(root);
      while (!frames.empty()) {
        auto& [node, edge] = frames.back();
        if (edge < edges_[node].size()) {
          size_t target = edges_[node][edge++];
          if (!inside[target]) continue;
          if (skip_annotated && fully_annotated(entries_[target].function.get())) continue;
          size_t from = node;
          if (order[target] == kUnseen) {
            enter(target);
          } else if (on_stack[target]) {
            low[from] = std::min(low[from], order[target]);
          }
          continue;
        }
        size_t done = node;
        frames.pop_back();
        if (!frames.empty()) {
          low[frames.back().first] = std::min(low[frames.back().first], low[done]);
        }
        if (low[done] != order[done]) continue;
        std::vector<size_t>& component = result.emplace_back();
        for (size_t member = kUnseen; member != done;) {
          member = stack.back();
          stack.pop_back();
          on_stack[member] = false;
          component.push_back(member);
        }
        std::sort(component.begin(), component.end());
      }
    }
    return result;
  }

  const std::vector<Entry>& entries_;
  std::vector<std::vector<size_t>> edges_;
  std::vector<bool> called_;
  std::vector<std::vector<size_t>> groups_;
  std::unordered_set<Name> recursive_;
};

/// Finds out if the types of a typed function are right for the data types of this module: it may
/// have been typed in another one, whose types with these names differ.
class DataUses {
 public:
  explicit DataUses(const Module& module) : module_(module) {}

  bool hold(const Expr* expr) {
    switch (expr->kind()) {
      case ExprKind::kConstructor:
        return known(static_cast<const Constructor*>(expr));
      case ExprKind::kMatch: {
        const auto* match = static_cast<const Match*>(expr);
        for (const PatternRef& pattern : match->patterns()) {
          if (!known(pattern.get())) return false;
        }
        // Another type of the name may have the same constructors, and more.
        return !match->complete() || unmatched_cases(*match, module_, 1).complete();
      }
      case ExprKind::kVar:
        return known(static_cast<const Var*>(expr)->annotation());
      case ExprKind::kLet:
        return known(static_cast<const Let*>(expr)->var()->annotation());
      case ExprKind::kFunction: {
        const auto* function = static_cast<const Function*>(expr);
        for (const VarRef& param : function->params()) {
          if (!known(param->annotation())) return false;
        }
        return known(function->ret_type());
      }
      case ExprKind::kCall: {
        for (const TypeRef& argument : static_cast<const Call*>(expr)->type_args()) {
          if (!known(argument)) return false;
        }
        return true;
      }
      default:
        return true;
    }
  }

 private:
  bool known(const Constructor* constructor) const {
    return module_.constructor(constructor->name()) == constructor;
  }
  // Patterns nest no deeper than Pattern::kMaxDepth.
  bool known(const Pattern* pattern) {
    if (pattern->kind() == PatternKind::kConstructor && !known(pattern->constructor().get()))
      return false;
    if (pattern->kind() == PatternKind::kVar) return known(pattern->var()->annotation());
    for (const PatternRef& field : pattern->fields()) {
      if (!known(field.get())) return false;
    }
    return true;
  }
  bool known(const TypeRef& type) {
    if (!type || !types_.insert(type.get()).second) return true;
    DiagnosticSink sink;
    check_kind(type, module_, sink);
    return !sink.has_errors();
  }

  const Module& module_;
  std::unordered_set<const Type*> types_;
};

/// True if everything in a function is typed, against the current signatures and data types. Global
/// variables carry the signature that they were inferred against. Settled nodes are not looked
/// into. Operators have their types in the registry: the node of one that is only called has none.
/// Without `past_operators`, a function that calls one is not up to date: whether it was typed as
/// an entry, or in a group, does not show.
bool up_to_date(const Function* function, const Context& context, bool past_operators) {
  DataUses data(context.module);
  PointerSet<Expr> seen;
  std::vector<const Expr*> stack{function};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    if (expr->settled() || (past_operators && expr->is<Op>())) continue;
    if (!expr->has_one_owner() && !seen.insert(expr)) continue;
    if (expr->type() == nullptr || !data.hold(expr)) return false;
    if (const auto* global = expr->as<GlobalVar>()) {
      auto signature = context.signatures.find(global->name());
      const Type* known = signature == context.signatures.end() ? nullptr : signature->second.get();
      if (known == nullptr) {
        // In the same group: its published signature, if that has not changed.
        const Function* other = context.module.function(global->name());
        known = other == nullptr ? nullptr : other->type();
      }
      if (known == nullptr || !types_equal(known, expr->type())) return false;
    }
    for (const ExprRef& operand : expr->operands()) stack.push_back(operand.get());
  }
  return true;
}

using Members = std::vector<const Entry*>;

Members members_of(const Module& module, const std::vector<size_t>& group) {
  Members members;
  for (size_t i : group) members.push_back(&module.functions()[i]);
  return members;
}

bool up_to_date(const Members& members, const Context& context, bool past_operators) {
  return std::all_of(members.begin(), members.end(), [&](const Entry* member) {
    return up_to_date(member->function.get(), context, past_operators);
  });
}

void copy_functions(Module& module, const Members& members) {
  for (const Entry* member : members) {
    ExprRef copy = copy_nodes(member->function);
    module.update_function(member->name, FunctionRef(copy->as<Function>()));
  }
}

// Errors are reported on copies: reporting needs types, which the nodes do not get. If the copies
// have none, the error was that settled nodes have the types of variables as these were: then the
// module has the copies.
void report_group(Module& module, const std::vector<size_t>& group, bool is_entry,
                  Context& context) {
  Module apart = module;
  copy_functions(apart, members_of(apart, group));
  Context inner(apart);
  inner.signatures = context.signatures;
  inner.explained = context.explained;
  const Members members = members_of(apart, group);
  if (Inferencer(inner, Nodes::kOwn).infer_group(members, is_entry) == GroupResult::kTyped) {
    for (const Entry* member : members) module.update_function(member->name, member->function);
  }
  context.signatures = std::move(inner.signatures);
  context.explained = inner.explained;
  for (Diagnostic& diagnostic : inner.sink.take()) context.sink.add(std::move(diagnostic));
}

/// How the functions of a group were typed before, as far as it is known.
enum class Before : uint8_t { kUnknown, kAlike, kOtherwise };

// Types a group: as it is, or, where its nodes have other types, copies that the module then has.
void infer_group(Module& module, const std::vector<size_t>& group, bool is_entry, Before before,
                 Context& context) {
  Members members = members_of(module, group);
  if (before != Before::kOtherwise && up_to_date(members, context, before == Before::kAlike)) {
    for (const Entry* member : members)
      context.signatures[member->name] = TypeRef(member->function->type());
    return;
  }
  switch (Inferencer(context).infer_group(members, is_entry)) {
    case GroupResult::kTyped:
      return;
    case GroupResult::kFailed:
      return report_group(module, group, is_entry, context);
    case GroupResult::kConflict:
      copy_functions(module, members);
      Inferencer(context, Nodes::kOwn).infer_group(members_of(module, group), is_entry);
  }
}

void check_types(const Module& module, DiagnosticSink& sink) {
  for (const TypeDataRef& data : module.types()) check_kind(data, module, sink, data->span());
}

}  // namespace

std::unordered_set<Name> recursive_functions(const Module& module) {
  // For a function alone, Groups does not look at its calls.
  if (module.functions().size() == 1) return {module.functions()[0].name};
  return Groups(module).recursive();
}

}  // namespace inference

namespace inference {
namespace {

/// The role in which a group is typed: the entry's variables are decided, those of others are
/// parameters, and functions of one group are monomorphic to each other.
std::vector<Name> role_of(const Module& module, const std::vector<size_t>& group, bool is_entry) {
  std::vector<Name> role;
  for (size_t i : group) role.push_back(module.functions()[i].name);
  std::sort(role.begin(), role.end(),
            [](const Name& a, const Name& b) { return a.str() < b.str(); });
  if (is_entry) role.push_back(Name());
  return role;
}

Before before(const InferredAs& known, const Module& module, const std::vector<size_t>& group,
              const std::vector<Name>& role) {
  bool all = true;
  for (size_t i : group) {
    auto found = known.roles.find(module.functions()[i].function);
    if (found == known.roles.end()) {
      all = false;
    } else if (found->second != role) {
      return Before::kOtherwise;
    }
  }
  return all ? Before::kAlike : Before::kUnknown;
}

std::vector<Diagnostic> infer_all(Module& module, InferredAs* known) {
  Context context(module);
  check_types(module, context.sink);
  Groups groups(module);
  const Entry* entry = module.entry();
  InferredAs now;
  for (const std::vector<size_t>& group : groups.groups()) {
    bool is_entry =
        group.size() == 1 && &module.functions()[group[0]] == entry && !groups.called(group[0]);
    if (known == nullptr) {
      infer_group(module, group, is_entry, Before::kUnknown, context);
      continue;
    }
    const std::vector<Name> role = role_of(module, group, is_entry);
    infer_group(module, group, is_entry, before(*known, module, group, role), context);
    for (size_t i : group) now.roles.emplace(module.functions()[i].function, role);
  }
  if (known != nullptr) *known = std::move(now);
  return context.sink.take();
}

}  // namespace
}  // namespace inference

std::vector<Diagnostic> infer_types(Module& module) {
  return inference::infer_all(module, nullptr);
}

std::vector<Diagnostic> infer_types_again(Module& module, InferredAs& known) {
  return inference::infer_all(module, &known);
}

void infer_types_or_throw(Module& module, std::vector<Diagnostic>* warnings) {
  std::vector<Diagnostic> diagnostics = infer_types(module);
  bool failed = std::any_of(diagnostics.begin(), diagnostics.end(),
                            [](const Diagnostic& d) { return d.severity == Severity::kError; });
  if (failed) throw Error(std::move(diagnostics));
  if (warnings != nullptr) {
    warnings->insert(warnings->end(), std::make_move_iterator(diagnostics.begin()),
                     std::make_move_iterator(diagnostics.end()));
  }
}

TypeRef infer_expr_type(const ExprRef& expr, const Module& module) {
  using namespace inference;
  Module typed = module;
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (entry.function->type() != nullptr) continue;
    infer_types_or_throw(typed);
    break;
  }
  Context context(typed);
  for (const Module::FunctionEntry& entry : typed.functions()) {
    context.signatures.emplace(entry.name, TypeRef(entry.function->type()));
  }
  GroupResult outcome = GroupResult::kTyped;
  TypeRef type = Inferencer(context).infer_root(expr, outcome);
  // Errors are reported on a copy, which may have partly wrong types.
  if (outcome == GroupResult::kFailed)
    type = Inferencer(context, Nodes::kOwn).infer_root(copy_nodes(expr), outcome);
  context.sink.throw_if_errors();
  return type;
}

TypeRef function_signature(const Module& module, Name function) {
  const Function* found = module.function(function);
  if (found == nullptr) throw Error("unknown function @" + function.str());
  if (found->type() != nullptr) return TypeRef(found->type());
  Module typed = module;
  infer_types_or_throw(typed);
  return TypeRef(typed.function(function)->type());
}

}  // namespace relay
