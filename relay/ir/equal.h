// Structural equality and hash: up to the names of bound variables, sharing respected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

struct EqualOptions {
  /// Lets a free variable stand for any one of the other side that has its type, whatever the
  /// names, instead of for itself alone.
  bool map_free_vars = false;
  /// `(%1, %1)` and two equal but separate nodes differ, unless this is off.
  bool respect_sharing = true;
};

/// True if two expressions are the same program: alpha-equivalent, equal types, attributes,
/// constants to the bit. If they are not, `why` receives a short description of the first
/// difference, and `path` the numbers of the operands that lead to it, if given.
bool structural_equal(const Expr* a, const Expr* b, const EqualOptions& options = {},
                      std::string* why = nullptr, std::vector<uint32_t>* path = nullptr);
bool structural_equal(const Module& a, const Module& b, const EqualOptions& options = {},
                      std::string* why = nullptr);

/// A hash that agrees with `structural_equal`, the same in every process.
uint64_t structural_hash(const Expr* expr, const EqualOptions& options = {});
uint64_t structural_hash(const Module& module, const EqualOptions& options = {});

}  // namespace relay
