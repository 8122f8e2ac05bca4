// Arithmetic of counters, int64 scalars, in functions that passes write.
#pragma once

#include <relay/ir/expr.h>

namespace relay::counts {

TypeRef type();
ExprRef number(int64_t value);
ExprRef plus(const ExprRef& a, const ExprRef& b);
ExprRef minus(const ExprRef& a, const ExprRef& b);
ExprRef twice(const ExprRef& a);
/// Rounded down.
ExprRef quotient(const ExprRef& a, const ExprRef& b);
ExprRef at_least(const ExprRef& a, int64_t least);
ExprRef smaller(const ExprRef& a, const ExprRef& b);
/// √(2a), rounded down.
ExprRef root_of_twice(const ExprRef& a);
/// Conditions; `divides` is true if `a` is a multiple of `d`.
ExprRef less(const ExprRef& a, const ExprRef& b);
ExprRef divides(const ExprRef& d, const ExprRef& a);
/// One of two counters.
ExprRef where(const ExprRef& test, const ExprRef& a, const ExprRef& b);

}  // namespace relay::counts
