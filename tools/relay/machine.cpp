// relay machine: the facts that plans of kernels are made by, and what this machine really does.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <relay/codegen/codegen.h>
#include <relay/runtime/processors.h>

#include <tools/relay/command.h>
#include <tools/relay/machine_model.h>

namespace relay::tool {

namespace {

struct MachineCommand {
  bool measure = false;
  int threads = 0;
  std::string format = "text";
};

/// A line of the report: its name as text and in JSON.
struct Figure {
  std::string name, key, unit;
  double value = 0;
};

/// Operations of a product in each nanosecond.
double product_rate(const std::string& left, const std::string& right, const std::string& sum,
                    int threads) {
  constexpr int kRows = 768, kColumns = 512, kSteps = 512;
  const std::string text = fmt::format(
      "def @main(%x: Tensor[({}, {}), {}], %w: Tensor[({}, {}), {}]) {{\n"
      "  nn.dense(%x, %w, out_dtype=\"{}\")\n}}\n",
      kRows, kSteps, left, kColumns, kSteps, right, sum);
  return 2.0 * kRows * kColumns * kSteps / measure_program(text, threads).run_ns;
}

/// Bytes that a sum over so many reads in each nanosecond.
double reading_rate(int64_t bytes, int threads) {
  const std::string text =
      fmt::format("def @main(%x: Tensor[({}), float32]) {{ sum(%x) }}\n", bytes / 4);
  return static_cast<double>(bytes) / measure_program(text, threads).run_ns;
}

std::vector<Figure> facts(const codegen::Target& target) {
  const lower::Processor& p = target.processor;
  auto number = [](int64_t value) { return static_cast<double>(value); };
  return {{"vector registers", "vector_registers", "", number(p.registers)},
          {"bytes of a vector", "vector_bytes", "", number(p.vector_bytes)},
          {"line of the caches", "line_bytes", "bytes", number(p.line_bytes)},
          {"first cache", "first_cache_bytes", "bytes",
           number(p.line_bytes * p.first_sets * p.first_ways)},
          {"lines of a set of it", "first_cache_ways", "", number(p.first_ways)},
          {"second cache", "second_cache_bytes", "bytes", number(p.second_bytes)},
          {"last cache", "last_cache_bytes", "bytes", number(p.last_bytes)},
          {"processors that may be used", "processors", "", number(allowed_processors())}};
}

std::vector<Figure> measured(const codegen::Target& target, int threads) {
  Progress progress("measuring this machine");
  const lower::Processor& p = target.processor;
  const int all = threads > 0 ? threads : allowed_processors();
  // More than any cache of these processors holds.
  const int64_t in_memory = std::max(4 * p.last_bytes, int64_t{256} << 20);
  const std::string of_one = ", one thread", of_all = ", all threads";
  std::vector<Figure> figures;
  auto add = [&](std::string name, std::string key, const char* unit, double value) {
    figures.push_back({std::move(name), std::move(key), unit, value});
  };
  add("products of float32" + of_one, "float32_gflops", "GFLOP/s",
      product_rate("float32", "float32", "float32", 1));
  add("products of bfloat16" + of_one, "bfloat16_gflops", "GFLOP/s",
      product_rate("bfloat16", "bfloat16", "bfloat16", 1));
  add("products of int8" + of_one, "int8_gops", "GOP/s", product_rate("uint8", "int8", "int32", 1));
  add("reads the second cache" + of_one, "second_cache_gb_per_s", "GB/s",
      reading_rate(p.second_bytes / 2, 1));
  add("reads the last cache" + of_one, "last_cache_gb_per_s", "GB/s",
      reading_rate(p.last_bytes / 2, 1));
  add("reads memory" + of_one, "memory_gb_per_s", "GB/s", reading_rate(in_memory, 1));
  add("reads memory" + of_all, "memory_gb_per_s_all_threads", "GB/s", reading_rate(in_memory, all));
  add("products of float32" + of_all, "float32_gflops_all_threads", "GFLOP/s",
      product_rate("float32", "float32", "float32", all));
  // The figures that the time of kernels is predicted by.
  const vm::MachineModel model = best_model(all);
  add("arithmetic on vectors" + of_one, "vector_steps_per_ns", "in a ns", model.one.steps);
  add("polynomials of vectors" + of_one, "vector_functions_per_ns", "in a ns", model.one.functions);
  add("a kernel begins and ends", "launch_ns", "ns", model.launch_ns);
  add("more where threads share it", "share_ns", "ns", model.share_ns);
  return figures;
}

void report_machine(const MachineCommand& options) {
  const codegen::Target target = codegen::Target::host();
  std::vector<Figure> figures = facts(target);
  if (options.measure)
    std::ranges::move(measured(target, options.threads), std::back_inserter(figures));
  const std::string name(target.name());
  auto number = [](double value) {
    return value >= 1e3 || value == static_cast<double>(static_cast<int64_t>(value))
               ? fmt::format("{:.0f}", value)
               : fmt::format("{:.1f}", value);
  };
  std::string text;
  if (options.format == "json") {
    text = "{\"target\": \"" + name + "\"";
    for (const Figure& figure : figures)
      text += ", \"" + figure.key + "\": " + number(figure.value);
    text += "}\n";
  } else {
    text = fmt::format("{:<36}{:>12}\n", "target", name);
    for (const Figure& figure : figures) {
      text += fmt::format("{:<36}{:>12}", figure.name, number(figure.value));
      text += figure.unit.empty() ? "\n" : " " + figure.unit + "\n";
    }
  }
  print_out(text);
}

}  // namespace

void add_machine(CLI::App& app, Context& context) {
  auto options = std::make_shared<MachineCommand>();
  CLI::App* command = app.add_subcommand(
      "machine", "Tell what the compiler knows of this processor, and measure what it does.");
  command->add_flag("--measure", options->measure,
                    "Also measure products and reading, about four seconds long.");
  command
      ->add_option("--threads", options->threads,
                   "Measure so many threads together; all processors by default.")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--format", options->format,
                   "text, or json (one line; bytes, GFLOP/s and GB/s by name).")
      ->check(CLI::IsMember({"text", "json"}));
  context.actions[command] = [options] { report_machine(*options); };
}

}  // namespace relay::tool
