// What the plan of a contraction is made of: loads of values, and counts cut into pieces.
#pragma once

#include <vector>

#include <relay/lower/contraction_plan.h>

namespace relay::lower {

/// The loads of a value, each once.
std::vector<te::ScalarRef> loads_in(const te::ScalarRef& root);
/// True if a value depends on where it stands, besides by what it loads.
bool uses_axes(const te::ScalarRef& root);
/// The value with the placeholder `var` where it loads.
te::ScalarRef with_placeholder(const te::ScalarRef& root, const te::ScalarNode* load, uint32_t var);

/// True if the value is long code for each element.
bool is_heavy(const te::ScalarRef& root);
/// The axes of a group from the one with the longest step of a sum to that with the shortest;
/// nothing if the sum does not grow evenly through them.
std::optional<AxisGroup> order_along(const AxisGroup& group, const te::Affine& offset);

/// Cycles of a tile for one step of k, about: products, loads, the latency of a sum, and the
/// panel's line from the second cache.
double tile_cost(const Processor& processor, int64_t rows, int64_t vectors);

/// True if both factors are copied, step by step of k: rows that are copied then serve several
/// panels, as many as stay in the second cache.
bool shares_copied_rows(const ContractionPlan& plan);
/// Chooses the passes over k of a plan with tiles and panels, and how many of these share a pass.
void cut_into_passes(ContractionPlan& plan, const Processor& processor);

/// Steps of k and panels for a right factor that goes by once, read where it is by at most so many
/// rows.
void choose_streams(ContractionPlan& plan, int64_t most_rows);
/// Sets the last columns apart where they would fill a small part of a vector.
void choose_tail(ContractionPlan& plan);

/// A known count in as few pieces as `most` allows.
Cut cut_known(int64_t count, int64_t most);
Cut cut_unknown(Dim count, int64_t size);
/// Pieces that a packed operand prescribes.
Cut cut_panels(Dim count, int64_t size);

/// True if a right factor, `along_k` elements from one step of k to the next, was written by this
/// worker line after line: it is a panel already, and a copy would be no nearer.
bool is_panel(const Contraction& contraction, const LinearLoad& load, Dim along_k);

}  // namespace relay::lower
