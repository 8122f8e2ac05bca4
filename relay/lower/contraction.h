// Recognises sums of products by their index maps.
#pragma once

#include <optional>
#include <span>

#include <relay/lower/loops.h>
#include <relay/lower/processor.h>

namespace relay::lower {

/// The contraction that a point-wise stage is, if it is one: `value` at the point `axes` holds one
/// fold Σ lhs · rhs, anything elementwise around it, and is stored at out[axes…]. Loads in `value`
/// name the buffers, as in a nest. Axes are rows if only one factor depends on them, columns if
/// only the other one does (the side that the output is contiguous along), batch if both do; an
/// axis that one factor uses divided (groups, transposed convolutions) is split first. Nothing if
/// there is neither a row nor a column, or if a window slides along the only one (depthwise): other
/// templates are better at that.
std::optional<Contraction> match_contraction(std::span<const Buffer> buffers, int32_t out,
                                             std::span<const te::Axis> axes,
                                             const te::ScalarRef& value, uint32_t num_axes,
                                             uint32_t num_vars);

/// A stage as a contraction over buffers that are the tensors of the computation: inputs first,
/// then the outputs of stages in order. Nothing if it is none.
std::optional<Contraction> contraction_of(const te::Computation& computation, size_t stage);
/// The only load below a value; null if there are none or several.
const te::ScalarNode* only_load(const te::ScalarRef& value);

/// The contraction with rows and columns in each other's place: what were columns, in whatever
/// product of the batch, are rows together. Results are then scattered over memory.
Contraction turned(const Contraction& contraction);
/// The contraction turned, if that is better as factors lie: very few columns, and rows side by
/// side in the left factor, as in a transposed convolution, whose steps are columns. The new
/// columns are side by side in memory as well: images are taken one at a time.
std::optional<Contraction> better_turned(const Contraction& contraction);
/// True if that is better where the left factor can be packed as a right one: few columns, as those
/// of a convolution over few pixels, and rows that fill vectors of so many bytes.
bool has_few_columns(const Contraction& contraction, const Processor& processor);
/// So many columns leave at least half of a vector empty,
inline int64_t few_columns(int64_t lanes) { return lanes / 2; }
/// and for shorter sums their results would take longer to store.
inline constexpr int64_t kWorthTurning = 64;

/// True if contractions sum in this dtype.
bool is_accumulator(DType dtype);
/// True if a fold at the points of `axes` is a sum of products with rows and columns, of any dtype:
/// the work of a contraction, if nothing else prevented it.
bool is_product(const te::ScalarRef& fold, std::span<const te::Axis> axes, uint32_t num_axes,
                uint32_t num_vars);
/// True if a stage as a whole is a contraction with rows and columns: such a stage stays alone,
/// whatever reads it.
bool is_contraction(const te::Map& map, uint32_t num_axes, uint32_t num_vars);
/// The index that is the panel's number in a load of the form packed[…, n div w, …, n mod w] (an
/// operand packed in panels of w).
std::optional<size_t> panel_index(const te::ScalarNode& load);
/// Where the indices are of a load of the form packed[…, n div w, …, k div g, n mod w, k mod g] (an
/// operand packed in groups of g steps of k); without the first of them for a single panel.
struct GroupedPlaces {
  std::optional<size_t> panel;
  size_t steps = 0, within = 0;
  int64_t group = 1;
};
std::optional<GroupedPlaces> grouped_places(const te::ScalarNode& load, const Buffer& buffer);
/// The axes among `axes` that a value depends on.
std::vector<te::Axis> axes_of(const te::ScalarRef& value, std::span<const te::Axis> axes);

}  // namespace relay::lower
