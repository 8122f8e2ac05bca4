// Runs regions of dataflow: sizes, memory, kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/vm/machine/dataflow_plan.h>
#include <relay/vm/machine/image.h>
#include <relay/vm/machine/machine.h>

namespace relay {
class Workers;
}

namespace relay::vm {

struct DataflowState;

/// The graphs of one image for one machine, with their plans and buffers.
class DataflowRunner {
 public:
  DataflowRunner(const Image& image, std::shared_ptr<Workers> workers,
                 const std::atomic<bool>* interrupt);
  ~DataflowRunner();

  /// Fills `results`, one for each output. Throws DataflowFailure if the program fails, Error for
  /// lack of memory or an interruption.
  void run(uint32_t graph, std::span<Value> inputs, std::span<Value> results);
  /// The inputs of the last run that were not dense, as dense tensors. A caller that keeps these
  /// instead has no copy made again.
  std::vector<std::pair<uint32_t, NDArray>>& made_dense() { return made_dense_; }
  void set_profile(Profile* profile) { profile_ = profile; }

 private:
  struct Shared;
  void run_sections(DataflowState& state, const DataflowPlan& plan, std::span<const Value> inputs);

  const Image& image_;
  std::shared_ptr<Workers> workers_;
  const std::atomic<bool>* interrupt_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<DataflowState>> graphs_;
  std::vector<NDArray> arrays_;  // of a library kernel
  std::vector<std::pair<uint32_t, NDArray>> made_dense_;
  Profile* profile_ = nullptr;
};

}  // namespace relay::vm
