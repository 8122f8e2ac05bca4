#include <relay/reduce/reduce.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_set>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/print/print.h>
#include <relay/reduce/cost.h>
#include <relay/reduce/rewrites.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay::reduce {

namespace {

using Clock = std::chrono::steady_clock;

class Reducer {
 public:
  Reducer(const Module& module, const Predicate& predicate, const Options& options,
          const ProgressFn& progress)
      : predicate_(predicate), options_(options), progress_(progress), begin_(Clock::now()) {
    Module typed = module;
    infer_types_or_throw(typed);
    if (std::vector<Diagnostic> problems = verify(module); !problems.empty())
      throw Error(std::move(problems));
    // A copy: the caller's nodes keep their types whatever happens here.
    result_.module = Draft(typed).apply();
    infer_types_or_throw(result_.module);
    cost_ = cost(result_.module);
    nodes_ = program_size(result_.module);
    seen_.insert(structural_hash(result_.module));
  }

  Result run() {
    tell("the program itself");
    ++result_.tries;
    if (!predicate_(result_.module)) throw Error("the program does not fail as it should");
    // Tries first few of a long list of single changes, and more once nothing else helps.
    size_t most = kFew;
    for (bool again = true; again && !over();) {
      bool changed = false;
      cut_short_ = false;
      for (const Rewrite& rewrite : all_rewrites()) {
        if (over()) break;
        changed |= rewrite.exclusive ? one_by_one(rewrite, most) : in_groups(rewrite);
      }
      again = changed || cut_short_;
      if (!changed) most *= 8;
    }
    return std::move(result_);
  }

 private:
  // Groups of half of all changes, then of a quarter, …, then single ones; a group that succeeds is
  // made, and the list is read again.
  bool in_groups(const Rewrite& rewrite) {
    bool changed = false;
    auto list = std::make_unique<Listed>(result_.module, rewrite);
    size_t size = list->edits.size();
    while (size > 0) {
      for (size_t at = 0; at < list->edits.size() && !over();) {
        size_t end = std::min(at + size, list->edits.size());
        if (attempt(rewrite, std::span(list->edits).subspan(at, end - at))) {
          changed = true;
          list = std::make_unique<Listed>(result_.module, rewrite);
        } else {
          at = end;
        }
      }
      if (over()) break;
      size = size == 1 ? 0 : (size + 1) / 2;
    }
    return changed;
  }

  bool one_by_one(const Rewrite& rewrite, size_t most) {
    bool changed = false;
    for (bool again = true; again && !over();) {
      again = false;
      Listed list(result_.module, rewrite);
      cut_short_ |= list.edits.size() > most;
      for (const Edit& edit : std::span(list.edits).first(std::min(most, list.edits.size()))) {
        if (over()) break;
        if (!attempt(rewrite, {&edit, 1})) continue;
        changed = again = true;
        break;
      }
    }
    return changed;
  }

  // Edits keep pointers into the module that they were listed for.
  struct Listed {
    Module module;
    std::vector<Edit> edits;
    Listed(const Module& of, const Rewrite& rewrite)
        : module(of), edits(rewrite.edits(Program(module))) {}
  };

  bool attempt(const Rewrite& rewrite, std::span<const Edit> edits) {
    stop_if_asked();
    Module candidate;
    uint64_t smaller = 0;
    if (!make(edits, candidate, smaller)) {
      ++result_.refused;
      return false;
    }
    tell(rewrite.name);
    ++result_.tries;
    if (!predicate_(candidate)) return false;
    ++result_.steps;
    result_.module = std::move(candidate);
    cost_ = smaller;
    nodes_ = program_size(result_.module);
    return true;
  }

  // True if the changes give a smaller, well-typed program that was not tried before.
  bool make(std::span<const Edit> edits, Module& candidate, uint64_t& smaller) {
    try {
      Draft draft(result_.module);
      for (const Edit& edit : edits) edit(draft);
      candidate = draft.apply();
      if (candidate.functions().empty()) return false;
      smaller = cost(candidate);
      if (smaller >= cost_ || !seen_.insert(structural_hash(candidate)).second) return false;
      if (!verify(candidate).empty()) return false;
      infer_types_or_throw(candidate);
      return check_instances(candidate).empty();
    } catch (const Error&) {
      return false;
    } catch (const InternalError&) {
      return false;  // of a change that makes no sense, or of inference: not what is looked for
    }
  }

  void tell(const char* rewrite) {
    if (progress_) progress_({rewrite, result_.tries, result_.steps, nodes_});
  }

  bool over() {
    if (result_.end != Result::End::kSmallest) return true;
    if (options_.interrupt != nullptr && options_.interrupt->load()) {
      result_.end = Result::End::kInterrupted;
    } else if (result_.tries >= options_.max_tries) {
      result_.end = Result::End::kTries;
    } else if (options_.time_limit > 0 &&
               std::chrono::duration<double>(Clock::now() - begin_).count() > options_.time_limit) {
      result_.end = Result::End::kTime;
    }
    return result_.end != Result::End::kSmallest;
  }

  static constexpr size_t kFew = 64;

  const Predicate& predicate_;
  const Options& options_;
  const ProgressFn& progress_;
  Clock::time_point begin_;
  Result result_;
  uint64_t cost_ = 0;
  size_t nodes_ = 0;
  bool cut_short_ = false;             // not all of a list was tried
  std::unordered_set<uint64_t> seen_;  // hashes of candidates
};

}  // namespace

Result reduce(const Module& module, const Predicate& is_interesting, const Options& options,
              const ProgressFn& progress) {
  return Reducer(module, is_interesting, options, progress).run();
}

size_t program_size(const Module& module) {
  size_t nodes = 0;
  for (const Module::FunctionEntry& entry : module.functions())
    nodes += count_nodes(entry.function.get());
  return nodes;
}

size_t program_lines(const Module& module) {
  std::string text = print_module(module);
  size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return text.empty() || text.back() == '\n' ? lines : lines + 1;
}

}  // namespace relay::reduce
