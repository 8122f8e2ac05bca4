// Matches of recursive patterns that a matcher keeps from one node to the next.
#include <algorithm>

#include <relay/pattern/matcher.h>

namespace relay::pattern {

namespace {

constexpr size_t kMostParts = 64;               // that one match has bound
constexpr size_t kMostInAll = size_t{1} << 22;  // so that a program of any size needs little room

}  // namespace

void Matcher::forget() {
  const CompiledPattern::Part& root = pattern_->parts_[pattern_->root_];
  recursive_ = root.pattern->kind() == DFPatternKind::kWildcard ? root.target : kEnd;
  // A dominator settles on one parent, which depends on what was bound before.
  for (const CompiledPattern::Part& part : pattern_->parts_) {
    if (part.pattern->kind() == DFPatternKind::kDominator) recursive_ = kEnd;
  }
  kept_.clear();
  firsts_.clear();
  ends_.clear();
}

std::span<const Matcher::First> Matcher::list(uint32_t number) const {
  const size_t begin = number == 1 ? 0 : ends_[number - 2];
  return std::span(firsts_).subspan(begin, ends_[number - 1] - begin);
}

void Matcher::keep(bool fits) {
  if (recursive_ == kEnd) return;
  if (!fits) {
    kept_[root_] = 0;
    return;
  }
  // The last binding is that of the whole pattern, which is not part of what it stands for.
  std::vector<First> firsts;
  for (size_t i = 0; i + 1 < trail_.size() && firsts.size() <= kMostParts; ++i) {
    if (trail_parts_[i] != kEnd) {
      firsts.push_back({trail_parts_[i], trail_[i].expr, false});
      continue;
    }
    for (First& first : firsts) {
      const bool same = pattern_->parts_[first.part].pattern == trail_[i].pattern;
      if (same && first.expr != trail_[i].expr) first.again = true;
    }
  }
  for (uint32_t recalled : recalled_) {  // all of these are among them
    for (const First& earlier : list(recalled)) {
      for (First& first : firsts) {
        if (first.part == earlier.part && earlier.again) first.again = true;
      }
    }
  }
  // Mostly nothing is new: then both nodes share one list.
  uint32_t number = recalled_.empty() ? 0 : recalled_.back();
  if (number == 0 || !std::ranges::is_permutation(list(number), firsts)) {
    if (firsts.size() > kMostParts || firsts_.size() + firsts.size() > kMostInAll) return;
    firsts_.insert(firsts_.end(), firsts.begin(), firsts.end());
    ends_.push_back(firsts_.size());
    number = static_cast<uint32_t>(ends_.size());
  }
  kept_[root_] = number;
}

/// A part of one node is going to be matched: false if it has been matched with another one, or
/// will be. What comes before it then fails early where it holds another node for this part.
bool Matcher::keep_promise(const Goal& goal) {
  for (const Expr* other : {bound_[goal.part], promised_[goal.part]}) {
    if (other != nullptr && other != goal.expr) return false;
  }
  if (promised_[goal.part] == nullptr) {
    promised_[goal.part] = goal.expr;
    promised_parts_.push_back(goal.part);
  }
  return true;
}

void Matcher::break_promises(size_t left) {
  for (; promised_parts_.size() > left; promised_parts_.pop_back())
    promised_[promised_parts_.back()] = nullptr;
}

/// The answer of an earlier match to a goal, a wildcard that stands for a pattern; nothing if that
/// match does not decide it. Where a node did not fit alone, it fits nowhere, as what is bound
/// already only adds conditions. Where it did fit, the first way in which it did is also the first
/// one here if it agrees with what is bound; if a goal that follows fails, the node is matched
/// afresh for its other ways. A part that fitted several nodes there would be compared with what is
/// bound: then nothing is known.
std::optional<bool> Matcher::recall(const Goal& goal, uint32_t done) {
  if (!answers() || goal.free || goal.afresh) return {};
  if (pattern_->parts_[goal.part].target != recursive_) return {};
  const uint32_t* known = kept_.find(goal.expr);
  if (known == nullptr) return {};
  if (*known == 0) return false;
  const std::span<const First> firsts = list(*known);
  const bool agrees = std::ranges::all_of(firsts, [&](const First& first) {
    if (bound_[first.part] != nullptr) return bound_[first.part] == first.expr && !first.again;
    return promised_[first.part] == nullptr || promised_[first.part] == first.expr;
  });
  if (!agrees) return {};
  if (!pool_[done].only_binds) {
    pool_.push_back(goal);
    pool_.back().afresh = true;
    point(static_cast<uint32_t>(pool_.size()) - 1);
  }
  for (const First& first : firsts) {
    if (bound_[first.part] != nullptr) continue;
    bound_[first.part] = first.expr;
    trail_.push_back({pattern_->parts_[first.part].pattern, first.expr});
    trail_parts_.push_back(first.part);
  }
  recalled_.push_back(*known);
  goals_ = done;
  return true;
}

}  // namespace relay::pattern
