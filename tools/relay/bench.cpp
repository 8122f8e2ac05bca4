// relay bench: how long a program takes.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <relay/support/error.h>

#include <tools/relay/command.h>
#include <tools/relay/json_text.h>
#include <tools/relay/native.h>
#include <tools/relay/profile.h>

namespace relay::tool {

namespace {

struct BenchOptions {
  std::string program;
  std::string entry;
  Given given;
  NativeOptions native;
  int runs = 0;
  std::string format = "text";
  ProfileOption profile;
};

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

double quantile(const std::vector<double>& sorted, double q) {
  double at = q * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// An error of a run may come from numbers that nobody chose.
Value run_once(vm::Machine& machine, const vm::Entry& entry, const Loaded& loaded) {
  try {
    return machine.run(entry, loaded.arguments);
  } catch (const RuntimeError& error) {
    if (loaded.made_up.empty()) throw;
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.back().note(
        fmt::format("made up, since not given by --arg: {}", fmt::join(loaded.made_up, "; ")));
    throw RuntimeError(std::move(diagnostics));
  }
}

void bench(const BenchOptions& options) {
  Clock::time_point begin = Clock::now();
  Loaded loaded;
  {
    Progress progress("preparing " + options.program);
    loaded = load_program(options.program, options.entry, options.given, options.native,
                          Missing::kMakeUp);
  }
  Interruption interruption;
  vm::Machine machine(loaded.executable,
                      {.threads = options.native.threads, .interrupt = interruption.flag()});
  double load_ms = milliseconds_since(begin);
  const vm::Entry& entry = machine.entry(loaded.entry);
  Progress progress("measuring @" + loaded.entry);

  // The first run plans memory; two more warm caches. Without --runs: a second's worth.
  Profiling profiling(options.profile, options.native.threads);
  profiling.watch(machine);
  begin = Clock::now();
  for (int i = 0; i < 3; ++i) run_once(machine, entry, loaded);
  double estimate = milliseconds_since(begin) / 3;
  int runs = options.runs > 0
                 ? options.runs
                 : static_cast<int>(std::clamp(1000.0 / std::max(estimate, 1e-4), 5.0, 10000.0));
  profiling.restart();
  std::vector<double> times(static_cast<size_t>(runs));
  for (double& time : times) {
    begin = Clock::now();
    Value result = run_once(machine, entry, loaded);
    time = milliseconds_since(begin);
  }
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5), spread = quantile(times, 0.75) - quantile(times, 0.25);
  if (options.format == "json") {
    std::string more;
    if (!loaded.made_up.empty()) more += ", \"made_up\": " + json_list(loaded.made_up, quoted_json);
    if (!loaded.decided_extents.empty())
      more += ", \"decided_extents\": " + json_list(loaded.decided_extents, quoted_json);
    print_out(fmt::format(
        "{{\"median_ms\": {:.6f}, \"min_ms\": {:.6f}, \"spread_ms\": {:.6f}, \"runs\": {}, "
        "\"load_ms\": {:.3f}, \"peak_bytes\": {}{}}}\n",
        median, times.front(), spread, runs, load_ms, peak_memory(), more));
  } else {
    for (const std::string& text : loaded.made_up) print_out("made up: " + text + "\n");
    if (!loaded.decided_extents.empty()) {
      print_out(fmt::format("compiled for these extents; a file of relay compile leaves {} open\n",
                            fmt::join(loaded.decided_extents, ", ")));
    }
    print_out(
        fmt::format("@{}: median {}, minimum {}, middle half within {}, of {} runs\n"
                    "ready after {:.1f} ms, peak memory {:.1f} MB\n",
                    loaded.entry, time_text(median), time_text(times.front()), time_text(spread),
                    runs, load_ms, static_cast<double>(peak_memory()) / 1e6));
  }
  profiling.report(*loaded.executable);
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure how long a program takes; arguments that are not given are made up.");
  command
      ->add_option("MODEL", options->program,
                   "A file of `relay compile`, program text or an ONNX model; - is standard input.")
      ->required();
  command->add_option("--entry", options->entry,
                      "Function to run; @main by default, else the only one.");
  add_given_options(*command, options->given);
  add_native_options(*command, options->native);
  command->add_option("--runs", options->runs, "Measured runs; about a second's worth by default.")
      ->check(CLI::Range(1, 10'000'000));
  command
      ->add_option(
          "--format", options->format,
          "text, or json (one line with median_ms, min_ms, spread_ms, load_ms, peak_bytes and, if "
          "arguments are made up or decide extents, made_up and decided_extents).")
      ->check(CLI::IsMember({"text", "json"}));
  add_profile_option(*command, options->profile);
  context.actions[command] = [options] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    bench(*options);
  };
}

}  // namespace relay::tool
