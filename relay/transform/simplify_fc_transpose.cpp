// SimplifyFCTranspose: weights that are transposed before each product are parameters transposed.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <relay/analysis/fc_transpose.h>
#include <relay/ir/rewrite.h>
#include <relay/program/call_graph.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

namespace relay {
namespace {

using TransposedUses = std::unordered_map<const Expr*, VarRef>;  // transpose → new parameter

FunctionRef take_transposed(const FunctionRef& function,
                            const std::unordered_set<std::string>& names) {
  std::vector<VarRef> params = function->params();
  TransposedUses uses;
  for (const TransposedWeight& weight : transposed_weights(function)) {
    if (names.count(weight.param->name().str()) == 0) continue;
    const auto* type = weight.param->type()->as<TensorType>();
    const Dim dims[] = {type->dims()[1], type->dims()[0]};
    VarRef turned = make_var(Name(weight.param->name().str() + ".T"),
                             TensorType::make(dims, type->dtype()), weight.param->span());
    std::replace(params.begin(), params.end(), VarRef(weight.param), turned);
    for (const Expr* use : weight.transposes) uses[use] = turned;
  }
  if (uses.empty()) return function;
  class Writer final : public Rewriter {
   public:
    explicit Writer(const TransposedUses& uses) : uses_(uses) {}

   private:
    ExprRef enter(const Expr* expr) override {
      auto found = uses_.find(expr);
      return found == uses_.end() ? ExprRef() : ExprRef(found->second);
    }
    const TransposedUses& uses_;
  };
  return with_body(function, std::move(params), Writer(uses).run(function->body()));
}

// Throws `Error` for a name that no parameter has of a function which nobody calls.
void check_names(const Module& module, const CallGraph& graph,
                 const std::unordered_set<std::string>& names) {
  std::set<std::string> unknown(names.begin(), names.end());
  const Module::FunctionEntry* first = nullptr;
  for (const auto& entry : module.functions()) {
    if (graph.ref_count(entry.name) > 0) continue;
    if (first == nullptr) first = &entry;
    for (const VarRef& param : entry.function->params()) unknown.erase(param->name().str());
  }
  if (const Module::FunctionEntry* entry = module.entry()) first = entry;
  if (first != nullptr && !unknown.empty())
    find_parameter(*first->function, first->name, *unknown.begin());
}

RELAY_REGISTER_PASS({
    {"SimplifyFCTranspose",
     4,
     {ProgramState::kTyped},
     "Replaces the parameters `w` of these names, where each use is the second operand of nn.dense "
     "after a transpose, by parameters `w.T` that are transposed already. The caller transposes "
     "the "
     "arrays once. Functions that others call stay.",
     {},
     false,
     PassInfo::Signature::kOther},
    {{"target_weight_name", "Names of parameters (analysis search_fc_transpose finds them).",
      std::vector<std::string>{}}},
    [](const PassInfo& info, const PassOptions& options) {
      const auto& list = option<std::vector<std::string>>(options, "target_weight_name");
      std::unordered_set<std::string> names(list.begin(), list.end());
      return make_module_pass(info, [names](const Module& module, const PassContext&) {
        Module result = module;
        CallGraph graph(module);
        check_names(module, graph, names);
        for (const auto& entry : module.functions()) {
          if (graph.ref_count(entry.name) > 0) continue;
          result.update_function(entry.name, take_transposed(entry.function, names));
        }
        return result;
      });
    },
});

}  // namespace
}  // namespace relay
