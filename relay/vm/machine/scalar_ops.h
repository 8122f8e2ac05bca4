// Operations on single numbers, held as the bits of their stored form.
#pragma once

#include <cstdint>

#include <relay/runtime/dtype.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// out ← f(a, b), or f(a). False for an integer divided by zero; `out` is then untouched. The bits
/// above the type's width are zero, in and out.
using ScalarFn = bool (*)(uint64_t* out, uint64_t a, uint64_t b);

/// Null if the operation does not exist on the type. The result's type is
/// `scalar_op(op).result(…)`.
ScalarFn unary_scalar(Unary op, DType dtype);
ScalarFn binary_scalar(Binary op, DType dtype);
ScalarFn cast_scalar(DType from, DType to);

}  // namespace relay::vm
