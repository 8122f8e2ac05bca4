// The facts about a processor that lowering decides by: a part of the target.
#pragma once

#include <cstdint>

namespace relay::lower {

/// Plans ask for these facts and never for the name of an instruction set. Sizes of caches are those
/// of common processors unless the target is the machine at hand, which is asked for them.
struct Processor {
  int64_t vector_bytes = 64;  // 64: AVX-512, 32: AVX2, 16: the baseline
  int64_t registers = 32;     // that hold vectors
  /// One instruction adds the products of a pair of bfloat16 to each float32.
  bool bfloat16_pairs = false;
  /// A matrix unit multiplies tiles of 16 rows of bytes or of bfloat16 (AMX).
  bool matrix_tiles = false;

  int64_t line_bytes = 64;
  int64_t first_sets = 64, first_ways = 8;  // of the first cache, in lines
  int64_t second_bytes = 1 << 20;           // a core's second cache
  int64_t last_bytes = 16 << 20;            // the cache that cores share

  /// How many numbers of so many bytes a vector holds.
  int64_t lanes(int64_t bytes) const { return vector_bytes / bytes; }

  bool operator==(const Processor&) const = default;
};

}  // namespace relay::lower
