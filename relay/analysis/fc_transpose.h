// Parameters that a program transposes before it multiplies with them.
#pragma once

#include <string>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

struct TransposedWeight {
  const Var* param;
  std::vector<const Expr*> transposes;  // all its uses
};

/// The matrices among the parameters of a typed function whose uses all are transposes that are
/// weights of nn.dense, in the order of the parameters.
std::vector<TransposedWeight> transposed_weights(const FunctionRef& function);

/// Names of variables `w` in calls `nn.dense(x, transpose(w, axes=[1, 0]))`, sorted, each once.
std::vector<std::string> search_fc_transpose(const Expr* root);

}  // namespace relay
