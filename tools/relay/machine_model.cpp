#include <tools/relay/machine_model.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include <relay/codegen/codegen.h>
#include <relay/parse/parse.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point then) {
  return std::chrono::duration<double, std::nano>(Clock::now() - then).count();
}

// A count of a launch of a program of known sizes.
double count_of(const vm::Graph& graph, uint32_t slot) {
  RELAY_CHECK(slot != vm::kNone && graph.dims[slot].code == DimCode::kConst,
              "a program that is measured has known sizes");
  return static_cast<double>(graph.dims[slot].value);
}

vm::LaunchWork work_of(const vm::Executable& executable) {
  vm::LaunchWork work;
  for (const vm::Graph& graph : executable.graphs) {
    for (const vm::Launch& launch : graph.launches) {
      work.products += count_of(graph, launch.products);
      work.steps += count_of(graph, launch.steps);
      work.functions += count_of(graph, launch.functions);
    }
  }
  return work;
}

std::string vector_of(int64_t count) { return fmt::format("Tensor[({}), float32]", count); }

// Arithmetic on numbers that stay in the second cache.
std::string steps_program(int64_t count) {
  std::string value = "%x";
  for (int i = 0; i < 16; ++i) value = "maximum(" + value + " * %y, %y)";
  return fmt::format("def @main(%x: {0}, %y: {0}) {{ {1} }}\n", vector_of(count), value);
}

std::string functions_program(int64_t count) {
  return fmt::format("def @main(%x: {}) {{ tanh(sigmoid(erf(exp(%x)))) }}\n", vector_of(count));
}

std::string reading_program(int64_t bytes) {
  return fmt::format("def @main(%x: {}) {{ sum(%x) }}\n", vector_of(bytes / 4));
}

constexpr const char* kProducts =
    "def @main(%x: Tensor[(768, 512), float32], %w: Tensor[(512, 512), float32]) {\n"
    "  nn.dense(%x, %w)\n}\n";

// The rates of so many threads, once the model knows what a launch costs.
vm::MachineModel::Rates measure_rates(const vm::MachineModel& model, int threads) {
  // Enough for all threads, and so little that the second caches hold it.
  const int64_t count = 32768 * threads;
  vm::MachineModel::Rates rates;
  const double before = model.launch_ns + (threads > 1 ? model.share_ns : 0);
  // What else is known to take time is itself only measured: it does not explain most of it.
  auto computing = [&](const MeasuredProgram& program, double known) {
    return std::max(program.kernel_ns / 2, program.kernel_ns - before - known);
  };
  const MeasuredProgram steps = measure_program(steps_program(count), threads);
  rates.steps = steps.work.steps / computing(steps, 0);
  const MeasuredProgram functions = measure_program(functions_program(count), threads);
  rates.functions =
      functions.work.functions / computing(functions, functions.work.steps / rates.steps);
  const MeasuredProgram products = measure_program(kProducts, threads);
  rates.products = products.work.products / computing(products, products.work.steps / rates.steps);
  const int64_t sizes[] = {model.second_bytes / 2 * threads, model.last_bytes / 2,
                           std::max(2 * model.last_bytes, int64_t{96} << 20)};
  for (size_t level = 0; level < vm::kMemoryLevels; ++level) {
    const MeasuredProgram reading = measure_program(reading_program(sizes[level]), threads);
    rates.bytes[level] = static_cast<double>(sizes[level]) / computing(reading, 0);
  }
  return rates;
}

// The cost of sharing a kernel among threads: the part of its time that does not grow with its
// work.
double measure_sharing(int threads) {
  constexpr int64_t kSmall = 32768, kTimes = 4;
  const double small = measure_program(steps_program(kSmall), threads).kernel_ns;
  const double large = measure_program(steps_program(kSmall * kTimes), threads).kernel_ns;
  return std::max(0.0, (kTimes * small - large) / (kTimes - 1));
}

std::vector<double*> rates_of(vm::MachineModel::Rates& rates) {
  std::vector<double*> all{&rates.products, &rates.steps, &rates.functions};
  for (double& bytes : rates.bytes) all.push_back(&bytes);
  return all;
}

std::vector<double*> figures_of(vm::MachineModel& model) {
  std::vector<double*> figures;
  for (vm::MachineModel::Rates* rates : {&model.one, &model.all}) {
    for (double* rate : rates_of(*rates)) figures.push_back(rate);
  }
  figures.insert(figures.end(), {&model.launch_ns, &model.share_ns});
  return figures;
}

constexpr size_t kTimesOnly = 2;  // figures at the end that are better if they are less

std::filesystem::path file_of(int threads) {
  const std::filesystem::path folder = codegen::default_cache();
  return folder.empty() ? folder : folder / fmt::format("machine-{}", threads);
}

// The facts of this processor.
vm::MachineModel facts() {
  const lower::Processor processor = codegen::Target::host().processor;
  vm::MachineModel model;
  model.first_bytes = processor.line_bytes * processor.first_sets * processor.first_ways;
  model.second_bytes = processor.second_bytes;
  model.last_bytes = processor.last_bytes;
  model.vector_bytes = processor.vector_bytes;
  return model;
}

constexpr double kNoise = 1.25;

