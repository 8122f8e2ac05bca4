#include <relay/pattern/history.h>

#include <algorithm>

#include <relay/ir/equal.h>
#include <relay/print/print.h>
#include <relay/support/error.h>

namespace relay::pattern {

namespace {

constexpr uint32_t kDeepest = 100;  // nodes written on top of one another

}  // namespace

void History::note(const ReadyRule& rule, const ExprRef& before, const ExprRef& after,
                   const std::vector<ExprRef>& fresh) {
  if (!refuse_) return;
  const uint32_t* found = entries_.find(before.get());
  uint32_t parent = found == nullptr ? kNone : *found;
  uint32_t depth = parent == kNone ? 1 : log_[parent].depth + 1;
  auto entry = static_cast<uint32_t>(log_.size());
  log_.push_back({&rule, before, parent, depth});
  for (const ExprRef& made : fresh) entries_[made.get()] = entry;
  kept_.insert(kept_.end(), fresh.begin(), fresh.end());
  if (depth >= kDeepest || log_.size() > most_firings_) refuse(entry, after);
}

void History::replace(const Expr* old, const ExprRef& made) {
  const uint32_t* found = entries_.find(old);
  if (found == nullptr) return;
  uint32_t entry = *found;
  entries_[made.get()] = entry;
  kept_.push_back(made);
}

std::vector<const ReadyRule*> History::circle(uint32_t last, const ExprRef& after) const {
  std::vector<const ReadyRule*> rules;
  for (uint32_t at = last; at != kNone; at = log_[at].parent) {
    rules.push_back(log_[at].rule);
    if (structural_equal(log_[at].before.get(), after.get())) {
      std::reverse(rules.begin(), rules.end());
      return rules;
    }
  }
  return {};
}

void History::refuse(uint32_t last, const ExprRef& after) const {
  auto quoted = [](const ReadyRule* rule) { return "`" + rule->name.str() + "`"; };
  std::vector<const ReadyRule*> rules = circle(last, after);
  const bool undo = !rules.empty();
  if (!undo) {
    for (uint32_t at = last, steps = 0; at != kNone && steps < kDeepest / 2; ++steps) {
      rules.push_back(log_[at].rule);
      at = log_[at].parent;
    }
  }
  std::vector<const ReadyRule*> different;
  for (const ReadyRule* rule : rules) {
    if (std::find(different.begin(), different.end(), rule) == different.end())
      different.push_back(rule);
  }
  // In the order in which they are written.
  std::stable_sort(different.begin(), different.end(),
                   [](const auto* a, const auto* b) { return a->span.begin() < b->span.begin(); });
  std::string names = quoted(different[0]);
  for (size_t i = 1; i < different.size(); ++i)
    names += (i + 1 == different.size() ? " and " : ", ") + quoted(different[i]);
  std::string message;
  if (different.size() == 1) {
    message = "rule " + names + (undo ? " writes what it replaces" : " applies to what it writes") +
              ", without end";
  } else if (undo) {
    message = "rules " + names +
              (different.size() == 2 ? " undo each other" : " lead back to where they began");
  } else {
    message = "rules " + names + " apply to what the others write, without end";
  }
  Diagnostic diagnostic = Diagnostic::error(std::move(message), different[0]->span);
  for (size_t i = 1; i < different.size(); ++i)
    diagnostic.note(different.size() == 2 ? "the other rule" : "another rule", different[i]->span);
  std::string text = print_short(after.get());
  diagnostic.note(
      undo ? "here they come to " + text + " again and again" : "here they have come to " + text,
      log_[last].before->span());
  throw Error(std::move(diagnostic));
}

}  // namespace relay::pattern
