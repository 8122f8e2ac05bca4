// ToANormalForm: every intermediate result has a name, in the order in which they are computed.
#include <relay/transform/bind_nodes.h>
#include <relay/transform/fusion.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>

namespace relay {
namespace {

FunctionRef to_a_normal_form(const FunctionRef& old, const Module& module, const PassContext&) {
  if (all_nodes_are_bound(old.get())) return old;
  const Program program = program_of(module);
  const View& view = program.view(without_waiting_nodes(program, old));
  const Regions& regions = view.scopes().regions();
  std::vector<char> in_kernel = primitive_regions(regions);
  return bind_nodes(view, [&](uint32_t node) { return in_kernel[regions.home(node)] == 0; });
}

RELAY_REGISTER_PASS({
    {"ToANormalForm",
     1,
     {},
     "Binds every intermediate result (constants too) by a let, in the region and at the place "
     "where it runs. A "
     "function in this form already is left as it is, and so are functions marked Primitive."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_function_pass(info, to_a_normal_form);
    },
});

}  // namespace
}  // namespace relay
