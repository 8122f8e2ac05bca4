// A section of a graph: native launches that workers run together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <relay/runtime/team.h>
#include <relay/vm/machine/dataflow_plan.h>
#include <relay/vm/machine/image.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm {

/// One worker's report of a section: its earliest failure.
struct alignas(64) WorkerState {
  uint32_t launch = kNone;
  int32_t code = 0;
  FailureDetail detail;
};

/// The nanoseconds of a steady clock.
uint64_t profile_clock();

/// One run of a section: its phases are the team's stages.
class SectionRun final : public TeamWork {
 public:
  struct Memory {
    void* const* buffers;  // arguments of all launches of the graph
    std::byte* scratch;    // of all workers
    std::span<WorkerState> workers;
  };
  SectionRun(const Image& image, const Graph& graph, const DataflowShape& shape,
             const DataflowPlan& plan, uint32_t section, Memory memory,
             const std::atomic<bool>& interrupt, Profile* profile);

  Stage stage(uint32_t number) override;
  void work(const TeamTurn& turn) override;
  /// Runs all phases without a team.
  void run_alone();
  /// Call it after the run. Throws Interrupted, or DataflowFailure for the earliest failed task of
  /// the earliest failed launch, whichever worker ran it.
  void throw_if_failed() const;
  /// True if workers share it.
  bool threaded() const { return threaded_; }

 private:
  DataflowPlan::Phase phase(uint32_t number) const;
  bool nothing_to_do(uint32_t index) const;
  bool stopped();
  void run_chains(const TeamTurn& turn);
  void run_launch(uint32_t index, const TeamTurn& turn, int list);
  void record(uint32_t index);
  double predict(uint32_t index);

  const Image& image_;
  const Graph& graph_;
  const DataflowShape& shape_;
  const DataflowPlan& plan_;
  const DataflowShape::Section& section_;
  const DataflowPlan::Phase* const phases_;
  const uint32_t num_phases_;
  const Memory memory_;
  const std::atomic<bool>& interrupt_;
  Profile* const profile_;
  bool threaded_;
  std::span<const DataflowPlan::Chain> chains_;
  uint64_t begin_ns_ = 0;                // of the launch that is measured
  std::atomic<uint32_t> failed_{kNone};  // the first launch that failed
  std::atomic<bool> stopped_{false};     // interrupted
};

}  // namespace relay::vm
