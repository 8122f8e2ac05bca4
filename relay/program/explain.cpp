#include <relay/program/explain.h>

#include <optional>

#include <relay/print/annotated.h>
#include <relay/program/cost.h>
#include <relay/program/flow.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

namespace relay {
namespace {

std::string one(uint32_t id) { return id == View::kNone ? "-" : std::to_string(id); }

// "%x 3", where a variable has a name.
std::string named(const View& view, uint32_t id) {
  const auto* var = view.expr(id)->as<Var>();
  return var == nullptr ? one(id) : "%" + var->name().str();
}

std::string users(const Program&, const View& view, uint32_t id) {
  std::string text;
  for (Users::Use use : view.users()[id]) text += (text.empty() ? "" : " ") + one(use.user);
  return text.empty() ? "-" : text;
}

std::string home(const Program&, const View& view, uint32_t id) {
  const Scopes& scopes = view.scopes();
  std::string text = "scope " + std::to_string(scopes.home(id));
  std::string opened;
  for (uint32_t i = 0; i < view.operands(id).size(); ++i) {
    const uint32_t place = scopes.place(id, i);
    if (place != scopes.home(id)) opened += " " + std::to_string(place);
  }
  return opened.empty() ? text : text + ", opens" + opened;
}

std::string free_variables(const Program&, const View& view, uint32_t id) {
  if (view.kind(id) != ExprKind::kFunction) return {};
  std::string text;
  for (uint32_t var : view.free_variables(id)) text += (text.empty() ? "" : " ") + named(view, var);
  return text.empty() ? "-" : text;
}

std::string effect(const Program& program, const View& view, uint32_t id) {
  const NodeEffects& effects = program.node_effects(view);
  if (effects.acts(id)) return "acts";
  return effects.effectful(id) ? "after an effect" : "";
}

std::string constancy(const Program& program, const View& view, uint32_t id) {
  return Constancy::constant(program.constancy().fact(view, id)) ? "constant" : "";
}

// "@f 12": a literal by its function and number there, a global one by its name.
std::string callee(const Program& program, const Flow::Functions::Place& place) {
  for (const Module::FunctionEntry& entry : program.module().functions()) {
    if (entry.function.get() != place.view->root().get()) continue;
    const std::string name = "@" + entry.name.str();
    return place.id + 1 == place.view->size() ? name : name + " " + one(place.id);
  }
  return "-";
}

std::string callees(const Program& program, const View& view, uint32_t id) {
  if (view.kind(id) != ExprKind::kCall) return {};
  const ExprKind kind = view.kind(view.operands(id)[0]);
  if (kind == ExprKind::kOp || kind == ExprKind::kConstructor) return {};
  const Flow& flow = program.call_effects();
  const Flow::Functions found = flow.functions(view, view.operands(id)[0]);
  std::string text;
  for (const Flow::Functions::Place& function : found.functions)
    text += (text.empty() ? "" : ", ") + callee(program, function);
  if (!found.known) text += text.empty() ? "unknown" : ", unknown";
  if (text.empty()) text = "never runs";
  return flow.effect(view, id) != 0 ? text + "; acts" : text;
}

std::string cost(const Program&, const View& view, uint32_t id) {
  const std::optional<Cost> cost = call_cost(view.expr(id));
  if (!cost) return {};
  std::string text = cost->operations.str() + " operations, " + cost->bytes.str() + " bytes";
  return cost->macs.is_int() && cost->macs.as_int() == 0 ? text
                                                         : text + ", " + cost->macs.str() + " macs";
}

std::string liveness(const Program&, const View& view, uint32_t id) {
  if (view.liveness().escapes(id)) return "result";
  return "until " + one(view.liveness().last_use(id));
}

}  // namespace

const std::vector<ColumnText>& column_texts() {
  static const auto& all = *new std::vector<ColumnText>{
      {"numbers", "each node's number: operands before users", false,
       [](const Program&, const View&, uint32_t) { return std::string(); }},
      {"types", "the type that inference published", true,
       [](const Program&, const View& view, uint32_t id) {
         const Type* type = view.expr(id)->type();
         return type == nullptr ? std::string("_") : type->str();
       }},
      {"users", "the nodes that use it, one for each place", false, users},
      {"home", "the innermost scope that contains all uses; a branch, clause or body opens one",
       false, home},
      {"free-variables", "of function literals: the variables from outside", false, free_variables},
      {"effect", "whether its evaluation has an effect, or waits for one", false, effect},
      {"constancy", "whether its value is the same whatever the arguments are", false, constancy},
      {"callees",
       "of calls of functions: those that may run (literals by function and number), and if one "
       "acts",
       false, callees},
      {"cost", "of calls of operators: arithmetic, and bytes read and written", true, cost},
      {"dominators", "the last node that all ways to it pass", false,
       [](const Program&, const View& view, uint32_t id) {
         return "after " + one(view.dominators().parent(id));
       }},
      {"post-dominators", "the first node that all ways from it pass", false,
       [](const Program&, const View& view, uint32_t id) {
         return "before " + one(view.post_dominators().parent(id));
       }},
      {"liveness", "the node with the last use of its value; results outlive their scope", false,
       liveness},
      {"call-graph", "of functions: the component, callees first, and whether it is recursive",
       false,
       [](const Program& program, const View& view, uint32_t id) {
         if (id + 1 != view.size()) return std::string();
         for (const Module::FunctionEntry& entry : program.module().functions()) {
           if (entry.function.get() != view.root().get()) continue;
           const CallGraph& graph = program.call_graph();
           std::string text = "component " + std::to_string(graph.component(entry.name));
           for (const Name& callee : graph.callees(entry.name)) text += " @" + callee.str();
           return text + (graph.is_recursive(entry.name) ? ", recursive" : "");
         }
         return std::string();
       }},
  };
  return all;
}

std::string explain_program(const Program& program, std::string_view name) {
  const ColumnText* column = nullptr;
  std::vector<std::string> names;
  for (const ColumnText& each : column_texts()) {
    names.emplace_back(each.name);
    if (each.name == name) column = &each;
  }
  if (column == nullptr) {
    Diagnostic diagnostic = Diagnostic::error("there is no column " + std::string(name));
    suggest(diagnostic, std::string(name), names);
    throw Error(std::move(diagnostic));
  }
  auto remark = [&](const Expr* function, const Expr* expr) -> std::string {
    const View& view = program.view(FunctionRef(static_cast<const Function*>(function)));
    auto of = [&](uint32_t id) {
      const std::string text = column->text(program, view, id);
      return std::to_string(id) + (text.empty() ? "" : ": " + text);
    };
    const uint32_t id = view.id(expr);
    const uint32_t binder = expr->is<Var>() ? view.binder(id) : View::kNone;
    // The text has no place for a let itself, which other remarks may mention.
    if (binder == View::kNone || view.kind(binder) != ExprKind::kLet) return of(id);
    return of(id) + "; let " + of(binder);
  };
  return "// " + std::string(name) + ": " + std::string(column->doc) + "\n" +
         print_annotated(program.module(), remark);
}

}  // namespace relay
