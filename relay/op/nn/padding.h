// Padding around a tensor that one call adds and another could add itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// Elements before and after a tensor on each axis.
using PaddingWidths = std::vector<std::pair<int64_t, int64_t>>;

/// For the operators whose first result is their first argument with elements around it, all equal
/// to their second argument: the number of these elements. Empty for a call that does anything
/// else.
using AddedPaddingFn = std::function<PaddingWidths(const OpCall& call)>;
OpColumn<AddedPaddingFn>& added_padding();

/// For the operators that pad their first argument themselves: the attributes of a call that adds
/// these elements of this value, too. Null if it cannot.
using TakePaddingFn =
    std::function<AttrsRef(const OpCall& call, const PaddingWidths& widths, double value)>;
OpColumn<TakePaddingFn>& takes_padding();

/// Widths of spatial axes joined with `before` and `after` of these, in the form of an attribute:
/// all before, then all after. Empty if other axes of the layout are padded.
std::vector<int64_t> joined_padding(std::string_view layout, std::string_view space,
                                    const PaddingWidths& widths, std::span<const int64_t> before,
                                    std::span<const int64_t> after);

}  // namespace relay
