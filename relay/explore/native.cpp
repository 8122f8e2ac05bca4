#include <relay/explore/native.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include <relay/support/error.h>
#include <relay/support/threads.h>
#include <relay/vm/machine/dataflow_plan.h>
#include <relay/vm/machine/deadline.h>

namespace relay::explore {
namespace {

constexpr int kWarmRuns = 2;
constexpr int kMostRuns = 10;
constexpr double kRunSeconds = 1;  // that measured runs take together, about

// The arguments with which a graph runs when the entry itself runs it on its parameters; nothing
// where values in between are its inputs.
std::optional<std::vector<Value>> inputs_of(const vm::Executable& executable, size_t graph,
                                            const std::string& entry,
                                            const std::vector<Value>& arguments) {
  for (const vm::Entry& each : executable.entries) {
    if (each.name != entry) continue;
    const vm::Function& function = executable.functions[each.function];
    for (const vm::Instruction& at : function.code) {
      if (at.op != vm::Op::kRunGraph || at.a != graph) continue;
      if (at.b != 0) return std::nullopt;  // it adds to references
      std::vector<Value> inputs;
      for (uint32_t i = 0; i < executable.graphs[graph].num_inputs; ++i) {
        const uint32_t reg = function.args[at.first + i] & ~vm::kLast;
        if (reg >= arguments.size() || reg >= function.num_params) return std::nullopt;
        inputs.push_back(arguments[reg]);
      }
      return inputs;
    }
  }
  return std::nullopt;
}

// The pieces of each line of a text; a piece may go over several.
std::vector<std::vector<int32_t>> by_line(std::string_view text, const te::OriginRuns& origins) {
  std::vector<std::vector<int32_t>> lines;
  te::OriginRuns line;
  size_t at = 0;
  for (const te::OriginRuns::Run& run : origins.runs()) {
    for (size_t left = run.length; left > 0;) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const size_t length = std::min(end - at, left);
      line.add(length, run.origin);
      at += length;
      left -= length;
      if (left == 0) break;
      --left;  // the end of the line
      ++at;
      std::vector<int32_t>& pieces = lines.emplace_back();
      for (const te::OriginRuns::Run& piece : line.runs()) {
        if (piece.origin == 0 && line.runs().size() == 1) break;
        pieces.push_back(static_cast<int32_t>(piece.length));
        pieces.push_back(static_cast<int32_t>(piece.origin));
      }
      line = {};
    }
  }
  return lines;
}

std::vector<int32_t> run_lengths(const std::vector<uint32_t>& origins) {
  std::vector<int32_t> runs;
  for (uint32_t each : origins) {
    const auto origin = static_cast<int32_t>(each);
    if (runs.empty() || runs.back() != origin) runs.insert(runs.end(), {0, origin});
    ++runs[runs.size() - 2];
  }
  return runs;
}

const char* home_name(vm::DataflowShape::Home home) {
  switch (home) {
    case vm::DataflowShape::Home::kInput:
      return "input";
    case vm::DataflowShape::Home::kConstant:
      return "constant";
    case vm::DataflowShape::Home::kCell:
      return "number";
    case vm::DataflowShape::Home::kResult:
      return "result";
    default:
      return "arena";
  }
}

}  // namespace

void Native::loops(const std::vector<std::shared_ptr<const lower::Kernel>>& kernels,
                   const codegen::Target& target) {
  std::vector<codegen::Assembly> assembly(kernels.size());
  with_stack(0, kernels.size(),
             [&](size_t k) { assembly[k] = codegen::emit_assembly(*kernels[k], target); });
  size_t next = 0;
  for (size_t k = 0; k < kernels_.size() && next < kernels.size(); ++k) {
    if (!executable_.kernels[k].library.empty()) continue;
    te::OriginRuns origins;
    const std::string loops = kernels[next]->str(origins);
    kernels_[k].loops = tables_.lines(loops);
    kernels_[k].loop_operators = by_line(loops, origins);
    kernels_[k].assembly = tables_.lines(assembly[next].text);
    kernels_[k].assembly_operators = run_lengths(assembly[next].origins);
    ++next;
  }
}

