#include <relay/transform/instruments.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <relay/analysis/counts.h>
#include <relay/ir/equal.h>
#include <relay/print/print.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/transform/pass_result.h>

namespace relay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool differ(const Module& a, const Module& b) {
  return !same_functions(a, b) && !structural_equal(a, b);
}

std::string text_of(const Module& module, bool show_types) {
  PrintOptions options;
  options.show_types = show_types;
  return print_module(module, options);
}

std::string named(const PassInfo& info) { return std::string(info.name.view()); }

}  // namespace

// ---- Times ------------------------------------------------------------------------------------

PassInstrument time_passes(std::shared_ptr<PassTimes> times) {
  struct State {
    std::vector<size_t> open;  // entries whose passes still run
    std::vector<Clock::time_point> begins;
    Clock::time_point first;
  };
  auto state = std::make_shared<State>();
  PassInstrument instrument;
  instrument.name = "timing";
  instrument.before = [=](const Module&, const PassInfo& info) {
    if (times->entries.empty()) state->first = Clock::now();
    PassTimes::Entry entry;
    entry.pass = named(info);
    entry.begin_seconds = seconds_since(state->first);
    entry.depth = static_cast<int>(state->open.size());
    state->open.push_back(times->entries.size());
    state->begins.push_back(Clock::now());
    times->entries.push_back(std::move(entry));
  };
  instrument.after = [=](const Module& before, const Module& after, const PassInfo&, double) {
    if (state->open.empty()) return;
    PassTimes::Entry& entry = times->entries[state->open.back()];
    entry.seconds = seconds_since(state->begins.back());
    entry.changed = differ(before, after);
    state->open.pop_back();
    state->begins.pop_back();
  };
  // A pass that failed is never left by `after`.
  instrument.exit = [=] {
    state->open.clear();
    state->begins.clear();
  };
  return instrument;
}

std::string PassTimes::table() const {
  struct Sum {
    std::string pass;
    double seconds = 0;
    size_t runs = 0, changes = 0;
  };
  std::vector<Sum> sums;
  double total = 0;
  for (const Entry& entry : entries) {
    auto found = std::find_if(sums.begin(), sums.end(),
                              [&](const Sum& sum) { return sum.pass == entry.pass; });
    if (found == sums.end()) found = sums.insert(sums.end(), {entry.pass});
    // The time of an inner pass is part of the outer one's.
    if (entry.depth == 0) total += entry.seconds;
    found->seconds += entry.seconds;
    ++found->runs;
    found->changes += entry.changed ? 1 : 0;
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.seconds > b.seconds; });
  std::string text =
      fmt::format("{:>10}  {:>6}  {:>5}  {:>7}  pass\n", "ms", "share", "runs", "changed");
  for (const Sum& sum : sums) {
    text +=
        fmt::format("{:>10.3f}  {:>5.1f}%  {:>5}  {:>7}  {}\n", sum.seconds * 1e3,
                    total > 0 ? 100 * sum.seconds / total : 0.0, sum.runs, sum.changes, sum.pass);
  }
  return text + fmt::format("{:>10.3f}  total\n", total * 1e3);
}

std::string PassTimes::chrome_trace() const {
  nlohmann::json events = nlohmann::json::array();
  for (const Entry& entry : entries) {
    events.push_back({{"name", entry.pass},
                      {"cat", "pass"},
                      {"ph", "X"},
                      {"ts", entry.begin_seconds * 1e6},
                      {"dur", entry.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"changed", entry.changed}}}});
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump();
}

// ---- Texts ------------------------------------------------------------------------------------

PassInstrument print_passes(TextSink sink, PrintPasses options) {
  auto wanted = [options](const PassInfo& info) {
    return options.passes.empty() || std::find(options.passes.begin(), options.passes.end(),
                                               info.name.view()) != options.passes.end();
  };
  PassInstrument instrument;
  instrument.name = "print";
  if (options.when == PrintWhen::kBefore) {
    instrument.before = [=](const Module& module, const PassInfo& info) {
      if (!wanted(info)) return;
      sink("// before " + named(info) + "\n" + text_of(module, options.show_types) + "\n");
    };
    return instrument;
  }
  instrument.after = [=](const Module& before, const Module& after, const PassInfo& info,
                         double seconds) {
    if (!wanted(info)) return;
    if (options.when == PrintWhen::kAfter) {
      return sink("// after " + named(info) + "\n" + text_of(after, options.show_types) + "\n");
    }
    bool changed = differ(before, after);
    sink(fmt::format("// {}: {} ({:.3f} ms)\n", info.name.view(), changed ? "changed" : "unchanged",
                     1e3 * seconds));
    if (!changed) return;
    std::string text = text_of(after, options.show_types);
    if (options.when == PrintWhen::kChanged) return sink(text + "\n");
    sink(line_difference(text_of(before, options.show_types), text, options.colour) + "\n");
  };
  return instrument;
}

