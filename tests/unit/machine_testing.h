// Executables put together by hand.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm::testing {

/// Writes one function. Registers are numbers; `last(r)` marks an operand's last use.
class Assembler {
 public:
  Assembler(std::string name, uint32_t num_params, uint32_t num_registers) {
    f.name = std::move(name);
    f.num_params = num_params;
    f.num_registers = num_registers;
  }

  static uint32_t last(uint32_t r) { return r | kLast; }
  uint32_t here() const { return static_cast<uint32_t>(f.code.size()); }

  /// Returns the instruction's number.
  uint32_t op(Op op, uint32_t dst = kNone, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
    Instruction in;
    in.op = op;
    in.dst = dst;
    in.a = a;
    in.b = b;
    in.c = c;
    f.code.push_back(in);
    return here() - 1;
  }
  uint32_t list(Op code, uint32_t dst, uint32_t a, std::vector<uint32_t> args) {
    uint32_t at = op(code, dst, a);
    f.code.back().first = static_cast<uint32_t>(f.args.size());
    f.code.back().count = static_cast<uint32_t>(args.size());
    f.args.insert(f.args.end(), args.begin(), args.end());
    return at;
  }
  uint32_t binary(Binary sub, DType dtype, uint32_t dst, uint32_t a, uint32_t b) {
    uint32_t at = op(Op::kBinary, dst, a, b);
    f.code.back().sub = static_cast<uint8_t>(sub);
    f.code.back().dtype = dtype;
    return at;
  }
  uint32_t unary(Unary sub, DType dtype, uint32_t dst, uint32_t a) {
    uint32_t at = op(Op::kUnary, dst, a);
    f.code.back().sub = static_cast<uint8_t>(sub);
    f.code.back().dtype = dtype;
    return at;
  }
  uint32_t ret(uint32_t a) { return op(Op::kReturn, kNone, a); }
  void patch_branch(uint32_t at) { f.code[at].b = here(); }
  void patch_jump(uint32_t at) { f.code[at].a = here(); }
  uint32_t add_to(Executable& e) {
    e.functions.push_back(f);
    return static_cast<uint32_t>(e.functions.size() - 1);
  }

  Function f;
};

inline uint32_t constant(Executable& e, Value value) {
  e.constants.push_back(std::move(value));
  return static_cast<uint32_t>(e.constants.size() - 1);
}

/// Makes function `index` an entry that takes anything.
inline void entry(Executable& e, const std::string& name, uint32_t index) {
  Entry added;
  added.name = name;
  added.function = index;
  for (uint32_t i = 0; i < e.functions[index].num_params; ++i) {
    added.params.parts.push_back({TypeInfo{}, "_", "x" + std::to_string(i), 0});
  }
  e.entries.push_back(std::move(added));
}

inline Value run(const std::shared_ptr<Executable>& e, const std::string& name,
                 std::vector<Value> args, int threads = 1) {
  MachineOptions options;
  options.threads = threads;
  Machine machine(e, options);
  return machine.run(name, args);
}

/// A graph put together by hand.
class GraphAssembler {
 public:
  explicit GraphAssembler(std::string name) { g.name = std::move(name); }

  uint32_t size(int64_t value) { return dim({DimCode::kConst, 0, 0, value}); }
  uint32_t extent(uint32_t input, uint32_t axis) { return dim({DimCode::kExtent, input, axis, 0}); }
  uint32_t dim(DimInstruction code) {
    g.dims.push_back(code);
    return static_cast<uint32_t>(g.dims.size() - 1);
  }
  uint32_t input(DType dtype, std::vector<uint32_t> extents) {
    uint32_t at = place(dtype, std::move(extents));
    g.num_inputs = at + 1;
    return at;
  }
  uint32_t place(DType dtype, std::vector<uint32_t> extents, uint32_t alias = kNone) {
    Place added;
    added.dtype = dtype;
    added.extents = std::move(extents);
    added.alias = alias;
    g.places.push_back(std::move(added));
    return static_cast<uint32_t>(g.places.size() - 1);
  }
  Launch& launch(uint32_t kernel, std::vector<Launch::Argument> arguments,
                 std::vector<uint32_t> dims = {}) {
    Launch added;
    added.kernel = kernel;
    added.arguments = std::move(arguments);
    added.dims = std::move(dims);
    g.launches.push_back(std::move(added));
    return g.launches.back();
  }
  uint32_t add_to(Executable& e) {
    e.graphs.push_back(g);
    return static_cast<uint32_t>(e.graphs.size() - 1);
  }

  Graph g;
};

inline uint32_t kernel(Executable& e, const std::string& name, KernelFn function,
                       bool parallel = false, std::vector<std::string> messages = {}) {
  Kernel added;
  added.name = name;
  added.implementation = "test";
  added.function = function;
  added.parallel = parallel;
  added.messages = std::move(messages);
  e.kernels.push_back(std::move(added));
  return static_cast<uint32_t>(e.kernels.size() - 1);
}

/// Calls `body(begin, end)` for the pieces of 0 … n-1 that this worker gets, until it returns a
/// failure's code for a piece: of the earliest one it is the kernel's.
template <class Body>
int32_t for_pieces(const KernelArgs* args, int64_t n, Body&& body) {
  int64_t range[2];
  int32_t code = 0;
  while (args->tasks->take(args->tasks, n, range) != 0) {
    FailureDetail before = *args->detail;
    int32_t now = body(range[0], range[1]);
    if (now == 0) continue;
    if (code != 0 && before.task < range[0]) {
      *args->detail = before;
      continue;
    }
    code = now;
    args->detail->task = range[0];
  }
  return code;
}

/// An entry that runs one graph and returns its result (or a tuple of them).
inline void graph_entry(Executable& e, const std::string& name, uint32_t graph) {
  uint32_t inputs = e.graphs[graph].num_inputs;
  auto outputs = static_cast<uint32_t>(e.graphs[graph].outputs.size());
  Assembler a("@" + name, inputs, inputs + outputs + 1);
  std::vector<uint32_t> args, results;
  for (uint32_t i = 0; i < inputs; ++i) args.push_back(Assembler::last(i));
  for (uint32_t i = 0; i < outputs; ++i) args.push_back(inputs + i);
  for (uint32_t i = 0; i < outputs; ++i) results.push_back(Assembler::last(inputs + i));
  a.list(Op::kRunGraph, kNone, graph, args);
  if (outputs != 1) a.list(Op::kTuple, inputs + outputs, 0, results);
  a.ret(outputs == 1 ? inputs : inputs + outputs);
  entry(e, name, a.add_to(e));
}

using Floats = std::vector<float>;

inline Value tensor(const Floats& values) {
  const auto n = static_cast<int64_t>(values.size());
  return Value(NDArray::from<float>(ShapeView(&n, 1), values));
}

inline Floats elements(const Value& value) {
  const NDArray array = value.array().contiguous();
  return {static_cast<const float*>(array.raw()),
          static_cast<const float*>(array.raw()) + array.size()};
}

/// out = a + b.
inline int32_t sum_kernel(const KernelArgs* args) {
  const auto* a = static_cast<const float*>(args->buffers[0]);
  const auto* b = static_cast<const float*>(args->buffers[1]);
  auto* to = static_cast<float*>(args->buffers[2]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = a[i] + b[i];
    return 0;
  });
}

/// out = in; what the machine leaves out shows, because it writes 9 instead.
inline int32_t copy_kernel(const KernelArgs* args) {
  auto* to = static_cast<float*>(args->buffers[1]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = 9;
    return 0;
  });
}

}  // namespace relay::vm::testing
