// Computations: a DAG of stages over the inputs of one operator (or of a fused group).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <relay/runtime/failure_text.h>
#include <relay/runtime/library_kernel.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::te {

/// Shape and dtype of a tensor. Rank is static, extents are terms; in the outputs of a library
/// kernel `?` is an extent that the kernel counts.
struct TensorInfo {
  std::vector<Dim> dims;
  DType dtype;
  size_t rank() const { return dims.size(); }
};

/// k outputs computed point by point on one domain.
struct Map {
  std::vector<Axis> axes;  // the domain, also the outputs' dimensions in order
  std::vector<ScalarRef> values;
};

/// A recurrence along one axis, independent on the others. Outputs have the domain's shape: after
/// step i (inclusive) or before it (exclusive) the carries are stored at i.
struct Scan {
  std::vector<Axis> axes;
  uint32_t along = 0;              // position in `axes`
  std::vector<ScalarRef> carries;  // kVar placeholders
  std::vector<ScalarRef> init;     // free of `along`
  std::vector<ScalarRef> step;     // new carries, in terms of the placeholders and all axes
  bool reverse = false;
  bool exclusive = false;
};

/// base, then for each point of `axes` in row-major order: result[at] = result[at] ⊕ value (or =
/// value).
struct Update {
  TensorId base;
  std::vector<Axis> axes;
  std::vector<ScalarRef> at;  // one index (int64) for each dimension of the base
  ScalarRef value;
  std::optional<Combiner> combiner;  // nothing: assign, the last one wins
  Bounds bounds = Bounds::kFail;     // kFail, or kFill: points outside are skipped
  std::string message;               // the message of a load that fails
  uint32_t origin = 0;
};

/// Another shape over the same elements: element (i…) is source element offset + Σ stride·i,
/// counted in the source's row-major order. Never copies if the source is contiguous.
struct View {
  TensorId source;
  Dim offset;
  std::vector<Dim> extents;
  std::vector<Dim> strides;
};

/// A library kernel of the runtime, by name (relay/runtime/library_kernel.h).
struct Library {
  std::string kernel;
  std::vector<TensorId> inputs;
  KernelParams params;
  std::string op;  // for failures, once the operator is known
  uint32_t origin = 0;
};

struct Stage {
  std::variant<Map, Scan, Update, View, Library> body;
  std::vector<TensorInfo> outputs;
};

using relay::kOutOfRange;
inline constexpr std::string_view kEmptyFold = "reduction over an empty range has no value";
using relay::failure_text;

struct Output {
  TensorId tensor;
  /// Dimensions of the result; `?` for extents that a library kernel counts.
  std::vector<Dim> dims;
  /// True if an extent is known only after a library kernel has run.
  bool counted() const;
};

/// The computation of an operator. Stages refer only to inputs and earlier stages.
struct Computation {
  std::vector<TensorInfo> inputs;
  std::vector<Stage> stages;
  std::vector<Output> outputs;
  uint32_t num_axes = 0;  // axis ids are below this
  uint32_t num_vars = 0;  // placeholder ids are below this

  const TensorInfo& info(TensorId id) const {
    return id.is_input() ? inputs[id.index] : stages[id.stage].outputs[id.index];
  }
  /// Its text, one stage a line, stable (golden tests).
  std::string str() const;
  /// Checks well-formedness: dtypes, ranks, references, axes in scope. Throws InternalError. Run it
  /// on every computation that an operator declares.
  void verify() const;
};

}  // namespace relay::te
