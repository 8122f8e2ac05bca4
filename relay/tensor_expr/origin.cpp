#include <relay/tensor_expr/origin.h>

#include <relay/tensor_expr/rewrite.h>

namespace relay::te {

void renumber_origins(Stage& stage, const std::function<uint32_t(uint32_t)>& number) {
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
    if (node->origin == 0 && args == node->args) return node;
    Ref<ScalarNode> copy = copy_node(*node);
    copy->args = args;
    if (node->origin != 0) copy->origin = number(node->origin);
    return ScalarRef(copy);
  });
  rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite(root); });
  auto renumber = [&](uint32_t& origin) {
    if (origin != 0) origin = number(origin);
  };
  if (auto* update = std::get_if<Update>(&stage.body)) renumber(update->origin);
  if (auto* library = std::get_if<Library>(&stage.body)) renumber(library->origin);
}

}  // namespace relay::te
