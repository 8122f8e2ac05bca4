// Rewrites that compute a sum in several stages: that the stages give what the sum does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <relay/tensor_expr/computation.h>

#include <tests/unit/lowered_run.h>

namespace relay::testing {

/// A prepared computation with sums in several stages; nothing if none can be cut.
using CutSums = std::function<std::optional<te::Computation>(const te::Computation& prepared)>;
/// Evaluates the computation as it is, cut, and cut as loops. The cut one, if it can be cut.
std::optional<te::Computation> expect_same_when_cut(const te::Computation& computation,
                                                    const std::vector<NDArray>& inputs,
                                                    const SymbolValues& value, const CutSums& cut);
/// The same relative to the wanted numbers, for sums of any order.
double tolerance_of_sums(DType dtype);

/// Expects something of a computation; false if there is nothing to expect of it.
using CheckSums = std::function<bool(const te::Computation& computation,
                                     const std::vector<NDArray>& inputs, const SymbolValues&)>;
/// The number of recorded convolutions of which `check` is true; it ends with the first failure.
int count_recorded_convolutions(const CheckSums& check);
/// The computation of `nn.` and a call on %x and %w.
te::Computation convolution_of(const std::string& conv, const std::vector<TypeRef>& types);
/// Expects `check` to be true of a convolution of float32, also with the number of images open.
void expect_of_convolution(const std::string& conv, const Shape& data, const Shape& weights,
                           const CheckSums& check);

}  // namespace relay::testing
