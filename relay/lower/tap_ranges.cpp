#include <relay/lower/tap_ranges.h>

#include <algorithm>
#include <limits>

namespace relay::lower {
namespace {

int64_t ceil_quotient(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// The results for which one tap reads data.
TapRange range_of(const SlidingAxis& axis, int64_t tap) {
  const int64_t first = axis.step * tap + axis.offset;  // what result 0 reads
  const int64_t begin = std::clamp<int64_t>(ceil_quotient(-first, axis.stride), 0, axis.results);
  const int64_t end =
      std::clamp<int64_t>(ceil_quotient(axis.extent - first, axis.stride), begin, axis.results);
  return {tap, 1, begin, end - begin};
}

/// Both, and what lies between.
TapRange joined(const TapRange& a, const TapRange& b) {
  TapRange result{a.tap, b.tap + b.taps - a.tap, a.begin, a.length};
  if (a.length == 0) {
    result.begin = b.begin;
    result.length = b.length;
  } else if (b.length > 0) {
    result.begin = std::min(a.begin, b.begin);
    result.length = std::max(a.begin + a.length, b.begin + b.length) - result.begin;
  }
  return result;
}

/// Taps cut into ranges, and what that costs: products of taps and results, and `one_more` for each
/// range.
class Cutting {
 public:
  Cutting(std::vector<TapRange> taps, double one_more)
      : taps_(std::move(taps)), one_more_(one_more), best_(taps_.size() + 1) {
    best_[0].cost = 0;
    for (size_t end = 1; end <= taps_.size(); ++end) {
      TapRange range = taps_[end - 1];
      for (size_t begin = end; begin-- > 0;) {
        range = joined(taps_[begin], range);
        const double cost = best_[begin].cost + cost_of(range);
        if (cost < best_[end].cost) best_[end] = {cost, range, begin};
      }
    }
  }

  /// The ranges of all taps. The same on both sides where taps are: two ranges of equal size are
  /// one group.
  std::vector<TapRange> ranges() const {
    const size_t count = taps_.size();
    if (!symmetric()) return before(count);
    size_t outer = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t some = 0; 2 * some <= count; ++some) {
      const double inner = 2 * some == count ? 0 : cost_of(between(some, count - some));
      if (2 * best_[some].cost + inner > least) continue;
      least = 2 * best_[some].cost + inner;
      outer = some;
    }
    std::vector<TapRange> result = before(outer);
    std::vector<TapRange> others = result;
    if (2 * outer < count) result.push_back(between(outer, count - outer));
    for (size_t i = others.size(); i-- > 0;) {
      const auto end = static_cast<size_t>(others[i].tap - taps_[0].tap);
      result.push_back(between(count - end - static_cast<size_t>(others[i].taps), count - end));
    }
    return result;
  }

 private:
  struct Best {
    double cost = std::numeric_limits<double>::infinity();
    TapRange last;
    size_t begin = 0;
  };

  double cost_of(const TapRange& range) const {
    return one_more_ + static_cast<double>(range.taps * range.length);
  }

  bool symmetric() const {
    for (size_t i = 0, count = taps_.size(); 2 * i < count; ++i) {
      if (taps_[i].length != taps_[count - 1 - i].length) return false;
    }
    return true;
  }

  TapRange between(size_t begin, size_t end) const {
    TapRange range = taps_[begin];
    for (size_t i = begin + 1; i < end; ++i) range = joined(range, taps_[i]);
    return range;
  }

  std::vector<TapRange> before(size_t end) const {
    std::vector<TapRange> result;
    for (; end > 0; end = best_[end].begin) result.push_back(best_[end].last);
    std::reverse(result.begin(), result.end());
    return result;
  }

  std::vector<TapRange> taps_;
  double one_more_;
  std::vector<Best> best_;  // of the taps before each
};

}  // namespace

std::vector<TapRange> tap_ranges(const SlidingAxis& axis) {
  constexpr int64_t kMostTaps = 64;
  // Products of taps with steps, and of those with results, stay within 64 bits.
  constexpr int64_t kMost = int64_t{1} << 50;
  for (int64_t each : {axis.results, axis.stride, axis.step, axis.offset, axis.extent}) {
    if (each > kMost || each < -kMost) return {};
  }
  constexpr double kWorthIt = 0.05;
  if (axis.taps < 1 || axis.taps > kMostTaps) return {};
  std::vector<TapRange> taps;
  for (int64_t tap = 0; tap < axis.taps; ++tap) taps.push_back(range_of(axis, tap));
  while (!taps.empty() && taps.back().length == 0) taps.pop_back();
  auto reads = [](const TapRange& tap) { return tap.length > 0; };
  taps.erase(taps.begin(), std::find_if(taps.begin(), taps.end(), reads));
  if (taps.empty()) return {};
  return Cutting(std::move(taps), kWorthIt * static_cast<double>(axis.taps * axis.results))
      .ranges();
}

std::vector<TapGroup> tap_groups(const std::vector<TapRange>& ranges, int64_t results) {
  std::vector<TapGroup> groups;
  for (const TapRange& range : ranges) {
    auto pairs = [&](const TapGroup& group) {
      const TapRange& other = group.members[0];
      return group.members.size() == 1 && other.taps == range.taps &&
             other.length == range.length && range.length < results;
    };
    auto group = std::find_if(groups.begin(), groups.end(), pairs);
    if (group == groups.end()) {
      groups.push_back({{range}});
    } else {
      group->members.push_back(range);
    }
  }
  auto whole = [&](const TapGroup& group) { return group.members[0].length == results; };
  std::stable_partition(groups.begin(), groups.end(), whole);
  return groups;
}

}  // namespace relay::lower
