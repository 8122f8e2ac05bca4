// Runs graphs: sizes, memory, kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/vm/machine/graph_plan.h>
#include <relay/vm/machine/image.h>
#include <relay/vm/machine/machine.h>

namespace relay {
class Workers;
}

namespace relay::vm {

struct GraphState;

/// The graphs of one image for one machine, with their plans and buffers.
class GraphRunner {
 public:
  GraphRunner(const Image& image, std::shared_ptr<Workers> workers,
              const std::atomic<bool>* interrupt);
  ~GraphRunner();

  /// Fills `results`, one for each output. Throws GraphFailure where the program fails, Error for
  /// lack of memory or an interruption.
  void run(uint32_t graph, std::span<Value> inputs, std::span<Value> results);
  void set_profile(Profile* profile) { profile_ = profile; }

 private:
  struct Shared;
  void run_sections(GraphState& state, const GraphPlan& plan);

  const Image& image_;
  std::shared_ptr<Workers> workers_;
  const std::atomic<bool>* interrupt_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<GraphState>> graphs_;
  std::vector<NDArray> arrays_;  // of a library kernel
  Profile* profile_ = nullptr;
};

}  // namespace relay::vm
