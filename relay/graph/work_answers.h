// Answers questions about the works of a program in parallel.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/support/threads.h>

namespace relay::graph {

/// The answers for works and some of their inputs (those of a mask), each found once.
template <class Answer>
class WorkAnswers {
 public:
  /// A question for `find`, unless it is about no inputs. The work is kept alive.
  void ask(const WorkRef& work, std::vector<bool> mask) {
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return;
    auto [entry, added] = answers_.try_emplace({work, std::move(mask)});
    if (added) open_.push_back(&*entry);
  }

  /// Finds the answers: `answer(work, mask)`, on so many threads (0: one for each core).
  template <class F>
  void find(int threads, const F& answer) {
    side_by_side(threads, open_.size(), [&](size_t i) {
      auto& [question, found] = *open_[i];
      found = answer(question.first, question.second);
    });
    open_.clear();
  }

  /// The answer; an empty one about no inputs. An answer that nobody asked for before the last
  /// `find` is found now, on this thread.
  template <class F>
  const Answer& of(const WorkRef& work, const std::vector<bool>& mask, const F& answer) {
    ask(work, mask);
    find(1, answer);
    return answers_[{work, mask}];
  }

 private:
  // By the work's address, so that equal works are never compared.
  using Answers = std::map<std::pair<WorkRef, std::vector<bool>>, Answer>;
  Answers answers_;
  std::vector<typename Answers::value_type*> open_;  // asked, not answered
};

}  // namespace relay::graph
