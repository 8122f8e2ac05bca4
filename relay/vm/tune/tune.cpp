#include <relay/vm/tune/tune.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <unordered_map>

#include <relay/lower/contraction_choices.h>
#include <relay/support/error.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm {
namespace {

using Clock = std::chrono::steady_clock;
using codegen::TunedKernels;
using lower::TileChoice;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The least nanoseconds of a run that were measured: as a whole, and of the kernels by key.
struct Times {
  double whole = 1e300;
  std::unordered_map<std::string, double> of;
};

// The program with some choices, ready to run.
class Candidate {
 public:
  Candidate(const Module& module, Name entry, const TunedKernels& tuned,
            const TuneOptions& options) {
    CompileOptions compile = options.compile;
    compile.tuned = &tuned;
    compile.kernels = &loops_;
    compile.warnings = nullptr;
    compile.late_constants = false;
    auto executable = vm::compile(module, entry, compile);
    for (size_t k = 0, native = 0; k < executable->kernels.size(); ++k) {
      const bool is_native = executable->kernels[k].library.empty();
      const auto loops = is_native && native < loops_.size() ? loops_[native++] : nullptr;
      const bool tunable =
          loops != nullptr && std::holds_alternative<lower::Contraction>(loops->body);
      keys_.push_back(tunable ? codegen::tuning_key(*loops, compile.target) : "");
      if (tunable) kernel_of_.try_emplace(keys_.back(), k, loops);
    }
    machine_ = std::make_unique<Machine>(
        executable, MachineOptions{.threads = options.threads, .interrupt = options.interrupt});
    entry_ = &machine_->entry(entry.str());
  }

  // Runs once; the times are kept if they are less than those before.
  void run(std::span<const Value> arguments, Times& least) {
    Profile profile;
    machine_->set_profile(&profile);
    machine_->run(*entry_, arguments);
    machine_->set_profile(nullptr);
    least.whole = std::min(least.whole, static_cast<double>(profile.total_nanoseconds));
    std::unordered_map<std::string, double> now;
    for (size_t k = 0; k < profile.kernels.size(); ++k) {
      if (profile.kernels[k].calls > 0)
        now[keys_[k]] += static_cast<double>(profile.kernels[k].nanoseconds);
    }
    for (const auto& [key, time] : now) {
      const auto [kept, is_new] = least.of.try_emplace(key, time);
      if (!is_new) kept->second = std::min(kept->second, time);
    }
  }

  const Executable& executable() const { return machine_->executable(); }
  // The number and the loops of a kernel with a key.
  const std::map<std::string, std::pair<size_t, std::shared_ptr<const lower::Kernel>>>& kernels()
      const {
    return kernel_of_;
  }

 private:
  std::vector<std::shared_ptr<const lower::Kernel>> loops_;
  std::vector<std::string> keys_;  // of the executable's kernels; empty: none of ours
  std::map<std::string, std::pair<size_t, std::shared_ptr<const lower::Kernel>>> kernel_of_;
  std::unique_ptr<Machine> machine_;
  const Entry* entry_ = nullptr;
};

class Tuner {
 public:
  Tuner(const Module& module, Name entry, std::span<const Value> arguments,
        const TuneOptions& options)
      : module_(module), entry_(entry), arguments_(arguments), options_(options) {}

  TuneResult run() {
    if (options_.compile.tuned != nullptr) result_.found = *options_.compile.tuned;
    best_ = candidate(result_.found);
    find_kernels();
    try {
      for (const auto sizes : kStages) search(sizes);
      result_.complete = !out_of_time_;
    } catch (const Interrupted&) {
      stopped_ = true;
    }
    finish();
    return std::move(result_);
  }

 private:
  using ChosenSizes = lower::ChosenSizes;
  // Sizes of tiles again, in blocks that suit them.
  static constexpr ChosenSizes kStages[] = {ChosenSizes::kTiles, ChosenSizes::kBlocks,
                                            ChosenSizes::kTiles};
  static constexpr size_t kMostChoices = 8;  // of a kernel in a stage
  static constexpr double kBetter = 0.97;    // of the time before: less may be chance
  static constexpr double kShare = 0.005;    // of the run: kernels that matter,
  static constexpr double kLeast = 3000;  // and are longer than the clock's noise, in nanoseconds

  std::unique_ptr<Candidate> candidate(const TunedKernels& tuned) const {
    return std::make_unique<Candidate>(module_, entry_, tuned, options_);
  }

  // Runs both in turns, for about a fifth of a second.
  std::pair<Times, Times> compare(Candidate& one, Candidate& other) const {
    constexpr double kEnough = 0.2;
    constexpr int kFewest = 4, kMost = 200;
    std::pair<Times, Times> times;
    Times first;  // memory is planned, caches are filled
    one.run(arguments_, first);
    other.run(arguments_, first);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kMost && (i < kFewest || seconds_since(begin) < kEnough); ++i) {
      one.run(arguments_, times.first);
      other.run(arguments_, times.second);
    }
    return times;
  }

