#include <relay/transform/bind_params.h>

#include <string>

#include <relay/ir/rewrite.h>
#include <relay/support/error.h>

namespace relay {

Module bind_params(const Module& module, Name function,
                   const std::unordered_map<size_t, NDArray>& values) {
  const Function* old = module.function(function);
  if (old == nullptr) throw Error("there is no function @" + function.str());
  std::unordered_map<const Var*, ExprRef> replacement;
  for (const auto& [position, array] : values) {
    if (position >= old->params().size()) {
      throw Error("@" + function.str() + " has no parameter " + std::to_string(position + 1));
    }
    const VarRef& param = old->params()[position];
    replacement[param.get()] = make_constant(array, param->span());
  }
  std::vector<VarRef> params;
  for (size_t i = 0; i < old->params().size(); ++i) {
    if (!values.contains(i)) params.push_back(old->params()[i]);
  }
  Module result = module;
  result.update_function(
      function,
      make_function(std::move(params), substitute(old->body(), replacement), old->ret_type(),
                    old->type_params(), old->constraints(), old->attrs(), old->span()));
  return result;
}

}  // namespace relay
