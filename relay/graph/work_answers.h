// Questions about the works of a program, answered side by side.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/support/threads.h>

namespace relay::graph {

/// What is found of a work for some of its inputs (those of a mask), each found once.
template <class Answer>
class WorkAnswers {
 public:
  /// A question for `find`; none about no inputs. The work is kept alive.
  void ask(const WorkRef& work, std::vector<bool> mask) {
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return;
    auto [entry, added] = answers_.try_emplace({work.get(), mask});
    if (added) asked_.push_back({work, std::move(mask), &entry->second});
  }

  /// Answers what was asked: `answer(work, mask)`, on so many threads (0: one for each core).
  template <class F>
  void find(int threads, const F& answer) {
    side_by_side(threads, asked_.size() - num_found_, [&](size_t i) {
      Question& question = asked_[num_found_ + i];
      *question.answer = answer(question.work, question.mask);
    });
    num_found_ = asked_.size();
  }

  /// The answer, found now if it was not asked for before.
  template <class F>
  const Answer& of(const WorkRef& work, const std::vector<bool>& mask, const F& answer) {
    auto [entry, added] = answers_.try_emplace({work.get(), mask});
    if (added) {
      entry->second = answer(work, mask);
      asked_.push_back({work, mask, &entry->second});
      num_found_ = asked_.size();
    }
    return entry->second;
  }

 private:
  struct Question {
    WorkRef work;
    std::vector<bool> mask;
    Answer* answer;
  };

  std::map<std::pair<const Work*, std::vector<bool>>, Answer> answers_;
  std::vector<Question> asked_;
  size_t num_found_ = 0;  // the first of `asked_`
};

}  // namespace relay::graph
