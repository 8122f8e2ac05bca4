#include <tools/relay/profile.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <relay/import/onnx/import.h>
#include <relay/runtime/file.h>
#include <relay/runtime/processors.h>
#include <relay/support/error.h>
#include <relay/vm/machine/positions.h>

#include <tools/relay/machine_model.h>

namespace relay::tool {

namespace {

std::string shorten(const std::string& text, size_t most) {
  std::string line;
  for (char c : text) {
    bool space = c == '\n' || c == ' ';
    if (space && (line.empty() || line.back() == ' ')) continue;
    line += space ? ' ' : c;
  }
  if (line.size() <= most) return line;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

// The source of each kernel's work: the nodes of an imported model, some of them, and its program.
std::vector<std::string> works_of(const vm::Executable& executable) {
  constexpr size_t kMost = 3;
  std::vector<std::vector<std::string>> nodes(executable.kernels.size());
  std::vector<std::shared_ptr<const Source>> sources;
  auto add = [&](uint32_t kernel, uint32_t position) {
    std::vector<std::string>& own = nodes[kernel];
    if (own.size() > kMost) return;
    std::string node = onnx_node_at(vm::position_span(executable, position, sources));
    if (!node.empty() && std::find(own.begin(), own.end(), node) == own.end()) own.push_back(node);
  };
  for (const vm::Graph& graph : executable.graphs) {
    for (const vm::Launch& launch : graph.launches) {
      for (uint32_t position : launch.origins) add(launch.kernel, position);
      add(launch.kernel, launch.position);
    }
  }
  std::vector<std::string> works;
  for (size_t k = 0; k < nodes.size(); ++k) {
    std::string text;
    for (size_t i = 0; i < nodes[k].size() && i < kMost; ++i) {
      text += (i > 0 ? ", " : "") + nodes[k][i];
    }
    if (nodes[k].size() > kMost) text += ", …";
    works.push_back(text.empty() ? executable.kernels[k].source
                                 : text + ": " + executable.kernels[k].source);
  }
  return works;
}

}  // namespace

std::string profile_table(const vm::Executable& executable, const vm::Profile& profile,
                          const Peak& peak) {
  std::vector<size_t> order(profile.kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profile.kernels[a].nanoseconds > profile.kernels[b].nanoseconds;
  });
  double total = std::max<double>(1, static_cast<double>(profile.total_nanoseconds));
  std::string text = fmt::format(
      "{:32} {:12} {:>8} {:>10} {:>6} {:>9} {:>8} {:>6} {:>10} {:>6}  {}\n", "kernel", "by",
      "calls", "ms", "share", "GFLOP/s", "GB/s", "peak", "predicted", "ratio", "source");
  double in_kernels = 0;
  std::vector<std::string> works = works_of(executable);
  for (size_t k : order) {
    const vm::Profile::Kernel& measured = profile.kernels[k];
    if (measured.calls == 0) continue;
    const vm::Kernel& kernel = executable.kernels[k];
    double ns = std::max<double>(1, static_cast<double>(measured.nanoseconds));
    double gflops = static_cast<double>(measured.flops) / ns;
    double gigabytes = static_cast<double>(measured.bytes) / ns;
    double reached = std::max(gflops / peak.gflops, gigabytes / peak.gigabytes);
    in_kernels += static_cast<double>(measured.nanoseconds);
    std::string predicted = "-", ratio = "-";
    if (measured.predicted_calls == measured.calls) {
      predicted = fmt::format("{:.3f}", measured.predicted_ns * 1e-6);
      ratio = fmt::format("{:.2f}", ns / measured.predicted_ns);
    }
    text += fmt::format(
        "{:32} {:12} {:>8} {:>10.3f} {:>5.1f}% {:>9.1f} {:>8.1f} {:>5.0f}% {:>10} {:>6}  {}\n",
        shorten(kernel.name, 32), shorten(kernel.implementation, 12), measured.calls, ns * 1e-6,
        100 * ns / total, gflops, gigabytes, 100 * reached, predicted, ratio,
        shorten(works[k], 100));
  }
  double rest = std::max(0.0, total - in_kernels);
  text += fmt::format("{:32} {:12} {:>8} {:>10.3f} {:>5.1f}%\n", "outside of kernels", "machine",
                      "", rest * 1e-6, 100 * rest / total);
  text += fmt::format("total {:.3f} ms; peak of this machine: {:.0f} GFLOP/s, {:.1f} GB/s\n",
                      total * 1e-6, peak.gflops, peak.gigabytes);
  return text;
}

std::string profile_trace(const vm::Executable& executable, const vm::Profile& profile) {
  nlohmann::json events = nlohmann::json::array();
  uint64_t begin = profile.events.empty() ? 0 : profile.events.front().begin_ns;
  std::vector<std::string> works = works_of(executable);
  for (const vm::Profile::Event& event : profile.events) {
    const vm::Kernel& kernel = executable.kernels[event.kernel];
    events.push_back({{"name", kernel.name},
                      {"cat", kernel.implementation},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", static_cast<double>(event.begin_ns - begin) * 1e-3},
                      {"dur", static_cast<double>(event.duration_ns) * 1e-3},
                      {"args", {{"source", works[event.kernel]}}}});
    if (event.predicted_ns > 0) events.back()["args"]["predicted_us"] = event.predicted_ns * 1e-3;
  }
  nlohmann::json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void add_profile_option(CLI::App& command, ProfileOption& option) {
  command.add_flag("--profile", option.enabled,
                   "Print the time of each kernel on standard error; --profile=FILE.json writes "
                   "the kernel calls in Chrome's trace format instead.");
  // main() turns --profile=FILE into this: a value after a space would take the program's place.
  command
      .add_option_function<std::string>("--profile-trace",
                                        [&option](const std::string& file) {
                                          option.enabled = true;
                                          option.trace_file = file;
                                        })
      ->group("");
}

Profiling::Profiling(const ProfileOption& option, int threads)
    : option_(option), threads_(threads > 0 ? threads : allowed_processors()) {
  if (!option.enabled) return;
  try {
    model_ = known_model(std::min(threads_, allowed_processors()));
    profile_.model = &model_;
  } catch (const Error&) {
    // Measuring takes more memory than some limits leave to a program that is small itself.
    fmt::print(stderr, "note: no times are predicted, since this machine could not be measured\n");
  }
  profile_.trace = !option.trace_file.empty();
}

void Profiling::watch(vm::Machine& machine) {
  if (option_.enabled) machine.set_profile(&profile_);
}

void Profiling::report(const vm::Executable& executable) const {
  if (!option_.enabled) return;
  if (option_.trace_file.empty()) {
    fmt::print(stderr, "{}", profile_table(executable, profile_, best_peak(threads_)));
    return;
  }
  std::string text = profile_trace(executable, profile_);
  OutputFile file(option_.trace_file);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace relay::tool
