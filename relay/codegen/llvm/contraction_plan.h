// How a contraction is cut: what its factors are to the generator, tile sizes, blocks, tasks.
#pragma once

#include <optional>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/tensor_expr/affine.h>

namespace relay::codegen {

/// Axes of one class, counted through as one, the last one fastest.
struct AxisGroup {
  std::vector<te::Axis> axes;
  Dim extent = 1;

  explicit AxisGroup(std::vector<te::Axis> members = {});
  /// Elements from one point to the next if a sum grows evenly through the whole group.
  std::optional<Dim> stride_of(const te::Affine& sum) const;
  bool has(uint32_t axis) const;
};

/// A load whose address is a sum of axes; what it adds for anything else is the same in a batch.
struct LinearLoad {
  te::ScalarRef load;
  int32_t buffer = 0;
  DType dtype;
  te::Affine offset;  // in elements
  struct Condition {
    te::Affine index;
    Dim extent;
  };
  std::vector<Condition> conditions;  // outside: the fill value
};

/// lhs or rhs.
struct Factor {
  te::ScalarRef value;             // in terms of axes
  std::optional<LinearLoad> load;  // if it has one load, a linear one
  te::ScalarRef of_load;           // then the value in terms of register `var`
  uint32_t var = 0;
  bool plain = false;  // the value is the load, unconditional
};

/// A load of the epilogue that the tile does for itself.
struct TileLoad {
  LinearLoad load;
  uint32_t var = 0;
  bool along_columns = false;  // contiguous, else the same for all columns
};

/// A count cut into pieces of two sizes that differ by at most 1: `more` of size `size`, then
/// pieces of size - 1. With an unknown count: pieces of `size`, the last one may be smaller.
struct Cut {
  Dim pieces = 1;
  int64_t size = 1;
  Dim more = 1;
  bool known = false;
};

struct ContractionPlan {
  AxisGroup batch, rows, columns, folded;
  Factor lhs, rhs;
  te::ScalarRef epilogue;  // loads replaced by registers
  std::vector<TileLoad> tile_loads;
  std::optional<te::Affine> out_offset;  // contiguous along columns
  bool heavy_epilogue = false;           // long code: written once for each row
  bool epilogue_axes = false;            // what is stored, or where, needs values of axes
  uint32_t num_vars = 0;

  int64_t lanes = 1;          // of a vector of accumulators
  int64_t element_bytes = 4;  // of an accumulator
  Cut row_tiles;              // of the rows
  Cut panels;                 // of the columns' vectors
  int64_t panels_in_block = 1;
  int64_t tiles_in_block = 1;
  bool lhs_direct = false;      // read where it is: lhs[row][k], evenly along k
  bool rhs_direct = false;      // rows of full vectors at an even distance
  bool transpose = false;       // rhs is contiguous along k
  std::optional<Dim> lhs_step;  // along k, for lhs_direct
  std::optional<Dim> rhs_step;  // along k, for rhs_direct
  bool dots = false;            // few rows, both factors are contiguous along k: vectors along k
  /// The last columns where they would fill a small part of a vector: vectors along k, too.
  int64_t tail = 0;
  Dim main_columns;      // the others
  Dim k_block;           // of the outermost folded axis, in one pass
  Dim k_inner;           // extent of the other folded axes
  bool one_pass = true;  // the whole sum in one pass

  int64_t panel_columns() const { return panels.size * lanes; }
};

/// With `few_rows`, for at most kFewRows of them.
ContractionPlan plan_contraction(const lower::Contraction& contraction, const Target& target,
                                 bool few_rows = false);
/// Fewer rows do not pay for turning the right factor around.
inline constexpr int64_t kFewRows = 8;

}  // namespace relay::codegen
