// How the products of a program are computed.
#pragma once

#include <cstddef>
#include <string>

#include <relay/ir/module.h>

namespace relay::testing {

struct Products {
  size_t contractions = 0;  // kernels
  size_t in_loops = 0;      // sums of products that became loops of another template
  std::string where;        // those loops
};

/// The products of a typed, specialised module as the machine's compiler lowers it. Kernels whose
/// extents only a run knows are left out.
Products products_of(const Module& module);

}  // namespace relay::testing
