// Arithmetic that has a shorter form.
#include <relay/op/registry/simplify.h>

namespace relay {

std::span<const PatternRule> arithmetic_rules() {
  // clang-format off
  static constexpr PatternRule kRules[] = {
      {"add nothing",          "add(x, -0)",                       "x",                               Keeps::kBits},
      {"add zero",             "add(x, 0)",                        "x",                               Keeps::kIntegers},  // -0 + 0 is 0
      {"subtract zero",        "subtract(x, 0)",                   "x",                               Keeps::kBits},
      {"multiply by one",      "multiply(x, 1)",                   "x",                               Keeps::kBits},
      {"divide by one",        "divide(x, 1)",                     "x",                               Keeps::kBits},
      {"twice",                "add(x, x)",                        "multiply(x, 2)",                  Keeps::kBits},
      {"inverse root",         "divide(1, sqrt(y))",               "rsqrt(y)",                        Keeps::kIntegers},  // 16-bit floats are rounded once
      {"divide by a root",     "divide(x, sqrt(y))",               "multiply(x, rsqrt(y))",           Keeps::kIntegers},
      {"factors",              "multiply(multiply(x, C), D)",      "multiply(x, multiply(C, D))",     Keeps::kIntegers},
      {"summands",             "add(add(x, C), D)",                "add(x, add(C, D))",               Keeps::kIntegers},
      {"factor of a sum",      "multiply(add(x, C), D)",           "add(multiply(x, D), multiply(C, D))", Keeps::kIntegers},
      {"square of a sum",      "add(add(multiply(x, x), multiply(multiply(2, x), y)), multiply(y, y))", "multiply(add(x, y), add(x, y))", Keeps::kIntegers},
      {"square of a sum (2y)", "add(add(multiply(x, x), multiply(multiply(2, y), x)), multiply(y, y))", "multiply(add(x, y), add(x, y))", Keeps::kIntegers},
      {"square of a sum (xy)", "add(add(multiply(x, x), multiply(2, multiply(x, y))), multiply(y, y))", "multiply(add(x, y), add(x, y))", Keeps::kIntegers},
  };
  // clang-format on
  return kRules;
}

}  // namespace relay
