// Type inference of a module that is a little different each time, as in an editor.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/infer/infer.h>

namespace relay {

/// What the functions of a module were typed as: the names of their group, and whether they were
/// the entry, on which types depend beside what the function says.
struct InferredAs {
  struct Hash {
    size_t operator()(const FunctionRef& function) const {
      return std::hash<const Function*>()(function.get());
    }
  };
  std::unordered_map<FunctionRef, std::vector<Name>, Hash> roles;
};

/// Like `infer_types`. Functions that `known` has, with the same role and signatures around them,
/// are not looked into again; those with another role are inferred anew. `known` is what it filled
/// in for the module before, or empty, and then knows this one.
std::vector<Diagnostic> infer_types_again(Module& module, InferredAs& known);

}  // namespace relay
