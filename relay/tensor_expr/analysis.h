// Facts derived from a computation: how it indexes its inputs, and from that how it may be fused.
#pragma once

#include <string_view>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The relation of a load's indices to the point of the stage's domain.
enum class IndexMap : uint8_t {
  kIdentity,     // the point itself
  kBroadcast,    // the point with places left out or read at 0
  kPermutation,  // its places in another order
  kInjective,    // some other function of the point alone
  kFolded,       // a function of the point and of a fold's axes
  kData          // depends on loaded values
};

struct LoadMap {
  const ScalarNode* load;
  IndexMap map;
  /// For a fold: true if each index is one axis or constant and all axes of the domain with more
  /// than one point take part, so that no element is read for two points.
  bool partition = false;
};

/// The loads of a stage that has a domain, operands before users.
std::vector<LoadMap> load_maps(const Computation& computation, const Stage& stage);

/// The way in which an operator may be joined with its neighbours, with the names of TVM.
enum class FusionKind : uint8_t {
  kElementwise,     // element i of each output needs element i of each input
  kBroadcast,       // the same under broadcasting
  kInjective,       // some elements of the inputs, found by index arithmetic or by data
  kReduction,       // folds of parts of the input, each element in one part
  kOutElementwise,  // folds that reuse elements (contractions, windows)
  kRowProgram,      // folds and points in a row, such as softmax and norms (TVM has no name for it)
  kOpaque           // anything else: scans, updates, library kernels
};
std::string_view fusion_kind_name(FusionKind kind);

FusionKind fusion_kind(const Computation& computation);

}  // namespace relay::te
