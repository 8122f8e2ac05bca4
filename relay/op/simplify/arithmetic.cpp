// Arithmetic that has a shorter form.
#include <relay/op/registry/simplify.h>

namespace relay {

// Sums and products of bool are other operations.
std::string_view arithmetic_rules() {
  return R"rules(
    rule "add nothing": %x + -0 => %x where not bool(%x);
    inexact rule "add zero": %x + 0 => %x where not bool(%x);  // -0 + 0 is 0
    rule "subtract zero": %x - 0 => %x where not bool(%x);
    rule "multiply by one": %x * 1 => %x where not bool(%x);
    rule "divide by one": %x / 1 => %x where not bool(%x);
    rule twice: %x + %x => %x * 2 where not bool(%x);
    inexact rule "inverse root": 1 / sqrt(%y) => rsqrt(%y);  // 16-bit floats are rounded once
    inexact rule "divide by a root": %x / sqrt(%y) => %x * rsqrt(%y);
    inexact rule factors: %x * (%C = const) * (%D = const) => %x * (%C * %D) where not bool(%x);
    inexact rule summands: %x + (%C = const) + (%D = const) => %x + (%C + %D) where not bool(%x);
    inexact rule "factor of a sum":
      (%x + (%C = const)) * (%D = const) => %x * %D + %C * %D where not bool(%x);
    inexact rule "square of a sum":
      %x * %x + 2 * %x * %y + %y * %y => (%x + %y) * (%x + %y) where not bool(%x);
    inexact rule "square of a sum (2y)":
      %x * %x + 2 * %y * %x + %y * %y => (%x + %y) * (%x + %y) where not bool(%x);
    inexact rule "square of a sum (xy)":
      %x * %x + 2 * (%x * %y) + %y * %y => (%x + %y) * (%x + %y) where not bool(%x);
  )rules";
}

}  // namespace relay
