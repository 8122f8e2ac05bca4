// Padding of windows.
#pragma once

#include <vector>

#include <relay/lower/index_math.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::lower {

/// True if what a fold combines is its identity wherever `load`, one of the loads below it, gives
/// its fill: such points may be left out. (A product with an infinite factor is the exception: 0
/// counts as nothing.)
bool fill_is_identity(const te::ScalarNode& fold, const te::ScalarNode* load);

/// The load with these indices, made simple, and without a border that they cannot cross.
te::ScalarRef load_at(const te::ScalarNode& load, const std::vector<te::ScalarRef>& indices,
                      const std::vector<Dim>& dims, IndexMath& math);

}  // namespace relay::lower
