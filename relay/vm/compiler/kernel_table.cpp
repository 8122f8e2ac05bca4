#include <relay/vm/compiler/kernel_table.h>

#include <algorithm>

#include <relay/ir/dim_error.h>
#include <relay/support/threads.h>
#include <relay/vm/compiler/direct.h>

namespace relay::vm {
namespace {

// One call of the direct evaluator.
lower::Lowered directly(const graph::WorkRef& work) {
  const te::Computation& computation = work->computation();
  lower::Lowered lowered;
  lower::LibraryLaunch launch;
  launch.name = kDirectKernel;
  launch.params.emplace_back("work", register_direct(work));
  lowered.num_inputs = computation.inputs.size();
  for (const te::TensorInfo& input : computation.inputs) {
    launch.inputs.push_back(static_cast<int32_t>(lowered.places.size()));
    lowered.places.push_back({input, -1});
  }
  for (const te::Output& output : computation.outputs) {
    auto place = static_cast<int32_t>(lowered.places.size());
    lowered.outputs.push_back(place);
    launch.outputs.push_back(place);
    lowered.places.push_back({{output.dims, computation.info(output.tensor).dtype}, -1});
  }
  lowered.launches.emplace_back(std::move(launch));
  return lowered;
}

}  // namespace

lower::Lowered KernelTable::lower_work(const graph::WorkRef& work) const {
  if (options_.direct) return directly(work);
  lower::LowerOptions options;
  options.processor = options_.target.processor;
  options.onednn = options_.onednn;
  options.prepared = work->prepared;
  return lower::lower(work->computation(), work->name, options);
}

void KernelTable::take_tuned(lower::Lowered& lowered, const codegen::TunedKernels& tuned) const {
  for (std::shared_ptr<const lower::Kernel>& kernel : lowered.kernels) {
    if (!std::holds_alternative<lower::Contraction>(kernel->body)) continue;
    const auto choice = tuned.find(codegen::tuning_key(*kernel, options_.target));
    if (!choice) continue;
    auto changed = std::make_shared<lower::Kernel>(*kernel);
    std::get<lower::Contraction>(changed->body).chosen = *choice;
    kernel = std::move(changed);
  }
}

void KernelTable::number(const graph::Work& work, LoweredWork& lowered) {
  for (const auto& made : lowered.lowered.kernels)
    lowered.kernels.push_back(add(made, work.source));
}

uint32_t KernelTable::add(const std::shared_ptr<const lower::Kernel>& made,
                          const std::string& source) {
  Kernel kernel;
  kernel.name = made->name;
  kernel.implementation = made->implementation;
  kernel.source = source;
  for (const lower::Buffer& buffer : made->buffers()) {
    if (!buffer.is_argument()) continue;
    kernel.writes.push_back(buffer.role == lower::Buffer::Role::kOutput ? 1 : 0);
  }
  kernel.num_dims = static_cast<uint32_t>(made->dim_args.size());
  const auto number = static_cast<uint32_t>(executable_.kernels.size());
  executable_.kernels.push_back(std::move(kernel));
  kernels_.push_back(made);
  numbers_.push_back(number);
  return number;
}

void KernelTable::lower(std::span<const graph::Graph> graphs) {
  std::vector<std::pair<graph::WorkRef, LoweredWork*>> works;
  for (const graph::Graph& graph : graphs) {
    for (const graph::Node& node : graph.nodes) {
      if (node.done_by_places) continue;
      auto [entry, added] = works_.try_emplace(node.work.get());
      if (added) works.emplace_back(node.work, &entry->second);
      for (uint32_t input : node.inputs) {
        const graph::ConstantRef& constant = graph.tensors[input].constant;
        if (constant == nullptr || constant->computation() == nullptr) continue;
        if (known_.insert(constant.get()).second) constants_.push_back(constant);
      }
    }
  }
  codegen::TunedKernels kept;
  if (options_.tuned == nullptr) kept = codegen::TunedKernels::read(options_.cache);
  const codegen::TunedKernels& tuned = options_.tuned == nullptr ? kept : *options_.tuned;
  with_stack(options_.threads, works.size(), [&](size_t i) {
    auto& [work, lowered] = works[i];
    try {
      lowered->lowered = lower_work(work);
      if (!tuned.empty()) take_tuned(lowered->lowered, tuned);
      for (const auto& kernel : lowered->lowered.kernels)
        lowered->work.push_back(lower::work_of(*kernel, options_.target.processor));
    } catch (const DimRangeError& error) {
      lowered->refusal = error.diagnostics()[0].message;
    }
  });
  for (auto& [work, lowered] : works) number(*work, *lowered);
}

uint32_t KernelTable::library(const lower::LibraryLaunch& launch, const std::string& work_name) {
  auto [entry, added] = libraries_.try_emplace({launch.name, launch.op},
                                               static_cast<uint32_t>(executable_.kernels.size()));
  if (added) {
    Kernel kernel;
    kernel.name = launch.op.empty() ? work_name : launch.op;
    if (!launch.op.empty()) kernel.messages.push_back(launch.op);
    kernel.implementation = "library";
    kernel.library = launch.name;
    executable_.kernels.push_back(std::move(kernel));
  }
  return entry->second;
}

namespace {

double bytes_of(const graph::Constant& constant) { return graph::bytes_of(constant.info()); }

}  // namespace

bool KernelTable::is_late(const graph::Constant& constant) const {
  constexpr double kLarge = 1 << 20;  // bytes
  return options_.late_constants && constant.computation() != nullptr &&
         constant.device() == Device() && bytes_of(constant) >= kLarge;
}

/// The constants between a constant and those that were given or are kept: once it is known, their
/// memory serves the next ones.
std::vector<graph::ConstantRef> KernelTable::between(const graph::Constant& constant) const {
  std::vector<graph::ConstantRef> result;
  auto add_inputs = [&](const graph::Constant& of) {
    for (const graph::ConstantRef& input : of.inputs()) {
      if (input->computation() != nullptr && !known_.contains(input.get()) &&
          std::ranges::find(result, input) == result.end())
        result.push_back(input);
    }
  };
  add_inputs(constant);
  for (size_t i = 0; i < result.size(); ++i) add_inputs(*graph::ConstantRef(result[i]));
  return result;
}

std::function<NDArray()> KernelTable::late(const graph::ConstantRef& constant) const {
  if (!is_late(*constant)) return {};
  std::vector<graph::ConstantRef> done = between(*constant);
  const bool read = std::ranges::any_of(constants_, [&](const graph::ConstantRef& each) {
    return std::ranges::find(each->inputs(), constant) != each->inputs().end();
  });
  if (!read) done.push_back(constant);
  return [constant, done = std::move(done)] {
    Value value = constant->value();
    for (const graph::ConstantRef& each : done) each->release();
    return value.array();
  };
}

std::unordered_map<uint32_t, Dim> KernelTable::compile() {
  std::unordered_map<uint32_t, Dim> scratch;
  codegen::CompileOptions options;
  options.threads = options_.threads;
  options.cache = options_.cache;
  std::stable_sort(constants_.begin(), constants_.end(),
                   [](const auto& a, const auto& b) { return bytes_of(*a) > bytes_of(*b); });
  std::vector<std::function<void()>> beside;
  for (const graph::ConstantRef& constant : constants_) {
    if (is_late(*constant)) continue;
    beside.emplace_back([this, &constant] {
      constant->value();
      for (const graph::ConstantRef& each : between(*constant)) each->release();
    });
  }
  std::vector<codegen::CompiledKernel> compiled =
      codegen::compile(kernels_, options_.target, options, beside);
  std::unordered_map<const KernelBlob*, uint32_t> blobs;
  for (size_t i = 0; i < compiled.size(); ++i) {
    Kernel& kernel = executable_.kernels[numbers_[i]];
    auto [entry, added] =
        blobs.try_emplace(compiled[i].blob.get(), static_cast<uint32_t>(executable_.blobs.size()));
    if (added) executable_.blobs.push_back(compiled[i].blob);
    kernel.blob = entry->second;
    kernel.messages = compiled[i].messages;
    kernel.origins = compiled[i].origins;
    kernel.parallel = compiled[i].parallel;
    scratch.emplace(numbers_[i], compiled[i].scratch_bytes);
  }
  return scratch;
}

}  // namespace relay::vm
