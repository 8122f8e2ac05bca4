#include <relay/op/nn/padding.h>

namespace relay {

OpColumn<AddedPaddingFn>& added_padding() {
  static auto* column = new OpColumn<AddedPaddingFn>("added_padding");
  return *column;
}

OpColumn<TakePaddingFn>& takes_padding() {
  static auto* column = new OpColumn<TakePaddingFn>("takes_padding");
  return *column;
}

std::vector<int64_t> joined_padding(std::string_view layout, std::string_view space,
                                    const PaddingWidths& widths, std::span<const int64_t> before,
                                    std::span<const int64_t> after) {
  size_t rank = space.size();
  std::vector<int64_t> joined(2 * rank);
  if (layout.size() != widths.size()) return {};  // blocked
  for (size_t d = 0; d < rank; ++d) {
    joined[d] = before[d];
    joined[rank + d] = after[d];
  }
  for (size_t axis = 0; axis < layout.size(); ++axis) {
    if (widths[axis] == std::pair<int64_t, int64_t>(0, 0)) continue;
    size_t d = space.find(layout[axis]);
    if (d == std::string_view::npos) return {};
    joined[d] += widths[axis].first;
    joined[rank + d] += widths[axis].second;
  }
  return joined;
}

}  // namespace relay
