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
#include <relay/vm/compiler/native/data_types.h>
#include <relay/vm/compiler/native/scalars.h>
#include <relay/vm/compiler/native/source.h>

namespace relay::vm::native {

/// One call or choice inside of another; throws NotNative if there are too many.
class Deeper {
 public:
  explicit Deeper(size_t& depth) : depth_(depth) {
    constexpr size_t kMostDepth = 48;
    if (++depth_ > kMostDepth) throw NotNative{"calls and choices nest too deep"};
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  size_t& depth_;
};

struct Program {
  const Module& module;
  const Executable& executable;
  const std::vector<Source>& sources;  // by function
  const std::vector<graph::Graph>& graphs;
  /// The number of a constant of a graph in the executable.
  std::function<uint32_t(const graph::ConstantRef&)> constant;
};

/// A function as one kernel.
struct LoopKernel {
  std::shared_ptr<lower::Kernel> kernel;
  std::vector<te::TensorInfo> inputs;  // the tensors in parameters and captures, left to right
  std::vector<uint32_t> constants;     // of the executable: further inputs
  std::vector<te::TensorInfo> constant_infos;
  std::vector<te::TensorInfo> outputs;  // the tensors in the result, left to right
  ValueRef result;                      // its structure
  std::vector<uint32_t> origins;        // positions
};

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program), types_(program.module) {}

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
    ValueRef state, result;  // their structures, where data values are made in several ways
    std::vector<char> changes;
    std::vector<char> results;
  };
  // A function that is being written in place of a call.
  struct Frame {
    uint32_t function = 0;
    uint32_t mark = 0;  // register: what is used of the tape at its beginning
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
  // An arm of a choice: where it begins, and when it is taken (null: if no arm before it is).
  struct Arm {
    te::ScalarRef condition;
    uint32_t target = 0;
    int32_t tag = -1;  // of the value that the choice looks at
  };
  // What is known of the code of a function: for each instruction the next one that all ways from
  // it come to (behind the last: none), and for each register its last read.
  struct Paths {
    std::vector<uint32_t> joins, last_read;
  };

  ValueRef call(uint32_t function, std::vector<ValueRef> args, ValueRef closure, bool root);
  void begin(Frame& frame, const ValueRef& state);
  void again(Frame& frame, const ValueRef& state);
  void leave(Frame& frame, const ValueRef& value);
  bool walk(Frame& frame, uint32_t at, uint32_t end);
  bool choose(Frame& frame, uint32_t& at);
  bool split(Frame& frame, std::span<const Arm> arms, uint32_t value, uint32_t join);
  std::vector<Arm> arms_of_switch(Frame& frame, const Instruction& at);
  const Paths& paths(uint32_t function);
  ValueRef join(const te::ScalarRef& condition, const ValueRef& a, Block& in_a, const ValueRef& b,
                Block& in_b);
  bool ends(Frame& frame, const Instruction& at, uint32_t position);
  void fail(Frame& frame, const Instruction& at, uint32_t position);
  void step(Frame& frame, const Instruction& at, uint32_t position);
  void call_step(Frame& frame, const Instruction& at);
  void number(Frame& frame, const Instruction& at, uint32_t position);
  void run_graph(Frame& frame, const Instruction& at);
  // tape.cpp: data values.
  ValueRef made(Frame& frame, uint32_t at, uint32_t position);
  ValueRef with_data_on_tape(const ValueRef& value);
  ValueRef on_tape(const ValueRef& value);
  int32_t tape();
  void elements_of(const ValueRef& value, std::vector<te::ScalarRef>& slots);
  ValueRef field_of(const ValueRef& value, uint32_t index);
  ValueRef loaded(const TypeRef& type, const te::Scalar& cell, int64_t& slot);
  te::ScalarRef slot(const te::Scalar& place);
  int32_t known_tag(const Value& value);
  te::ScalarRef has_tag(const Value& value, int32_t tag);
  ValueRef fit(const ValueRef& value, const ValueRef& structure);
  bool free_tape(Frame& frame, size_t made, size_t read);
  te::Scalar end_of(const Value& value);
  void begin_tape(Block& body);

  ValueRef constant(const relay::Value& value, const std::function<uint32_t()>& number);
  ValueRef input(const TypeRef& type);
  uint32_t origin(const Frame& frame, uint32_t position);
  uint32_t origin_at(uint32_t position);
  static ValueRef read(const Frame& frame, uint32_t reg);
  static te::ScalarRef number_in(const Frame& frame, uint32_t reg);
  std::vector<ValueRef> arguments(const Frame& frame, const Instruction& at, size_t from) const;
  const Function& code(const Frame& frame) const { return program_.sources[frame.function].code; }

  const Program& program_;
  Scalars scalars_;
  LoopKernel made_;
  std::unordered_map<uint32_t, ValueRef> constants_;
  std::unordered_set<uint32_t> active_;
  std::unordered_map<uint32_t, Paths> paths_;
  DataTypes types_;
  int32_t tape_ = -1;      // buffer; -1: not used
  uint32_t used_ = 0;      // register: slots of the tape that are used
  uint32_t room_ = 0;      // register: slots that may be used
  size_t cells_made_ = 0;  // by what is written so far
  size_t cells_read_ = 0;
  Moves* moves_ = nullptr;
  size_t depth_ = 0;
  size_t repeats_ = 0;
  size_t work_ = 0;
};

}  // namespace relay::vm::native
