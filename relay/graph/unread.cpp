#include <relay/graph/unread.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/stage_copier.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {

std::vector<size_t> drop_unread(te::Computation& computation, const std::vector<bool>& wanted) {
  auto [inputs, stages] = te::needed_tensors(computation);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (wanted[i]) inputs[i] = true;
  }
  std::vector<size_t> left;
  std::vector<int32_t> input_at(inputs.size(), -1), stage_at(stages.size(), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    input_at[i] = static_cast<int32_t>(left.size());
    left.push_back(i);
  }
  int32_t next = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (stages[s]) stage_at[s] = next++;
  }
  auto moved = [&](te::TensorId id) {
    return id.is_input() ? te::TensorId{-1, input_at[static_cast<size_t>(id.index)]}
                         : te::TensorId{stage_at[static_cast<size_t>(id.stage)], id.index};
  };
  te::Computation old = std::move(computation);
  computation = {};
  computation.num_axes = old.num_axes;
  computation.num_vars = old.num_vars;
  for (size_t i : left) computation.inputs.push_back(std::move(old.inputs[i]));
  for (size_t s = 0; s < stages.size(); ++s) {
    if (stages[s]) computation.stages.push_back(te::moved_stage(old.stages[s], moved));
  }
  for (te::Output& output : old.outputs) {
    output.tensor = moved(output.tensor);
    computation.outputs.push_back(std::move(output));
  }
  return left;
}

void renumber_elements(Work& work, const std::vector<size_t>& kept) {
  for (Work::Element& element : work.elements) {
    auto found = std::find(kept.begin(), kept.end(), element.input);
    RELAY_CHECK(found != kept.end(), "an input that a size is read from is not read");
    element.input = static_cast<uint32_t>(found - kept.begin());
  }
}

}  // namespace relay::graph
