// SplitArgs: joins of very many tensors become joins of joins.
#include <algorithm>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/support/error.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// At most `limit` of them for each call, in levels, each a kernel of its own.
ExprRef split_join(const Call& call, std::span<const ExprRef> operands, size_t limit) {
  const auto* given = operands[1]->as<Tuple>();
  if (given == nullptr || given->fields().size() <= limit) return {};
  std::vector<ExprRef> parts(given->fields().begin(), given->fields().end());
  auto join = [&](std::span<const ExprRef> fields) {
    const ExprRef tuple[] = {make_tuple(fields, call.span())};
    return make_call(operands[0], tuple, call.attrs(), {}, call.span());
  };
  while (parts.size() > limit) {
    std::vector<ExprRef> joined;
    for (size_t at = 0; at < parts.size(); at += limit) {
      const size_t count = std::min(limit, parts.size() - at);
      if (count == 1) {
        joined.push_back(parts[at]);
        continue;
      }
      joined.push_back(make_stop_fusion(join(std::span(parts).subspan(at, count)), call.span()));
    }
    parts = std::move(joined);
  }
  return join(parts);
}

RELAY_REGISTER_PASS({
    {"SplitArgs",
     1,
     {ProgramState::kTyped},
     "Makes a concatenation of more tensors than a kernel may take one of concatenations, which "
     "are "
     "kernels of their own."},
    {{"max_function_args", "Tensors that one call joins, at most; 0 is no limit.", int64_t{0}}},
    [](const PassInfo& info, const PassOptions& options) {
      const auto limit = option<int64_t>(options, "max_function_args");
      if (limit < 0 || limit == 1)
        throw Error("option max_function_args of pass SplitArgs is 0, or at least 2");
      return make_function_pass(info, [limit](const FunctionRef& function, const Module&,
                                              const PassContext&) {
        if (limit == 0) return function;
        auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
          if (!call_attrs<ConcatenateAttrs>(expr)) return {};
          return split_join(static_cast<const Call&>(*expr), operands, static_cast<size_t>(limit));
        };
        return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
      });
    },
});

}  // namespace
}  // namespace relay
