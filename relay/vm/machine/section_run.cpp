#include <relay/vm/machine/section_run.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>

#include <relay/runtime/failure_text.h>
#include <relay/runtime/tape.h>

namespace relay::vm {

namespace {

// Pieces of one worker's share: the end of a launch waits for one at most.
constexpr int64_t kMostPieces = 16;

}  // namespace

uint64_t profile_clock() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

SectionRun::SectionRun(const Image& image, const Graph& graph, const DataflowShape& shape,
                       const DataflowPlan& plan, uint32_t section, Memory memory,
                       const std::atomic<bool>& interrupt, Profile* profile)
    : image_(image),
      graph_(graph),
      shape_(shape),
      plan_(plan),
      section_(shape.sections[section]),
      phases_(plan.phases.data() + plan.shares[section].phases),
      num_phases_(plan.shares[section + 1].phases - plan.shares[section].phases),
      memory_(memory),
      interrupt_(interrupt),
      profile_(profile),
      threaded_(plan.shares[section].threaded),
      chains_(profile == nullptr ? plan.shares[section].chains
                                 : std::span<const DataflowPlan::Chain>()) {
  // What is to be copied after all is shared by all workers.
  for (uint32_t i : plan.shares[section].copies) {
    if (nothing_to_do(i)) continue;
    chains_ = {};
    threaded_ = plan.shares[section].copying;
  }
}

// True for a copy of what lies in its place already.
bool SectionRun::nothing_to_do(uint32_t index) const {
  void* const* buffers = memory_.buffers + shape_.first_buffer[index];
  const std::vector<Launch::InPlace>& pairs = graph_.launches[index].in_place;
  return std::any_of(pairs.begin(), pairs.end(), [&](const Launch::InPlace& pair) {
    return pair.copy && buffers[pair.written] == buffers[pair.read];
  });
}

// While it is measured, each launch by itself.
DataflowPlan::Phase SectionRun::phase(uint32_t number) const {
  if (profile_ == nullptr) return phases_[number];
  const uint32_t launch = section_.begin + number;
  return {launch, launch + 1, threaded_ && plan_.pieces[launch] != 0};
}

TeamWork::Stage SectionRun::stage(uint32_t number) {
  if (profile_ != nullptr && number > 0) record(section_.begin + number - 1);
  const uint32_t count = profile_ != nullptr ? section_.end - section_.begin
                         : chains_.empty()   ? num_phases_
                                             : 1;
  // After a failure all tasks of that launch still run, and those of its phase before it, so that
  // the report does not depend on which worker ran which task.
  if (number == count || failed_.load(std::memory_order_relaxed) != kNone || stopped()) {
    return Stage::kNone;
  }
  const bool shared = !chains_.empty() || phase(number).shared;
  return shared ? Stage::kShared : Stage::kAlone;
}

bool SectionRun::stopped() {
  if (!interrupt_.load(std::memory_order_relaxed)) return false;
  stopped_.store(true, std::memory_order_relaxed);
  return true;
}

void SectionRun::work(const TeamTurn& turn) {
  if (profile_ != nullptr && turn.first) begin_ns_ = profile_clock();
  if (!chains_.empty()) return run_chains(turn);
  const DataflowPlan::Phase now = phase(turn.stage);
  int list = 0;
  for (uint32_t i = now.begin; i < now.end; ++i) {
    const bool shared = now.shared && plan_.pieces[i] != 0;
    // The launches behind one that failed would run on data that may be of any kind.
    const bool skip = i > failed_.load(std::memory_order_relaxed) || stopped();
    if (!skip && (shared || turn.first)) run_launch(i, turn, shared ? list : -1);
    if (shared) ++list;
  }
}

// Each worker takes whole chains.
void SectionRun::run_chains(const TeamTurn& turn) {
  TeamTasks tasks(turn, 0, kMostPieces, &interrupt_);
  const TeamTurn alone{turn.stage, turn.worker, true, nullptr};
  int64_t range[2];
  while (tasks.take(&tasks, static_cast<int64_t>(chains_.size()), range) != 0) {
    for (int64_t chain = range[0]; chain < range[1]; ++chain) {
      for (uint32_t i : chains_[static_cast<size_t>(chain)]) {
        // Behind the first failure of all nothing counts, and in its chain nothing can run.
        if (i > failed_.load(std::memory_order_relaxed) || stopped()) break;
        run_launch(i, alone, -1);
      }
    }
  }
  if (tasks.stopped()) stopped_.store(true, std::memory_order_relaxed);
}

void SectionRun::run_alone() {
  if (profile_ != nullptr) return Workers::run_alone(*this);
  const TeamTurn turn;
  for (uint32_t i = section_.begin; i < section_.end; ++i) {
    if (stopped() || failed_.load(std::memory_order_relaxed) != kNone) return;
    run_launch(i, turn, -1);
  }
}

// One worker's part of a launch; all of it where it has no list of tasks.
void SectionRun::run_launch(uint32_t index, const TeamTurn& turn, int list) {
  const Launch& launch = graph_.launches[index];
  WorkerState& worker = memory_.workers[static_cast<size_t>(turn.worker)];
  KernelArgs args;
  args.buffers = memory_.buffers + shape_.first_buffer[index];
  if (nothing_to_do(index)) return;
  args.dims = plan_.dims.data() + shape_.first_dim[index];
  args.scratch = memory_.scratch + static_cast<size_t>(turn.worker) * plan_.scratch_bytes;
  args.functions = kernel_functions();
  FailureDetail detail;
  args.detail = &detail;
  args.first = turn.first ? 1 : 0;
  args.stop = &interrupt_;
  int32_t code = 0;
  if (list >= 0 && turn.job != nullptr) {
    const int64_t pieces = plan_.pieces[index] / static_cast<int64_t>(memory_.workers.size());
    TeamTasks tasks(turn, list, std::clamp(pieces, int64_t{1}, kMostPieces), &interrupt_);
    args.tasks = &tasks;
    code = image_.kernels[launch.kernel](&args);
    if (tasks.stopped()) stopped_.store(true, std::memory_order_relaxed);
  } else {
    ShareOfTasks tasks;
    args.tasks = &tasks;
    code = image_.kernels[launch.kernel](&args);
    trim_tape();
  }
  if (code == 0) return;
  if (code < 0) {
    stopped_.store(true, std::memory_order_relaxed);
    return;
  }
  if (index < worker.launch) worker = {index, code, detail};
  uint32_t before = failed_.load(std::memory_order_relaxed);
  while (index < before &&
         !failed_.compare_exchange_weak(before, index, std::memory_order_relaxed)) {
  }
}

void SectionRun::record(uint32_t index) {
  const Launch& launch = graph_.launches[index];
  const uint64_t duration = profile_clock() - begin_ns_;
  Profile::Kernel& entry = profile_->kernels[launch.kernel];
  ++entry.calls;
  entry.nanoseconds += duration;
  if (launch.flops != kNone) entry.flops += plan_.slots[launch.flops];
  if (launch.bytes != kNone) entry.bytes += plan_.slots[launch.bytes];
  const double predicted = profile_->model != nullptr ? predict(index) : 0;
  if (predicted > 0) {
    entry.predicted_ns += predicted;
    ++entry.predicted_calls;
  }
  if (profile_->trace) profile_->events.push_back({launch.kernel, begin_ns_, duration, predicted});
}

// The time of a launch; 0 if its work is not known. Memory stands in the cache that holds all that
// was touched since. A launch moves no more than its instructions can, though it may be given a
// table that it hardly looks at.
double SectionRun::predict(uint32_t index) {
  const MachineModel& model = *profile_->model;
  const Launch& launch = graph_.launches[index];
  void* const* buffers = memory_.buffers + shape_.first_buffer[index];
  LaunchWork work;
  double moved = 0;
  for (size_t a = 0; a < launch.arguments.size(); ++a) {
    if (std::find(buffers, buffers + a, buffers[a]) != buffers + a) continue;
    const auto bytes = static_cast<int64_t>(plan_.bytes[launch.arguments[a].place]);
    const int64_t reach = profile_->touched.age(buffers[a], bytes) + bytes;
    moved += static_cast<double>(bytes);
    if (reach <= model.first_bytes) continue;
    const MemoryLevel level = reach <= model.second_bytes ? MemoryLevel::kSecond
                              : reach <= model.last_bytes ? MemoryLevel::kLast
                                                          : MemoryLevel::kMemory;
    work.bytes[static_cast<size_t>(level)] += static_cast<double>(bytes);
  }
  for (size_t a = 0; a < launch.arguments.size(); ++a) {
    const auto bytes = static_cast<int64_t>(plan_.bytes[launch.arguments[a].place]);
    profile_->touched.touch(buffers[a], bytes);
  }
  if (launch.products == kNone || launch.steps == kNone || launch.functions == kNone) return 0;
  work.products = static_cast<double>(plan_.slots[launch.products]);
  work.steps = static_cast<double>(plan_.slots[launch.steps]);
  work.functions = static_cast<double>(plan_.slots[launch.functions]);
  const double most = (work.products + work.steps) * static_cast<double>(model.vector_bytes);
  if (moved > most) {
    for (double& bytes : work.bytes) bytes *= most / moved;
  }
  work.shared = threaded_ && plan_.pieces[index] != 0;
  return predicted_ns(model, work);
}

void SectionRun::throw_if_failed() const {
  if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
  if (failed_.load(std::memory_order_relaxed) == kNone) return;
  const WorkerState& first = *std::min_element(memory_.workers.begin(), memory_.workers.end(),
                                               [](const auto& a, const auto& b) {
                                                 return std::tie(a.launch, a.detail.task, a.code) <
                                                        std::tie(b.launch, b.detail.task, b.code);
                                               });
  const Launch& launch = graph_.launches[first.launch];
  const Kernel& kernel = image_.executable->kernels[launch.kernel];
  const auto code = static_cast<uint32_t>(first.code);
  DataflowFailure failure;
  failure.message = code - 1 < kernel.messages.size()
                        ? kernel.messages[code - 1]
                        : "kernel " + kernel.name + " failed with code " + std::to_string(code);
  failure.position = launch.position;
  const uint32_t origin = code - 1 < kernel.origins.size() ? kernel.origins[code - 1] : 0;
  if (origin != 0 && origin <= launch.origins.size() && launch.origins[origin - 1] != 0) {
    failure.position = launch.origins[origin - 1];
  }
  if (first.detail.index != FailureDetail::kUnset && first.detail.extent != FailureDetail::kUnset) {
    failure.message = with_index(failure.message, first.detail.index, first.detail.extent);
  }
  throw failure;
}

}  // namespace relay::vm