void Native::run(std::shared_ptr<const vm::Executable> executable, const std::string& entry,
                 const std::vector<Value>& arguments, const Options& options) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> never{false};
  std::atomic<bool>& flag = options.interrupt == nullptr ? never : *options.interrupt;
  vm::Deadline deadline(flag, vm::seconds_from_now(options.run_seconds));
  vm::Machine machine(std::move(executable), {.threads = options.threads, .interrupt = &flag});
  entry_ = entry;
  arguments_ = arguments;
  try {
    for (int i = 0; i < kWarmRuns; ++i) machine.run(entry, arguments);
    profile_.trace = true;
    machine.set_profile(&profile_);
    const Clock::time_point begin = Clock::now();
    do {
      machine.run(entry, arguments);
      profile_.trace = false;
      ++runs_;
    } while (runs_ < kMostRuns &&
             std::chrono::duration<double>(Clock::now() - begin).count() < kRunSeconds);
  } catch (const vm::Interrupted&) {
    if (!deadline.passed()) throw;
    flag = false;
    runs_ = 0;
    profile_ = {};
    throw Error(fmt::format("it takes more than {} s", options.run_seconds));
  }
}

void Native::write(JsonWriter& json, const Options& options) {
  write_kernels(json);
  if (runs_ > 0) write_profile(json, options);
  write_memory(json);
}

void Native::write_kernels(JsonWriter& json) const {
  json.key("kernels").begin_array();
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const vm::Kernel& kernel = executable_.kernels[k];
    json.begin_object().field("name", kernel.name).field("by", kernel.implementation);
    json.field("source", kernel.source).field("parallel", kernel.parallel);
    json.field("loops", kernels_[k].loops).field("assembly", kernels_[k].assembly);
    json.field("loop_operators", kernels_[k].loop_operators);
    json.field("assembly_operators", kernels_[k].assembly_operators);
    if (k < profile_.kernels.size() && runs_ > 0) {
      const vm::Profile::Kernel& measured = profile_.kernels[k];
      json.field("calls", measured.calls / static_cast<uint64_t>(runs_));
      json.field("ms", static_cast<double>(measured.nanoseconds) * 1e-6 / runs_);
      json.field("flops", measured.flops / runs_).field("bytes", measured.bytes / runs_);
    }
    json.end_object();
  }
  json.end_array();
}

// Milliseconds of each launch of all graphs, in order: of the traced run if that ran each launch
// once in this order, else the mean of its kernel.
std::vector<double> Native::launch_times() const {
  std::vector<uint32_t> launched;
  for (const vm::Graph& graph : executable_.graphs) {
    for (const vm::Launch& launch : graph.launches) launched.push_back(launch.kernel);
  }
  const bool in_order =
      std::ranges::equal(profile_.events, launched, {}, &vm::Profile::Event::kernel);
  std::vector<double> times;
  for (size_t i = 0; i < launched.size(); ++i) {
    const vm::Profile::Kernel& kernel = profile_.kernels[launched[i]];
    const double mean = kernel.calls == 0 ? 0
                                          : static_cast<double>(kernel.nanoseconds) /
                                                static_cast<double>(kernel.calls);
    times.push_back((in_order ? static_cast<double>(profile_.events[i].duration_ns) : mean) * 1e-6);
  }
  return times;
}

void Native::write_profile(JsonWriter& json, const Options& options) const {
  json.key("profile").begin_object().field("runs", runs_);
  json.field("ms", static_cast<double>(profile_.total_nanoseconds) * 1e-6 / runs_);
  json.field("gflops", options.peak_gflops).field("gigabytes", options.peak_gigabytes);
  json.field("launches", launch_times()).end_object();
}

void Native::write_memory(JsonWriter& json) const {
  json.key("memory").begin_array();
  for (size_t i = 0; i < executable_.graphs.size(); ++i) {
    const vm::Graph& graph = executable_.graphs[i];
    json.begin_object().field("name", graph.name).field("launches", graph.launches.size());
    const vm::DataflowShape shape(graph, executable_);
    std::unique_ptr<vm::DataflowPlan> plan;
    try {
      std::vector<int64_t> key;
      const auto inputs = inputs_of(executable_, i, entry_, arguments_);
      if (inputs) vm::read_leaves(graph, shape, *inputs, key);
      if (inputs || shape.leaves.empty()) plan = vm::make_plan(graph, shape, executable_, key);
    } catch (const vm::DataflowFailure&) {  // these sizes are impossible: nothing to draw
    }
    json.field("planned", plan != nullptr);
    if (plan != nullptr) {
      json.field("scratch", plan->scratch_bytes).field("arenas", plan->arena_bytes);
      json.key("places").begin_array();
      for (uint32_t place = 0; place < graph.places.size(); ++place) {
        if (shape.root[place] != place || shape.first_use[place] == vm::kNone) continue;
        json.begin_array().value(home_name(shape.home[place]));
        json.value(plan->bytes[place]);
        const bool arena = shape.home[place] == vm::DataflowShape::Home::kArena;
        json.value(arena ? static_cast<int64_t>(plan->offsets[place]) : -1);
        json.value(shape.first_use[place]).value(shape.last_use[place]);
        json.value(arena ? shape.arena[place] : 0).end_array();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace relay::explore
