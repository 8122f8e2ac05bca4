// Writes a function of the machine, with all that it calls, as one kernel: numbers are registers,
// calls are inlined, tail calls of itself are loops.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/ir/type.h>
#include <relay/vm/compiler/native/scalars.h>
#include <relay/vm/compiler/native/source.h>

namespace relay::vm::native {

struct Program {
  const Executable& executable;
  const std::vector<Source>& sources;  // by function
  const std::vector<graph::Graph>& graphs;
  /// The number of a constant of a graph in the executable.
  std::function<uint32_t(const graph::ConstantRef&)> constant;
};

/// A function as one kernel.
struct LoopKernel {
  std::shared_ptr<lower::Kernel> kernel;
  std::vector<te::TensorInfo> inputs;   // the tensors in parameters and captures, left to right
  std::vector<uint32_t> constants;      // of the executable: further inputs
  std::vector<te::TensorInfo> constant_infos;
  std::vector<te::TensorInfo> outputs;  // the tensors in the result, left to right
  ValueRef result;                      // its structure
  std::vector<uint32_t> origins;        // positions
};

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  /// Throws NotNative if the function has no such form, or no loop.
  LoopKernel run(uint32_t function);
  /// How many instructions it has looked at.
  size_t work() const { return work_; }

 private:
  using Block = lower::Block;
  // What earlier attempts to write a function have shown: which tensors of its state change from
  // turn to turn, and which of its results are not the same at all ways out.
  struct Known {
    bool loops = false;
    std::vector<char> changes;
    std::vector<char> results;
  };
  // A function that is being written in place of a call.
  struct Frame {
    uint32_t function = 0;
    bool root = false;  // the machine would tell the same place of a failure
    Known* known = nullptr;
    bool retry = false;
    ValueRef state;              // at the beginning of a turn: arguments, perhaps the closure
    std::vector<uint32_t> vars;  // of the elements that change, tensor by tensor
    ValueRef closure;            // null if it captures nothing
    ValueRef result;
    Block before;  // runs once
    Block body;
    std::unordered_map<uint32_t, ValueRef> registers;
  };
  // Values that an arm of a choice gives to registers which the other arm gives as well.
  using Moves = std::unordered_map<uint32_t, ValueRef>;

  ValueRef call(uint32_t function, std::vector<ValueRef> args, ValueRef closure, bool root);
  void begin(Frame& frame, const ValueRef& state);
  void again(Frame& frame, const ValueRef& state);
  void leave(Frame& frame, const ValueRef& value);
  bool walk(Frame& frame, uint32_t at, uint32_t end);
  bool choose(Frame& frame, uint32_t& at, uint32_t end);
  ValueRef join(const te::ScalarRef& condition, const ValueRef& a, Block& in_a, const ValueRef& b,
                Block& in_b);
  bool ends(Frame& frame, const Instruction& at);
  void step(Frame& frame, const Instruction& at, uint32_t position);
  void call_step(Frame& frame, const Instruction& at);
  void number(Frame& frame, const Instruction& at, uint32_t position);
  void run_graph(Frame& frame, const Instruction& at);
  ValueRef constant(const relay::Value& value, const std::function<uint32_t()>& number);
  ValueRef input(const TypeRef& type);
  uint32_t origin(const Frame& frame, uint32_t position);
  static const ValueRef& read(const Frame& frame, uint32_t reg);
  static te::ScalarRef number_in(const Frame& frame, uint32_t reg);
  std::vector<ValueRef> arguments(const Frame& frame, const Instruction& at, size_t from) const;
  const Function& code(const Frame& frame) const { return program_.sources[frame.function].code; }

  const Program& program_;
  Scalars scalars_;
  LoopKernel made_;
  std::unordered_map<uint32_t, ValueRef> constants_;
  std::unordered_set<uint32_t> active_;
  Moves* moves_ = nullptr;
  size_t depth_ = 0;
  size_t repeats_ = 0;
  size_t work_ = 0;
};

}  // namespace relay::vm::native