PassInstrument dump_passes(const std::string& folder) {
  struct State {
    size_t number = 0;
    bool begun = false;
  };
  auto state = std::make_shared<State>();
  auto write = [folder](const std::string& name, const Module& module) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error("cannot make the folder " + folder + ": " + error.message());
    OutputFile file(folder + "/" + name + ".rly");
    std::string text = text_of(module, false);
    file.write(text.data(), text.size());
    file.commit();
  };
  PassInstrument instrument;
  instrument.name = "dump";
  instrument.before = [=](const Module& module, const PassInfo&) {
    if (std::exchange(state->begun, true)) return;
    write("000-input", module);
  };
  instrument.after = [=](const Module& before, const Module& after, const PassInfo& info, double) {
    ++state->number;
    if (differ(before, after))
      write(fmt::format("{:03}-{}", state->number, info.name.view()), after);
  };
  return instrument;
}

// ---- Counts -----------------------------------------------------------------------------------

PassInstrument count_ops(std::shared_ptr<OpCounts> counts) {
  PassInstrument instrument;
  instrument.name = "count";
  instrument.before = [=](const Module& module, const PassInfo&) {
    if (counts->entries.empty()) counts->entries.push_back({"", op_frequencies(module)});
  };
  instrument.after = [=](const Module&, const Module& after, const PassInfo& info, double) {
    auto found = op_frequencies(after);
    if (found != counts->entries.back().calls)
      counts->entries.push_back({named(info), std::move(found)});
  };
  return instrument;
}

std::string OpCounts::table() const {
  std::string text;
  const std::map<std::string, int64_t>* last = nullptr;
  for (const Entry& entry : entries) {
    int64_t total = 0;
    for (const auto& [op, calls] : entry.calls) total += calls;
    text += fmt::format("{:<32} {:>7}", entry.pass.empty() ? "input" : entry.pass, total);
    if (last != nullptr) {
      std::map<std::string, int64_t> change = entry.calls;
      for (const auto& [op, calls] : *last) change[op] -= calls;
      for (const auto& [op, calls] : change) {
        if (calls != 0) text += fmt::format(" {} {:+}", op, calls);
      }
    }
    text += "\n";
    last = &entry.calls;
  }
  return text;
}

PassInstrument measure_memory(std::shared_ptr<PassMemory> memory) {
  auto allocated = [] {
    struct mallinfo2 info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
  };
  auto open = std::make_shared<std::vector<int64_t>>();
  PassInstrument instrument;
  instrument.name = "memory";
  instrument.before = [=](const Module&, const PassInfo&) { open->push_back(allocated()); };
  instrument.after = [=](const Module&, const Module&, const PassInfo& info, double) {
    if (open->empty()) return;
    memory->entries.push_back({named(info), open->back(), allocated()});
    open->pop_back();
  };
  instrument.exit = [=] { open->clear(); };
  return instrument;
}

std::string PassMemory::table() const {
  std::string text = fmt::format("{:>12}  {:>12}  pass\n", "MB after", "difference");
  for (const Entry& entry : entries) {
    text += fmt::format("{:>12.2f}  {:>+12.2f}  {}\n", static_cast<double>(entry.after) / 1e6,
                        static_cast<double>(entry.after - entry.before) / 1e6, entry.pass);
  }
  return text;
}

// ---- Checks and progress ----------------------------------------------------------------------

PassInstrument verify_each() {
  PassInstrument instrument;
  instrument.name = "verify";
  instrument.after = [](const Module& before, const Module& after, const PassInfo& info, double) {
    check_pass_result(before, after, info, true);
  };
  return instrument;
}

PassInstrument show_progress(TextSink sink, double threshold) {
  struct State {
    Clock::time_point begin = Clock::now();
    size_t done = 0;
    bool shown = false;
  };
  auto state = std::make_shared<State>();
  PassInstrument instrument;
  instrument.name = "progress";
  instrument.enter = [=] { *state = State(); };
  instrument.before = [=](const Module&, const PassInfo& info) {
    double seconds = seconds_since(state->begin);
    if (seconds < threshold) return;
    state->shown = true;
    sink(fmt::format("\r\033[K{:.0f} s, {} passes done: {}", seconds, state->done,
                     info.name.view()));
  };
  instrument.after = [=](const Module&, const Module&, const PassInfo&, double) { ++state->done; };
  instrument.exit = [=] {
    if (std::exchange(state->shown, false)) sink("\r\033[K");
  };
  return instrument;
}

}  // namespace relay
