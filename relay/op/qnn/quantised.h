// Shared by the operators of quantised networks. Integers q stand for the numbers (q - zero_point)
// · scale; scale and zero point are scalars, or vectors along an axis.
#pragma once

#include <string>

#include <relay/op/op.h>
#include <relay/op/qnn/fixed_point.h>

namespace relay {

/// The storage types of quantised numbers; sums of products may have 64 bits, too.
inline constexpr DTypes kQuantised =
    DTypes(kInt8) | kUInt8 | DTypes(kInt16) | kUInt16 | DTypes(kInt32);
inline constexpr DTypes kQuantisedSums = kQuantised | kInt64;
/// The storage types of weights and activations.
inline constexpr DTypes kQuantisedFactors = DTypes(kInt8) | kUInt8 | DTypes(kInt16) | kUInt16;
/// The dtypes of operators with a table of all results.
inline constexpr DTypes kQuantisedBytes = DTypes(kInt8) | kUInt8;

/// Specs of scales and of zero points: scalars, or scalars and vectors.
inline ValueSpec scale_spec() { return tensor(kFloat32).rank(0); }
inline ValueSpec zero_point_spec() { return tensor(kInt32).rank(0); }
inline ValueSpec scales_spec() { return tensor(kFloat32).rank(0, 1); }
inline ValueSpec zero_points_spec() { return tensor(kInt32).rank(0, 1); }

/// Requires inputs `scale` and `zero_point` to be scalars or vectors along an axis of a tensor of
/// extents `dims`; `whose` is for the message.
void require_parameters(const RelationCall& call, size_t scale, size_t zero_point,
                        const std::vector<Dim>& dims, int64_t axis, const std::string& whose);

/// Scale (float32) and zero point (int32), shaped to broadcast to the integers.
struct QuantParams {
  Formula scale;
  Formula zero_point;
};
QuantParams quant_params(const OpCall& call, std::span<const ExprRef> args, size_t scale,
                         size_t zero_point, size_t rank, int64_t axis);

/// data - zero_point.
BoundedInt difference(const Formula& data, const Formula& zero_point);
/// from / to in float64.
Formula ratio(const Formula& from, const Formula& to);
/// The scale of products of integers of two scales, in float32.
Formula scale_product(const Formula& a, const Formula& b);
/// Integers of one scale as integers of another one, without zero points: int64.
Formula rescale(const BoundedInt& value, const Formula& from, const Formula& to,
                Rounding rounding = Rounding::kUpward);
/// value + zero_point in `dtype`; beyond its range the nearest end.
Formula saturate(const Formula& value, const Formula& zero_point, DType dtype);
/// The numbers that quantised ones stand for, in a floating-point dtype.
Formula dequantized(const Formula& data, const QuantParams& params, DType dtype);
/// Numbers as integers, halves away from zero or to even ones; beyond the range the nearest end,
/// and the zero point for not-a-number.
Formula quantized(const Formula& data, const QuantParams& params, DType dtype,
                  bool to_even = false);

/// Least and greatest integer of a dtype of at most 32 bits.
std::pair<int64_t, int64_t> integer_range(DType dtype);

}  // namespace relay
