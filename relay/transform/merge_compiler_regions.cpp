// MergeCompilerRegions: regions of one code generator that follow each other become one.
#include <relay/analysis/regions.h>
#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

FunctionRef merge_regions(const FunctionRef& function, const Program& program,
                          const PassContext& context) {
  if (!program.operators(function).contains(compiler_begin_op())) return function;
  const View& view = program.view(function);
  AnnotatedRegions regions(view, &program.node_effects(view), {});
  if (!regions.merge())
    context.tell(
        Diagnostic::warning("not all regions are merged: the search for cycles between "
                            "them takes too many steps",
                            function->span()));
  ExprRef result = rewrite_post_order(
      function, [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        const uint32_t id = view.id(expr);
        if (id == View::kNone || !regions.is_begin(id)) return {};
        const uint32_t end = view.operands(id)[1];
        const uint32_t region = regions.region_of(id);
        if (!regions.is_end(end) || region == AnnotatedRegions::kNone ||
            regions.region_of(end) != region) {
          return {};
        }
        return operands[1]->operands()[1];
      });
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"MergeCompilerRegions",
     0,
     {ProgramState::kTyped},
     "Removes the annotations between regions of one code generator, of which one gives the other "
     "a value, unless what lies between them would then need its own result. Regions of different "
     "branches and functions stay apart."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(
          info, [](const Module& module, const PassContext& context) {
            return [program = program_of(module), &context](const FunctionRef& function) {
              return merge_regions(function, program, context);
            };
          });
    },
});

}  // namespace
}  // namespace relay
