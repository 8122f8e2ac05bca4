// Shared by operators whose shapes are arguments: extents that are known at run time.
#pragma once

#include <string>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// The spec of a list of extents, positions or steps.
inline ValueSpec list_spec() { return tensor(kIndices).rank(1); }

/// The number of entries of a list. It must be known, because it decides a rank. Nothing if the
/// relation has to wait for it.
std::optional<size_t> entries(const RelationCall& call, size_t input, const std::string& what);
/// The entries of a list of extents, none of which may be negative.
std::optional<std::vector<Dim>> extents(const RelationCall& call, size_t input,
                                        const std::string& what);

// Conditions on terms, as terms: 1 if they hold, else 0.
Dim at_least(Dim a, Dim b);
Dim same(Dim a, Dim b);
/// `a` if the condition holds, else `b`.
inline Dim choose(Dim condition, Dim a, Dim b) { return condition * a + (Dim(1) - condition) * b; }

/// Requires -rank ≤ axis < rank of an axis that is known at run time; returns the axis counted from
/// the front.
Dim axis_value(const RelationCall& call, Dim axis, size_t rank, const std::string& what);

}  // namespace relay
