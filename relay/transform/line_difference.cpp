// The changes from one text to another, line by line.
#include <algorithm>
#include <string_view>

#include <relay/transform/instruments.h>

namespace relay {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

struct Line {
  char mark;  // ' ', '-', '+'
  std::string_view text;
};

/// The shortest way from `a` to `b` where that costs no more than a table of kMost entries; beyond,
/// everything between what begins and ends alike is replaced.
std::vector<Line> compare(const std::vector<std::string_view>& a,
                          const std::vector<std::string_view>& b) {
  constexpr size_t kMost = size_t{1} << 24;
  size_t begin = 0, end = 0;
  while (begin < a.size() && begin < b.size() && a[begin] == b[begin]) ++begin;
  while (end < a.size() - begin && end < b.size() - begin &&
         a[a.size() - 1 - end] == b[b.size() - 1 - end])
    ++end;
  size_t n = a.size() - begin - end, m = b.size() - begin - end;
  std::vector<Line> result;
  for (size_t i = 0; i < begin; ++i) result.push_back({' ', a[i]});
  if ((n + 1) > kMost / (m + 1)) {
    for (size_t i = 0; i < n; ++i) result.push_back({'-', a[begin + i]});
    for (size_t j = 0; j < m; ++j) result.push_back({'+', b[begin + j]});
  } else {
    // common[i][j]: the length of the longest common subsequence of the rests.
    std::vector<uint32_t> common((n + 1) * (m + 1));
    auto at = [&](size_t i, size_t j) -> uint32_t& { return common[i * (m + 1) + j]; };
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        at(i, j) = a[begin + i] == b[begin + j] ? at(i + 1, j + 1) + 1
                                                : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
    size_t i = 0, j = 0;
    while (i < n || j < m) {
      if (i < n && j < m && a[begin + i] == b[begin + j]) {
        result.push_back({' ', a[begin + i]});
        ++i, ++j;
      } else if (i < n && (j == m || at(i + 1, j) >= at(i, j + 1))) {
        result.push_back({'-', a[begin + i++]});
      } else {
        result.push_back({'+', b[begin + j++]});
      }
    }
  }
  for (size_t i = a.size() - end; i < a.size(); ++i) result.push_back({' ', a[i]});
  return result;
}

}  // namespace

std::string line_difference(const std::string& before, const std::string& after, bool colour) {
  constexpr size_t kAround = 3;
  std::vector<Line> lines = compare(lines_of(before), lines_of(after));
  std::vector<bool> shown(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    for (size_t k = i < kAround ? 0 : i - kAround; k < std::min(lines.size(), i + kAround + 1); ++k)
      shown[k] = true;
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!shown[i]) {
      if (i + 1 < lines.size() && shown[i + 1]) text += "@@\n";
      continue;
    }
    bool paint = colour && lines[i].mark != ' ';
    if (paint) text += lines[i].mark == '-' ? "\033[31m" : "\033[32m";
    text += lines[i].mark;
    text += lines[i].text;
    if (paint) text += "\033[0m";
    text += "\n";
  }
  return text;
}

}  // namespace relay
