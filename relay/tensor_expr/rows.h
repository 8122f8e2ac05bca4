// Typed loops over rows of values: the parts of the direct evaluator. Rows keep 16-bit floats as
// float, rounded after every operation; truth values are bytes 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <relay/tensor_expr/computation.h>

namespace relay::te::rows {

/// The form of a stored `T` in a row.
using arithmetic::LaneType;

/// Bytes of one value of a dtype in a row.
inline size_t lane_size(DType dtype) {
  return dtype.is_float() && dtype.bits == 16 ? sizeof(float) : dtype.size();
}

/// Calls `f(std::type_identity<T>{})` with the type that values of `dtype` have in rows.
template <class F>
decltype(auto) dispatch_lane(DType dtype, F&& f) {
  return dispatch(dtype, [&](auto tag) {
    return f(std::type_identity<LaneType<typename decltype(tag)::type>>{});
  });
}

using UnaryFn = void (*)(void* out, const void* a, int64_t n);
using BinaryFn = void (*)(void* out, const void* a, const void* b, int64_t n);
/// False if a divisor is zero where `mask` (null: everywhere) is set.
using DivideFn = bool (*)(void* out, const void* a, const void* b, const uint8_t* mask, int64_t n);

UnaryFn unary_fn(UnaryOp op, DType dtype);
BinaryFn binary_fn(BinaryOp op, DType dtype);
/// Division, remainder and their floored forms on integers.
DivideFn divide_fn(BinaryOp op, DType dtype);
UnaryFn cast_fn(DType from, DType to);
UnaryFn bitcast_fn(DType from, DType to);
/// Rounds a row to a 16-bit float type; null for the others.
UnaryFn round_fn(DType dtype);
BinaryFn combine_fn(Combiner::Kind kind, DType dtype);

/// out[i] = value[0]
void splat(DType dtype, void* out, const void* value, int64_t n);
/// out[i] = c[i] ? a[i] : b[i]
void select(DType dtype, void* out, const uint8_t* c, const void* a, const void* b, int64_t n);
/// Bits of a constant as a row value.
void write_constant(DType dtype, void* out, const Immediate& value);
void write_identity(Combiner::Kind kind, DType dtype, void* out);

// Elements of arrays; `from` and `to` are in the stored type, offsets and steps count elements.
void load_strided(DType dtype, void* out, const void* from, int64_t step, int64_t n);
void load_gather(DType dtype, void* out, const void* from, const int64_t* offsets, int64_t n);
/// Uses `fill` (a row value) where `valid` is 0.
void load_valid(DType dtype, void* out, const void* from, const int64_t* offsets,
                const uint8_t* valid, const void* fill, int64_t n);
void store(DType dtype, void* to, const void* row, int64_t n);
void store_scattered(DType dtype, void* to, const int64_t* offsets, const void* row, int64_t n);

/// For each i in order: joins to[offsets[i]] with row[i], or assigns row[i] if `kind` is null.
/// Skips negative offsets.
void update(const Combiner::Kind* kind, DType dtype, void* to, const int64_t* offsets,
            const void* row, int64_t n);

/// Joins a row to one accumulator in order, skipping places where `mask` (null: none) is 0.
void reduce(Combiner::Kind kind, DType dtype, void* accumulator, const void* row,
            const uint8_t* mask, int64_t n);
/// For each i in order: out[i] = carry after (`exclusive`: before) joining row[i]; can run
/// backwards.
void prefix(Combiner::Kind kind, DType dtype, void* carry, void* out, const void* row, int64_t n,
            bool reverse, bool exclusive);

/// evens[i] = row[2 i], odds[i] = row[2 i + 1] for i < n
void deinterleave(size_t lane_bytes, void* evens, void* odds, const void* row, int64_t n);

}  // namespace relay::te::rows
