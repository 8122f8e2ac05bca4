// Maps whose values are chosen by two indices out of a small table, the values of which share what
// they are computed from.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// The index that a table's row or column is chosen by: an axis, or its remainder.
struct TableKey {
  size_t axis = 0;  // of the map
  int64_t count = 0;
  bool whole = false;  // the axis itself
};

/// A tree of selects that compare keys with numbers.
struct Table {
  const te::ScalarNode* root = nullptr;
  TableKey row, column;
  std::vector<te::ScalarRef> entries;  // row by row
};

/// The largest table in a map, if there is one and nothing in the map can fail.
std::optional<Table> find_table(const te::Map& map);

/// The distances of a load from the place of its table in the plane.
struct TablePlace {
  int64_t down = 0, along = 0;
};

/// The largest parts of entries that read one column each, apart from products with constants:
/// these stay with the sums that they belong to. Parts of one kind are equal but for their column.
struct ColumnValues {
  struct Use {
    size_t kind = 0;
    int64_t column = 0;
  };
  std::vector<te::ScalarRef> kinds;                        // the first part of each
  std::unordered_map<const te::ScalarNode*, Use> of_part;  // parts of the entries
  int64_t most = 0;                                        // greatest column
};

/// Nothing if entries are more than arithmetic on loads and constants, or read no column. All loads
/// are of one plane; `place` is asked for each of them.
std::optional<ColumnValues> column_values(
    std::span<const te::ScalarRef> entries,
    const std::function<TablePlace(const te::ScalarNode& load)>& place);

}  // namespace relay::lower