/// Lowers what cannot be by other figures: an interrupted measurement shows anything. Memory is no
/// faster than memory that is nearer, and all threads do no more than so many of one; but together
/// they may have in their second caches what one has in the last.
void make_consistent(vm::MachineModel& model, int threads) {
  for (size_t level = 1; level < vm::kMemoryLevels; ++level)
    model.one.bytes[level] = std::min(model.one.bytes[level], kNoise * model.one.bytes[level - 1]);
  const std::vector<double*> one = rates_of(model.one), all = rates_of(model.all);
  const double* last = &model.one.bytes[static_cast<size_t>(vm::MemoryLevel::kLast)];
  for (size_t i = 0; i < one.size(); ++i)
    if (one[i] != last) *all[i] = std::min(*all[i], kNoise * threads * *one[i]);
}

bool is_consistent(vm::MachineModel model, int threads) {
  vm::MachineModel made = model;
  make_consistent(made, threads);
  const std::vector<double*> before = figures_of(model), after = figures_of(made);
  // The most that a figure may be is not quite itself once it is text.
  return std::equal(before.begin(), before.end(), after.begin(),
                    [](const double* a, const double* b) { return *a <= *b * 1.001; });
}

/// A model in the user's cache folder.
struct KeptModel {
  vm::MachineModel model;
  int measured = 0;  // so many times; each figure is the best of them
};

std::optional<KeptModel> read_model(int threads) {
  const std::filesystem::path path = file_of(threads);
  std::ifstream in(path);
  if (path.empty() || !in) return std::nullopt;
  KeptModel kept;
  vm::MachineModel& model = kept.model;
  model = facts();
  const std::vector<double*> figures = figures_of(model);
  for (size_t i = 0; i < figures.size(); ++i) {
    // Other numbers are no measurement of a machine.
    const bool may_be_zero = i + kTimesOnly >= figures.size();
    if (!(in >> *figures[i]) || !(*figures[i] < 1e6) ||
        !(may_be_zero ? *figures[i] >= 0 : *figures[i] > 1e-6))
      return std::nullopt;
  }
  if (!(in >> kept.measured) || kept.measured < 1 || !is_consistent(model, threads))
    return std::nullopt;
  return kept;
}

void keep_model(vm::MachineModel model, int measured, int threads) {
  const std::filesystem::path path = file_of(threads);
  if (path.empty()) return;
  std::string text;
  for (const double* figure : figures_of(model)) text += fmt::format("{}\n", *figure);
  text += fmt::format("{}\n", measured);
  try {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    OutputFile out(path.string());
    out.write(text.data(), text.size());
    out.commit();
  } catch (const Error&) {
    // Then it is measured anew the next time.
  }
}

}  // namespace

MeasuredProgram measure_program(const std::string& text, int threads) {
  constexpr double kEnough = 5e7;
  constexpr int kFewest = 3;
  ParseResult parsed = parse_text("<machine>", text);
  if (!parsed.ok()) throw InternalError("a program that is measured does not parse");
  ProgramSource source;
  source.module = std::move(parsed.module);
  check_program(source.module, "<machine>");
  Program program = bind_program(std::move(source), "main", Given(), Arguments::kMadeUp);
  NativeOptions options;
  options.threads = threads;
  Interruption interruption;
  auto executable = compile_module(program.module, program.entry, options);
  vm::Machine machine(executable, {.threads = threads, .interrupt = interruption.flag()});
  const vm::Entry& entry = machine.entry("main");
  MeasuredProgram best{1e18, 1e18, work_of(*executable)};
  const Clock::time_point begin = Clock::now();
  for (int run = 0; run < kFewest || nanoseconds_since(begin) < kEnough; ++run) {
    // One run for the whole, the next for its kernel.
    vm::Profile profile;
    const bool whole = run % 2 == 0;
    if (!whole) machine.set_profile(&profile);
    const Clock::time_point now = Clock::now();
    machine.run(entry, program.arguments);
    if (whole) {
      best.run_ns = std::min(best.run_ns, nanoseconds_since(now));
    } else {
      double kernels = 0;
      for (const vm::Profile::Kernel& kernel : profile.kernels)
        kernels += static_cast<double>(kernel.nanoseconds);
      best.kernel_ns = std::min(best.kernel_ns, kernels);
      machine.set_profile(nullptr);
    }
  }
  return best;
}

vm::MachineModel measure_model(int threads) {
  vm::MachineModel model = facts();
  model.launch_ns =
      measure_program(fmt::format("def @main(%x: {}) {{ %x + 1f }}\n", vector_of(1)), 1).kernel_ns;
  model.one = measure_rates(model, 1);
  if (threads == 1) {
    model.all = model.one;
    return model;
  }
  model.share_ns = std::max(0.0, measure_sharing(threads) - model.launch_ns);
  model.all = measure_rates(model, threads);
  return model;
}

vm::MachineModel best_model(int threads) {
  vm::MachineModel model = measure_model(threads);
  std::optional<KeptModel> kept = read_model(threads);
  if (kept) {
    const std::vector<double*> now = figures_of(model), then = figures_of(kept->model);
    for (size_t i = 0; i < now.size(); ++i) {
      const bool less = i + kTimesOnly >= now.size();
      *now[i] = less ? std::min(*now[i], *then[i]) : std::max(*now[i], *then[i]);
    }
  }
  make_consistent(model, threads);
  keep_model(model, kept ? kept->measured + 1 : 1, threads);
  return model;
}

vm::MachineModel known_model(int threads) {
  constexpr int kEnough = 4;
  const std::optional<KeptModel> kept = read_model(threads);
  return kept && kept->measured >= kEnough ? kept->model : best_model(threads);
}

}  // namespace relay::tool
