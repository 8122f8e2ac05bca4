// How a contraction is cut: what its factors are to the generator, tile sizes, blocks, tasks.
#pragma once

#include <optional>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/lower/processor.h>
#include <relay/tensor_expr/affine.h>

namespace relay::lower {

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

  /// True if any condition depends on an axis.
  bool asks(uint32_t axis) const;
};

/// A load of an operand that was packed for tiles: `packed[…, n div width, k…, n mod width]` of the
/// columns or rows n, counted through as one. Elements past the last n are there, too: lines are
/// read whole.
/// Or, for products in groups of k, `packed[…, n div width, k div group, n mod width, k mod
/// group]`.
struct PackedLoad {
  int32_t buffer = 0;
  DType dtype;
  int64_t width = 1;                 // rows or columns of a line
  int64_t group = 1;                 // steps of k in a line
  std::optional<te::Affine> step{};  // k as a group counts it through, for groups of several
  Dim pitch;                         // elements from one panel to the next
  te::Affine offset;                 // of the batch and the folded axes
};

/// lhs or rhs.
struct Factor {
  te::ScalarRef value;               // in terms of axes
  std::optional<LinearLoad> load;    // if it has one load, a linear one,
  std::optional<PackedLoad> packed;  // or perhaps one of a packed operand, linear or not
  te::ScalarRef of_load;             // then the value in terms of register `var`
  uint32_t var = 0;
  bool plain = false;  // the value is the load, unconditional; for groups of k perhaps cast
};

/// A load as one of an operand that is packed along a group of axes; nothing if it is none, or
/// depends on more than the batch and the folded axes besides.
std::optional<PackedLoad> packed_load(const te::ScalarRef& load, const Buffer& buffer,
                                      const AxisGroup& group, const AxisGroup& batch);

/// The dtype of the only load of a value that is this load, perhaps cast to wider integers; invalid
/// for other values and for more than 16 bits.
DType stored_type(const te::ScalarRef& value);
/// True if bfloat16 holds each value exactly, because it was one.
bool is_bfloat16(const te::ScalarRef& value);
/// Steps of k that are multiplied and added together for factors of these values in a sum of a
/// dtype: see ContractionPlan::group.
int64_t group_of(const te::ScalarRef& lhs, const te::ScalarRef& rhs, DType accumulator,
                 const Processor& processor);

/// How wide the panels should be that a factor (columns: the right one) is packed into; nothing if
/// tiles read it as well where it is.
std::optional<int64_t> packed_width(const Contraction& contraction, bool columns,
                                    const Processor& processor);

/// True if a contraction with few columns has a left factor that was packed as the right one of the
/// contraction `turned`.
bool is_packed_turned(const Contraction& contraction, const Processor& processor);

/// The contraction `turned`, for runs in which it has few columns. Nothing if the number of columns
/// is known, or if the left factor is not packed so that it can be read both ways.
std::optional<Contraction> for_few_columns(const Contraction& contraction,
                                           const Processor& processor);

/// A load of the epilogue that the tile does for itself.
struct TileLoad {
  LinearLoad load;
  uint32_t var = 0;
  bool along_columns = false;  // contiguous, else the same for all columns
};

/// A count cut into pieces of two sizes that differ by at most 1: `more` of size `size`, then
/// pieces of size - 1. Or into pieces of `size` with a last one of `rest` (not 0). With an unknown
/// count: pieces of `size`, the last one may be smaller.
struct Cut {
  Dim pieces = 1;
  int64_t size = 1;
  Dim more = 1;
  bool known = false;
  int64_t rest = 0;

  /// True if all pieces are surely of `size`.
  bool even() const { return known && rest == 0 && more == pieces; }
};

struct ContractionPlan {
  AxisGroup batch, rows, columns, folded;
  Factor lhs, rhs;
  te::ScalarRef epilogue;  // loads replaced by registers
  std::vector<TileLoad> tile_loads;
  std::optional<te::Affine> out_offset;  // contiguous along columns, but for rows between them:
  /// So many rows that follow each other fill the places between the results of neighbouring
  /// columns.
  int64_t interleave = 1;
  bool heavy_epilogue = false;  // long code: written once for all rows of a tile
  bool epilogue_axes = false;   // what is stored, or where, needs values of axes
  uint32_t num_vars = 0;

  int64_t lanes = 1;          // of a vector of accumulators
  int64_t element_bytes = 4;  // of an accumulator
  /// Steps of k that one instruction multiplies and adds: 4 for factors of 8 bits, 2 for those of
  /// 16, as int32 sums them, and for bfloat16 where the processor has such an instruction.
  /// Neighbours in k then lie side by side in panels and in rows.
  int64_t group = 1;
  DType lhs_type, rhs_type;  // of elements in rows and panels: the accumulator's for groups of 1
  Cut row_tiles;             // of the rows
  Cut panels;                // of the columns' vectors
  bool fills_tiles = false;  // the last tile reads rows again where there are no more
  int64_t panels_in_block = 1;
  int64_t tiles_in_block = 1;
  bool lhs_direct = false;      // read where it is: lhs[row][k], evenly along k
  bool rhs_direct = false;      // rows of full vectors at an even distance
  bool lhs_packed = false;      // row tiles are the packed operand's panels, or parts of them
  bool rhs_packed = false;      // panels are the packed operand's, or several of them
  bool transpose = false;       // rhs is contiguous along k
  std::optional<Dim> lhs_step;  // along k, for lhs_direct and lhs_packed
  std::optional<Dim> rhs_step;  // along k, for rhs_direct and rhs_packed
  bool matrix = false;          // tiles are those of the processor's matrix unit
  bool dots = false;            // few rows, both factors are contiguous along k: vectors along k
  /// The last columns where they would fill a small part of a vector: vectors along k, too.
  int64_t tail = 0;
  Dim main_columns;      // the others
  Dim k_block;           // of the outermost folded axis, in one pass
  Dim k_inner;           // extent of the other folded axes
  bool one_pass = true;  // the whole sum in one pass

  int64_t panel_columns() const { return panels.size * lanes; }
  int64_t lhs_bytes() const { return static_cast<int64_t>(lhs_type.size()); }
  int64_t rhs_bytes() const { return static_cast<int64_t>(rhs_type.size()); }
  /// The extent of one of the axes; 0 for others.
  Dim extent_of(uint32_t axis) const;
  /// True if a factor is copied into scratch before it is read.
  bool copies_lhs() const { return !lhs_direct && !lhs_packed; }
  bool copies_rhs() const { return !rhs_direct && !rhs_packed; }
};

/// With `few_rows`, for at most kFewRows of them.
ContractionPlan plan_contraction(const Contraction& contraction, const Processor& processor,
                                 bool few_rows = false);
/// Fewer rows do not pay for turning the right factor around.
inline constexpr int64_t kFewRows = 8;

/// Registers are for tiles of at most so many rows by so many vectors of accumulators.
int64_t tile_rows(DType accumulator, const Processor& processor, int64_t vectors);
/// A register of the matrix unit: rows, each of 16 accumulators or of 16 groups of k.
inline constexpr int64_t kMatrixRows = 16;
/// How wide a panel can be, in vectors.
inline constexpr int64_t kWidestPanel = 8;

}  // namespace relay::lower
