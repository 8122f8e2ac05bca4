// The standard passes, in order.
#include <relay/transform/pass.h>

#include <algorithm>

namespace relay {
namespace {

struct Step {
  const char* pass;
  PassOptions for_machine{};  // options that differ there
  bool portable_only = false;
  int level = 0;  // where the pass itself is of a lower one
};

// Level 0 writes the program as inference needs it, level 1 removes unused parts, level 2 computes
// known values, level 3 writes calls shorter, shares equal ones and moves work into constants,
// level 4 takes approximations.
const std::vector<Step>& steps() {
  static const std::vector<Step> list = {
      {"Inline"},                                        // 1
      {"RemoveUnusedFunctions", {}, true},               // 1
      {"SimplifyInference", {{"elementwise", true}}},    // 0
      {"EliminateCommonSubexpr"},                        // 3: constants are made once
      {"FoldConstant"},                                  // 2
      {"SimplifyExpr", {{"exact", true}}, false, 3},     // 0
      {"EliminateCommonSubexpr"},                        // 3: what has become equal
      {"BackwardFoldScaleAxis", {{"constants", true}}},  // 3
      // Not for the machine: a multiplication beside an access to memory is not worth its rounding.
      {"ForwardFoldScaleAxis", {}, true},  // 3
      {"FoldConstant"},                    // 2: scaled weights
      {"FoldExplicitPadding"},             // 0
      {"CanonicalizeOps"},                 // 3
      {"FastMath"},                        // 4: before constants are computed by what it calls
      {"FoldConstant"},                    // 2: what bias vectors have become
      {"DeadCodeElimination"},             // 1
      {"InferType"},                       // 0
  };
  return list;
}

}  // namespace

std::vector<PassRef> standard_passes(PassGoal goal, int level,
                                     const std::vector<std::string>& required) {
  bool machine = goal == PassGoal::kMachine;
  std::vector<PassRef> passes;
  for (const Step& step : steps()) {
    if (machine && step.portable_only) continue;
    PassRef pass = create_pass(step.pass, machine ? step.for_machine : PassOptions());
    bool wanted = std::max(step.level, pass->info().opt_level) <= level ||
                  std::find(required.begin(), required.end(), step.pass) != required.end();
    if (wanted) passes.push_back(std::move(pass));
  }
  return passes;
}

PassRef standard_pipeline(int level, const std::vector<std::string>& required) {
  return make_sequential(standard_passes(PassGoal::kPortable, level, required), "standard");
}

}  // namespace relay
