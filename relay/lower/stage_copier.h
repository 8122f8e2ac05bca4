// Copying a computation stage by stage while stages are added and replaced.
#pragma once

#include <utility>
#include <vector>

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

class StageCopier {
 public:
  explicit StageCopier(const te::Computation& from) : out_(from) { out_.stages.clear(); }

  /// The new name of a tensor of a stage that has been placed.
  te::TensorId moved(te::TensorId id) const {
    return id.is_input() ? id
                         : names_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }
  /// A stage of the old computation that reads the new tensors.
  te::Stage renamed(const te::Stage& old) const;
  /// Adds a stage; its first output.
  te::TensorId add(te::Stage stage);
  /// The outputs of the next old stage are those of a new one, or given one by one.
  void place(te::Stage stage);
  void place_at(std::vector<te::TensorId> outputs) { names_.push_back(std::move(outputs)); }

  te::Axis new_axis(Dim extent) { return {out_.num_axes++, extent}; }
  const te::TensorInfo& info(te::TensorId id) const { return out_.info(id); }
  te::Computation finish();

 private:
  te::Computation out_;
  std::vector<std::vector<te::TensorId>> names_;
};

}  // namespace relay::lower
