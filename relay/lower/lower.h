// From computations to kernels: fused groups become loop nests and a list of launches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <relay/ir/dim_text.h>
#include <relay/ir/expr.h>
#include <relay/lower/loops.h>
#include <relay/op/relation.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// A tensor of a lowered group. Inputs of the group first, then outputs, then temporaries. Extents
/// that a library kernel counts are `?`.
struct Place {
  te::TensorInfo info;
  /// Shares the memory of another place (a view at offset 0 over the same elements in row-major
  /// order), or -1.
  int32_t alias = -1;
};

/// Runs a kernel: buffers[k] is the place of the kernel's k-th argument buffer (scratch buffers
/// have no place).
struct Launch {
  uint32_t kernel = 0;
  std::vector<int32_t> buffers;
};

/// Runs a library kernel of the runtime.
struct LibraryLaunch {
  std::string name;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  KernelParams params;
  std::string op;  // the operator, for failures
  uint32_t origin = 0;
};

/// A group of operators, lowered.
struct Lowered {
  std::vector<Place> places;
  size_t num_inputs = 0;
  /// Places of the results, in order; may be inputs or aliases of them.
  std::vector<int32_t> outputs;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<std::variant<Launch, LibraryLaunch>> launches;
};

/// Two terms that must be equal at run time, with what to say if they are not (T14).
struct Condition {
  Dim a, b;
  DimText message;
  uint32_t origin = 0;  // of the operator that asks for it
};

/// An extent of an operator's result. For some sizes there is none: then the message, if there is
/// one, says more than what went wrong with the arithmetic.
struct ResultDim {
  Dim dim;
  std::optional<DimText> message;
  uint32_t origin = 0;
  bool division = false;  // the message is about a division by zero only
};

/// What a group is computed by, with its result types. Its dimensions are integers and terms over
/// symbols and `Dim::value(input, i)` of the group's inputs. Its operators are numbered from 1 in
/// the order of `operators_of`: the origins.
struct Group {
  te::Computation computation;
  std::vector<Condition> checks;
  std::vector<ResultDim> results;  // in order, terms only
  /// The shapes of its operators' results, and whose they are.
  std::vector<std::pair<std::vector<Dim>, uint32_t>> shapes;
};

/// The operator calls of a primitive function, operands first: the first is origin 1.
std::vector<const Call*> operators_of(const Function& primitive);

/// The computation of a primitive function (a body of operator calls, tuples and projections over
/// its parameters and constants; expansions are expanded). `inputs` are the types of its
/// parameters, whose unknown dimensions have been given symbols; tuples flatten. The operators'
/// relations run on them to give every dimension as a term. Throws Error where an operator cannot
/// be computed on unknown dimensions.
Group compose(const Function& primitive, std::span<const TypeRef> inputs);

struct LowerOptions {
  int64_t vector_bytes = 64;  // of the target, for choices between templates
  /// Matrix products and convolutions of float32 by oneDNN, which the machine then needs.
  bool onednn = false;
};

/// Chooses templates and writes the loops. Stages that are cheap to repeat are inlined into their
/// users; a folded stage takes elementwise users as epilogue.
Lowered lower(const te::Computation& computation, const std::string& name,
              const LowerOptions& options);

}  // namespace relay::lower
