// Copies a computation stage by stage while stages are added and replaced.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The stage with its tensors replaced by those of `moved`.
Stage moved_stage(const Stage& old, const std::function<TensorId(TensorId)>& moved);

class StageCopier {
 public:
  explicit StageCopier(const Computation& from) : out_(from) { out_.stages.clear(); }

  /// The new name of a tensor of a placed stage.
  TensorId moved(TensorId id) const {
    return id.is_input() ? id
                         : names_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
  }
  /// A stage of the old computation that reads the new tensors.
  Stage renamed(const Stage& old) const;
  /// Adds a stage; returns its first output.
  TensorId add(Stage stage);
  /// Gives the outputs of the next old stage: those of a new one, or one by one.
  void place(Stage stage);
  void place_at(std::vector<TensorId> outputs) { names_.push_back(std::move(outputs)); }

  Axis new_axis(Dim extent) { return {out_.num_axes++, extent}; }
  const TensorInfo& info(TensorId id) const { return out_.info(id); }
  Computation finish();

 private:
  Computation out_;
  std::vector<std::vector<TensorId>> names_;
};

}  // namespace relay::te
