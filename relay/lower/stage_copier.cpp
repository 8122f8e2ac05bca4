#include <relay/lower/stage_copier.h>

namespace relay::lower {

te::Stage StageCopier::renamed(const te::Stage& old) const {
  te::Stage stage = old;
  ScalarRewriter rewrite = moved_loads([this](te::TensorId id) { return moved(id); });
  rewrite_roots(stage, [&](const te::ScalarRef& root) { return rewrite(root); });
  if (auto* view = std::get_if<te::View>(&stage.body)) {
    view->source = moved(view->source);
  } else if (auto* update = std::get_if<te::Update>(&stage.body)) {
    update->base = moved(update->base);
  } else if (auto* library = std::get_if<te::Library>(&stage.body)) {
    for (te::TensorId& id : library->inputs) id = moved(id);
  }
  return stage;
}

te::TensorId StageCopier::add(te::Stage stage) {
  out_.stages.push_back(std::move(stage));
  return {static_cast<int32_t>(out_.stages.size()) - 1, 0};
}

void StageCopier::place(te::Stage stage) {
  std::vector<te::TensorId> outputs;
  for (size_t k = 0; k < stage.outputs.size(); ++k) {
    outputs.push_back({static_cast<int32_t>(out_.stages.size()), static_cast<int32_t>(k)});
  }
  out_.stages.push_back(std::move(stage));
  names_.push_back(std::move(outputs));
}

te::Computation StageCopier::finish() {
  for (te::Output& output : out_.outputs) output.tensor = moved(output.tensor);
  return std::move(out_);
}

}  // namespace relay::lower
