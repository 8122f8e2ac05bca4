#include <relay/vm/compiler/onednn_code.h>

#include <unordered_map>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/ir/tensor_types.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/transform/external_code.h>
#include <relay/transform/pass.h>

namespace relay::vm {
namespace {

constexpr const char* kLibrary = "Library";
constexpr const char* kOneDnn = "onednn";

// True for what a primitive function consists of.
bool is_dataflow(const Expr* expr) {
  if (const auto* call = expr->as<Call>()) return call->callee()->is<relay::Op>();
  return expr->is<relay::Op>() || expr->is<Constant>() || expr->is<Var>() || expr->is<Tuple>() ||
         expr->is<TupleGetItem>();
}

// The function as plain dataflow: composite functions in it are inlined, lets are names of nodes.
relay::FunctionRef flat(const relay::FunctionRef& function, const std::string& symbol) {
  Module module;
  module.add_function(
      Name(symbol),
      make_function({function->params().begin(), function->params().end()}, function->body(),
                    TypeRef(function->ret_type()), {}, {}, {}, function->span()));
  PassContext context;
  for (const char* pass : {"InferType", "ToGraphNormalForm", "InferType", "DefuseOps",
                           "ToGraphNormalForm", "InferType"})
    module = (*create_pass(pass))(module, context);
  return relay::FunctionRef(module.function(Name(symbol)));
}

relay::FunctionRef generate(const relay::FunctionRef& function, const std::string& symbol) {
  relay::FunctionRef made = flat(function, symbol);
  post_order(made->body().get(), [&](const Expr* expr) {
    if (!is_dataflow(expr))
      throw Error(Diagnostic::error("dnnl takes calls of operators, tuples and constants alone",
                                    expr->span()));
  });
  // A kernel takes tensors as parameters, those that are constants too.
  std::vector<VarRef> params(made->params().begin(), made->params().end());
  std::vector<ExprRef> args(params.begin(), params.end());
  std::unordered_map<const Expr*, VarRef> constants;
  ExprRef body =
      rewrite_post_order(made->body(), [&](const Expr* expr, std::span<const ExprRef>) -> ExprRef {
        const auto* constant = expr->as<Constant>();
        if (constant == nullptr || constant->data().rank() == 0) return {};
        auto [place, is_new] = constants.try_emplace(expr);
        if (is_new) {
          place->second = make_var("constant", type_of_array(constant->data()), expr->span());
          params.push_back(place->second);
          args.emplace_back(expr);
        }
        return place->second;
      });
  const size_t given = made->params().size();
  ExprRef kernel = make_function(
      std::move(params), std::move(body), TypeRef(made->ret_type()), {}, {},
      make_dict_attrs({{"Primitive", AttrValue(int64_t{1})}, {kLibrary, AttrValue(kOneDnn)}}),
      made->span());
  kernel = copy_with_fresh_vars(kernel);
  if (args.size() == given) return relay::FunctionRef(kernel->as<relay::Function>());
  return make_function({made->params().begin(), made->params().end()},
                       make_call(kernel, args, {}, {}, made->span()), TypeRef(made->ret_type()), {},
                       {}, {}, made->span());
}

[[maybe_unused]] const bool registered = [] {
  register_code_generator("dnnl",
                          "Products and convolutions of float32 by oneDNN, which is loaded when "
                          "they run; what follows them is compiled as usual.",
                          generate);
  return true;
}();

}  // namespace

bool is_for_onednn(const relay::Function& primitive) {
  AttrValue library = dict_attr(primitive.attrs(), kLibrary);
  const auto* name = library.get<std::string>();
  return name != nullptr && *name == kOneDnn;
}

}  // namespace relay::vm
