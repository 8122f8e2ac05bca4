// Values that nobody wrote down: random numbers, and arguments made up for a type.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>

namespace relay {

/// How random numbers are spread.
struct Distribution {
  enum class Kind : uint8_t {
    kUsual,    // floats uniform in [0, 1), whole numbers from 0 to 99, bools even
    kUniform,  // floats in [a, b), whole numbers from a to b, both included
    kNormal    // of mean a and deviation b; whole numbers are rounded
  };
  Kind kind = Kind::kUsual;
  double a = 0;
  double b = 1;
};

/// Fills a dense array with numbers of the generator. Throws `Error` if the dtype has no such
/// numbers.
void fill_random(NDArray& array, const Distribution& distribution, std::mt19937_64& generator);

/// Small numbers that follow from `seed`: floats are multiples of 1/8 from -2 to 2, integers are
/// from 0 to 4, so that most are indices too.
NDArray small_numbers(ShapeView shape, DType dtype, uint64_t seed);

/// Extents for the dimension names in the types of a check: those that somebody wants, those that
/// given values have, and for all other names one small number with which every term has a value.
class Extents {
 public:
  explicit Extents(const TypeCheck& check, std::map<std::string, int64_t> wanted = {});
  /// Takes the extents of a value that stands for a type. Call it before `shape`.
  void learn(const TypeInfo& type, const Value& value);
  /// The shape of a tensor; an extent that its type leaves open is 2, a missing rank is 0. Throws
  /// `Error` if no extents are possible.
  Shape shape(const TypeInfo& tensor);

 private:
  void choose();
  bool compute(int64_t open);

  const TypeCheck& check_;
  std::map<std::string, int64_t> wanted_;
  std::vector<std::pair<const TypeInfo::Dim*, int64_t>> told_;
  std::vector<int64_t> slots_;  // of check_.terms
  std::vector<int64_t> names_;
  bool chosen_ = false;
};

/// A value of a type of `check`, with small numbers that follow from `seed`; of a data type one of
/// a few constructors. Throws `Error` for functions, types that are not known, and data types
/// without finite values.
Value made_up(const TypeCheck& check, const TypeInfo& type, Extents& extents, uint64_t seed);

}  // namespace relay
