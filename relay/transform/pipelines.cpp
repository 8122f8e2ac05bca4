// The standard sequences of passes, in order.
#include <relay/transform/pass.h>

namespace relay {

// Level 0 writes the program as inference needs it, level 1 takes away what is not used, level 2
// computes what is known, level 3 shares what is equal.
PassRef standard_pipeline(int level) {
  std::vector<PassRef> passes;
  for (const char* name : {
           "Inline",                  // 1
           "RemoveUnusedFunctions",   // 1
           "SimplifyInference",       // 0
           "EliminateCommonSubexpr",  // 3
           "FoldConstant",            // 2
           "CanonicalizeOps",         // 3
           "FoldConstant",            // 2: what bias vectors have become
           "DeadCodeElimination",     // 1
           "InferType",               // 0
       }) {
    PassRef pass = create_pass(name);
    if (pass->info().opt_level <= level) passes.push_back(std::move(pass));
  }
  return make_sequential(std::move(passes), "standard");
}

}  // namespace relay
