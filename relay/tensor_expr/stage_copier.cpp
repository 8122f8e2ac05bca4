#include <relay/tensor_expr/stage_copier.h>

#include <relay/tensor_expr/rewrite.h>

namespace relay::te {

Stage moved_stage(const Stage& old, const std::function<TensorId(TensorId)>& moved) {
  Stage stage = old;
  ScalarRewriter rewrite = moved_loads(moved);
  rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite(root); });
  if (auto* view = std::get_if<View>(&stage.body)) {
    view->source = moved(view->source);
  } else if (auto* update = std::get_if<Update>(&stage.body)) {
    update->base = moved(update->base);
  } else if (auto* library = std::get_if<Library>(&stage.body)) {
    for (TensorId& id : library->inputs) id = moved(id);
  }
  return stage;
}

Stage StageCopier::renamed(const Stage& old) const {
  return moved_stage(old, [this](TensorId id) { return moved(id); });
}

TensorId StageCopier::add(Stage stage) {
  out_.stages.push_back(std::move(stage));
  return {static_cast<int32_t>(out_.stages.size()) - 1, 0};
}

void StageCopier::place(Stage stage) {
  std::vector<TensorId> outputs;
  for (size_t k = 0; k < stage.outputs.size(); ++k) {
    outputs.push_back({static_cast<int32_t>(out_.stages.size()), static_cast<int32_t>(k)});
  }
  out_.stages.push_back(std::move(stage));
  names_.push_back(std::move(outputs));
}

Computation StageCopier::finish() {
  for (Output& output : out_.outputs) output.tensor = moved(output.tensor);
  return std::move(out_);
}

}  // namespace relay::te
