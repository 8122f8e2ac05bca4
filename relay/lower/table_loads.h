// The loads of tables that windows over a plane become.
#pragma once

#include <map>
#include <optional>

#include <relay/lower/lines.h>
#include <relay/lower/tables.h>
#include <relay/tensor_expr/affine.h>

namespace relay::lower {

/// Loads of one tensor at constant distances from the table's place in its plane. The places of
/// tables are counted by the last axis of a map, and by another one from line to line.
class TableLoads {
 public:
  /// False if the entries of a table of the map load otherwise.
  bool find(const te::Map& map, const Table& table, std::span<const te::ScalarRef> entries,
            IndexMath& math);

  Lines lines;                 // the data, its dimension of lines, parts and what is in front
  std::optional<size_t> down;  // dimension of the data that counts lines
  size_t row = 0;              // axis of the map that moves down
  int64_t down_step = 1, least_down = 0, most_down = 0, most_along = 0;
  std::map<const te::ScalarNode*, TablePlace> places;

  /// Lines that so many rows of tables read.
  int64_t lines_of(int64_t rows) const {
    return (rows - 1) * down_step + most_down - least_down + 1;
  }
  /// Where a load finds its element among lines: elements from the first one of the lines of its
  /// table, for the table at place 0 of a line.
  int64_t place_of(const te::ScalarNode& load) const;

 private:
  bool take(const te::ScalarNode& load, IndexMath& math);
  bool moves_down(const te::Affine& index);

  const te::Map* map_ = nullptr;
  const Table* table_ = nullptr;
  Ref<te::ScalarNode> filled_;  // the load of the lines, where none of the tables' is filled
  uint32_t row_axis_ = 0;
};

}  // namespace relay::lower
