// From computations to kernels: the computation of a node becomes loop nests and a list of
// launches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/lower/processor.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// A tensor of a lowered computation. Its inputs first, then outputs, then temporaries. Extents
/// that a library kernel counts are `?`.
struct Place {
  te::TensorInfo info;
  /// The place whose memory it shares (a view at offset 0 over the same elements in row-major
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

/// A computation, lowered.
struct Lowered {
  std::vector<Place> places;
  size_t num_inputs = 0;
  /// Places of the results, in order; may be inputs or aliases of them.
  std::vector<int32_t> outputs;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<std::variant<Launch, LibraryLaunch>> launches;
};

/// Where stages between two products run block by block: where tensors between them are large; for
/// tests, wherever they can, in blocks of few rows; or nowhere.
enum class BlocksIf : uint8_t { kNever, kPays, kPossible };

struct LowerOptions {
  Processor processor;  // the target's
  /// Computes matrix products and convolutions of float32 by oneDNN, which the machine then needs.
  bool onednn = false;
  bool prepared = false;  // the computation is a result of `prepare`
  BlocksIf blocks = BlocksIf::kPays;
};

/// Chooses templates and writes the loops. Stages that are cheap to repeat are inlined into their
/// users; a folded stage takes elementwise users as epilogue.
Lowered lower(const te::Computation& computation, const std::string& name,
              const LowerOptions& options);

}  // namespace relay::lower
