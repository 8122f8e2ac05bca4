// Inline: calls of globals marked Inline=1.
#include <map>
#include <unordered_set>

#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/program/call_graph.h>
#include <relay/transform/external_code.h>
#include <relay/transform/inline_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

bool marked(const Function& function) {
  if (!function.attrs()) return false;
  AttrValue value = dict_attr(function.attrs(), "Inline");
  if (const auto* flag = value.get<bool>()) return *flag;
  const auto* number = value.get<int64_t>();
  return number != nullptr && *number != 0;
}

// All functions, those mentioned before those that mention them; and those that can reach
// themselves.
struct Order {
  std::vector<Name> callees_first;
  std::unordered_set<Name> recursive;

  Order(const Module& module, const CallGraph& graph) {
    // Tarjan's strongly connected components with an explicit stack.
    struct State {
      size_t index = 0, low = 0;
      bool open = false;
    };
    struct Frame {
      Name name;
      size_t next;
    };
    std::map<Name, State> states;
    std::vector<Name> open;
    size_t time = 0;
    for (const auto& root : module.functions()) {
      if (states[root.name].index != 0) continue;
      std::vector<Frame> stack;
      auto enter = [&](Name name) {
        State& state = states[name];
        state.index = state.low = ++time;
        state.open = true;
        open.push_back(name);
        stack.push_back({name, 0});
      };
      enter(root.name);
      while (!stack.empty()) {
        Frame& frame = stack.back();
        Name name = frame.name;
        const std::vector<Name>& callees = graph.callees(name);
        if (frame.next < callees.size()) {
          Name callee = callees[frame.next++];
          if (callee == name) recursive.insert(name);
          State& state = states[callee];
          if (state.index == 0) {
            enter(callee);
          } else if (state.open) {
            states[name].low = std::min(states[name].low, state.index);
          }
          continue;
        }
        stack.pop_back();
        State& state = states[name];
        if (!stack.empty()) {
          State& caller = states[stack.back().name];
          caller.low = std::min(caller.low, state.low);
        }
        if (state.low != state.index) continue;
        bool several = !(open.back() == name);
        for (;;) {
          Name member = open.back();
          open.pop_back();
          states[member].open = false;
          callees_first.push_back(member);
          if (several) recursive.insert(member);
          if (member == name) break;
        }
      }
    }
  }
};

size_t count_nodes(const Function* function) {
  size_t count = 0;
  post_order(function, [&](const Expr*) { ++count; });
  return count;
}

// The nodes that inlining may still add. A chain of functions that call each other twice doubles
// with each.
class Budget {
 public:
  explicit Budget(int64_t nodes) : limit_(nodes), left_(nodes) {}

  // True if the nodes of `callee`, which the module has as `name`, can be added once more.
  bool take(Name name, const Function* callee) {
    auto [entry, fresh] = sizes_.try_emplace(name, 0);
    if (fresh) entry->second = static_cast<int64_t>(count_nodes(callee));
    if (entry->second > left_) return false;
    left_ -= entry->second;
    return true;
  }

  void tell(const Call* call, Name callee, const PassContext& context) {
    if (!told_.insert(callee).second) return;
    context.tell(Diagnostic::warning("@" + callee.str() +
                                         " is not inlined at all its calls: that "
                                         "would add more than " +
                                         std::to_string(limit_) + " nodes to the program",
                                     call->span())
                     .help("the option max_nodes of Inline sets this limit"));
  }

 private:
  const int64_t limit_;
  int64_t left_;
  std::unordered_map<Name, int64_t> sizes_;  // of functions in which everything is inlined
  std::unordered_set<Name> told_;
};

Module inline_marked(const Module& module, const PassContext& context, int64_t max_nodes) {
  bool any = false;
  for (const auto& entry : module.functions()) any |= marked(*entry.function);
  if (!any) return module;

  Order order(module, CallGraph(module));
  Effects effects(module);
  Budget budget(max_nodes);
  Module result = module;
  auto inlined = [&](const Expr* callee, size_t arguments) -> const Function* {
    const auto* global = callee->as<GlobalVar>();
    if (global == nullptr || order.recursive.count(global->name()) != 0) return nullptr;
    const Function* function = result.function(global->name());
    if (function == nullptr || !marked(*function) || !can_inline(*function, arguments))
      return nullptr;
    return function;
  };
  for (Name name : order.callees_first) {
    FunctionRef function(result.function(name));
    auto effectful = effects.effectful_nodes(function.get());
    ExprRef rewritten = rewrite_post_order(
        function, [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (!expr->is<Call>()) return {};
          const Function* callee = inlined(operands[0].get(), operands.size() - 1);
          if (callee == nullptr) return {};
          const Name callee_name = operands[0]->as<GlobalVar>()->name();
          if (!budget.take(callee_name, callee)) {
            budget.tell(expr->as<Call>(), callee_name, context);
            return {};
          }
          // A code generator's function stays one: its literal takes the global's place.
          if (compiler_of(*callee)) return call_copy(*callee, operands.subspan(1), expr->span());
          bool pure = true;
          for (const ExprRef& arg : expr->operands().subspan(1))
            pure &= effectful.count(arg.get()) == 0;
          return inline_call(*callee, operands.subspan(1), pure);
        });
    if (!(rewritten == function)) {
      result.update_function(name, FunctionRef(rewritten->as<Function>()));
    }
  }
  // Marked functions go once nothing mentions them any more.
  CallGraph after(result);
  for (const auto& entry : module.functions()) {
    const Module::FunctionEntry* start = module.entry();
    bool is_entry = start != nullptr && start->name == entry.name;
    if (marked(*entry.function) && after.ref_count(entry.name) == 0 && !is_entry) {
      result.remove_function(entry.name);
    }
  }
  return result;
}

RELAY_REGISTER_PASS({
    {"Inline",
     1,
     {ProgramState::kTyped},
     "Puts the body of global functions marked `Inline=1` in the place of calls, and removes those "
     "that nothing mentions any more. A function of a code generator (`Compiler`) stays one, "
     "without a name. Recursive and polymorphic functions stay, and so do calls "
     "that "
     "would make the program too large."},
    {{"max_nodes",
      "Number of nodes that may be added to the program. Further calls stay, with a warning.",
      int64_t{1'000'000}}},
    [](const PassInfo& info, const PassOptions& options) {
      int64_t most = option<int64_t>(options, "max_nodes");
      return make_module_pass(info, [most](const Module& module, const PassContext& context) {
        return inline_marked(module, context, most);
      });
    },
});

}  // namespace
}  // namespace relay