  void find_kernels() {
    Times times;
    for (int i = 0; i < 6; ++i) {
      if (i == 1) times = {};
      best_->run(arguments_, times);
    }
    result_.before_ns = result_.after_ns = times.whole;
    for (const auto& [key, kernel] : best_->kernels()) {
      const auto found = times.of.find(key);
      if (found == times.of.end() || found->second < std::max(kLeast, kShare * times.whole))
        continue;
      const Kernel& own = best_->executable().kernels[kernel.first];
      result_.kernels.push_back({own.name, own.source, key, found->second, found->second,
                                 result_.found.find(key).value_or(TileChoice())});
    }
    std::ranges::stable_sort(result_.kernels, std::ranges::greater(), &TunedKernel::before_ns);
    steps_ = std::size(kStages) * (kMostChoices + 1);
  }

  // True if it is time to end.
  bool ends() {
    if (options_.interrupt != nullptr && *options_.interrupt) throw Interrupted();
    out_of_time_ = out_of_time_ || seconds_since(begin_) > options_.seconds;
    return out_of_time_;
  }

  void report() {
    ++step_;
    if (!options_.on_progress) return;
    const double passed = seconds_since(begin_);
    TuneProgress progress{step_, std::max(steps_, step_), 0, result_.kernels.size(),
                          result_.found.size()};
    progress.seconds_left =
        std::min(passed / static_cast<double>(step_) * static_cast<double>(progress.steps - step_),
                 std::max(0.0, options_.seconds - passed));
    options_.on_progress(progress);
  }

  // Measures other sizes of all kernels, one choice of each at a time, and takes those that are
  // better than what there was, twice.
  void search(ChosenSizes sizes) {
    std::map<std::string, std::vector<TileChoice>> choices;
    size_t rounds = 0;
    for (const TunedKernel& kernel : result_.kernels) {
      const auto& loops = best_->kernels().at(kernel.key).second;
      auto& own = choices[kernel.key];
      own = lower::other_choices(std::get<lower::Contraction>(loops->body),
                                 options_.compile.target.processor, sizes, kMostChoices);
      rounds = std::max(rounds, own.size());
    }
    steps_ -= kMostChoices - rounds;
    std::map<std::string, std::pair<double, TileChoice>> better;  // by how much
    for (size_t round = 0; round < rounds && !ends(); ++round) {
      TunedKernels tried = result_.found;
      for (const auto& [key, own] : choices) {
        if (round < own.size()) tried.set(key, own[round]);
      }
      const auto other = candidate(tried);
      const auto [before, after] = compare(*best_, *other);
      for (const auto& [key, own] : choices) {
        if (round >= own.size() || !before.of.contains(key) || !after.of.contains(key)) continue;
        const double ratio = after.of.at(key) / before.of.at(key);
        const auto known = better.find(key);
        if (ratio < kBetter && (known == better.end() || ratio < known->second.first))
          better[key] = {ratio, own[round]};
      }
      report();
    }
    confirm(better);
  }

  void confirm(const std::map<std::string, std::pair<double, TileChoice>>& better) {
    if (better.empty()) return report();
    TunedKernels tried = result_.found;
    for (const auto& [key, choice] : better) tried.set(key, choice.second);
    const auto other = candidate(tried);
    const auto [before, after] = compare(*best_, *other);
    bool changed = false;
    for (TunedKernel& kernel : result_.kernels) {
      const auto choice = better.find(kernel.key);
      if (choice == better.end()) continue;
      if (after.of.at(kernel.key) >= kBetter * before.of.at(kernel.key)) continue;
      kernel.choice = choice->second.second;
      result_.found.set(kernel.key, kernel.choice);
      changed = true;
    }
    if (changed) best_ = candidate(result_.found);
    report();
  }

  // Both in turns, once more.
  void finish() {
    if (stopped_) return;
    const TunedKernels none =
        options_.compile.tuned != nullptr ? *options_.compile.tuned : TunedKernels();
    const auto first = candidate(none);
    try {
      const auto [before, after] = compare(*first, *best_);
      result_.before_ns = before.whole;
      result_.after_ns = after.whole;
      for (TunedKernel& kernel : result_.kernels) {
        kernel.before_ns = before.of.at(kernel.key);
        kernel.after_ns = after.of.at(kernel.key);
        if (kernel.after_ns < kernel.before_ns) continue;
        kernel.choice = none.find(kernel.key).value_or(TileChoice());
        result_.found.set(kernel.key, kernel.choice);
      }
    } catch (const Interrupted&) {
      result_.complete = false;
    }
  }

  const Module& module_;
  const Name entry_;
  const std::span<const Value> arguments_;
  const TuneOptions& options_;
  const Clock::time_point begin_ = Clock::now();
  TuneResult result_;
  std::unique_ptr<Candidate> best_;
  size_t step_ = 0, steps_ = 0;
  bool out_of_time_ = false, stopped_ = false;
};

}  // namespace

TuneResult tune(const Module& module, Name entry, std::span<const Value> arguments,
                const TuneOptions& options) {
  return Tuner(module, entry, arguments, options).run();
}

}  // namespace relay::vm
