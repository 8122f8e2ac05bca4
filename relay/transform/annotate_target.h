// AnnotateTarget: which calls a code generator of others can take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <relay/transform/pass.h>

namespace relay {

/// True if the code generator `target` can take a call of an operator. The call is typed.
using TargetCheck = std::function<bool(const std::string& target, const ExprRef& call)>;

struct AnnotateTargetOptions {
  /// The first that can take a call gets it.
  std::vector<std::string> targets;
  bool include_non_call_ops = true;
  TargetCheck supports;
};

/// Throws `Error` for no target, or one without a name.
PassRef make_annotate_target(AnnotateTargetOptions options);

}  // namespace relay
