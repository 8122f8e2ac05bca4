// Instructions are checked before they run.
#include <algorithm>
#include <string>

#include <relay/vm/machine/op_forms.h>
#include <relay/vm/machine/scalar_ops.h>
#include <relay/vm/machine/verify_parts.h>

namespace relay::vm {
namespace {

constexpr uint32_t kMostRegisters = 1u << 22;
constexpr uint64_t kMostArguments = 1u << 26;

class FunctionVerifier {
 public:
  FunctionVerifier(const Executable& executable, const Function& function, size_t index)
      : executable_(executable), function_(function), index_(index) {}

  void run() {
    const Function& f = function_;
    if (f.num_registers > kMostRegisters) bad("too many registers");
    if (f.num_params > f.num_registers) bad("fewer registers than parameters");
    if (f.num_captures > kMostRegisters) bad("too many captured values");
    if (f.code.empty()) bad("no instructions");
    if (!f.positions.empty() && f.positions.size() != f.code.size()) {
      bad("positions for another number of instructions");
    }
    for (uint32_t position : f.positions) check(position, executable_.positions, "position");
    switch (f.code.back().op) {
      case Op::kReturn:
      case Op::kTailCall:
      case Op::kTailCallClosure:
      case Op::kJump:
      case Op::kFail:
      case Op::kNoMatch:
      case Op::kSwitch:
        break;
      default:
        bad("control runs past the end");
    }
    uint64_t num_args = 0;  // lists may overlap
    for (at_ = 0; at_ < f.code.size(); ++at_) {
      instruction(f.code[at_]);
      num_args += f.code[at_].count;
      if (num_args > kMostArguments) bad("too many arguments");
    }
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    std::string where = "function " + std::to_string(index_) + " " + function_.name;
    if (at_ < function_.code.size()) where += ", instruction " + std::to_string(at_);
    refuse(where, what);
  }

  template <class T>
  void check(uint32_t index, const std::vector<T>& of, const char* what) const {
    if (index < of.size()) return;
    // In steps: GCC 12 warns of a copy out of bounds in a chain of sums.
    std::string message = "there is no ";
    message += what;
    message += ' ';
    message += std::to_string(index);
    bad(message);
  }

  void reg(uint32_t index) const {
    if (index >= function_.num_registers) {
      bad("there is no register " + std::to_string(index));
    }
  }
  void target(uint32_t index) const { check(index, function_.code, "jump target"); }
  uint32_t arg(const Instruction& in, uint32_t i) const { return function_.args[in.first + i]; }

  void arguments(const Instruction& in) const {
    if (in.first > function_.args.size() || in.count > function_.args.size() - in.first) {
      bad("the argument list is out of bounds");
    }
  }
  void operands(const Instruction& in, uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) reg(arg(in, i) & ~kLast);
  }
  void registers(const Instruction& in, uint32_t begin, bool optional) const {
    for (uint32_t i = begin; i < in.count; ++i) {
      if (optional && arg(in, i) == kNone) continue;
      reg(arg(in, i));
    }
  }

  // What each entry of args is by the form of the instruction.
  void entries(const Instruction& in) const {
    switch (form_of(in.op).args) {
      case Args::kNone:
        return;
      case Args::kOperands:
        return operands(in, in.count);
      case Args::kRegisters:
        return registers(in, 0, false);
      case Args::kResults:
        return registers(in, 0, true);
      case Args::kTargets:
        return targets(in);
      case Args::kGraph:
        return graph(in);
    }
  }

  void targets(const Instruction& in) const {
    for (uint32_t i = 0; i < in.count; ++i) {
      target(arg(in, i));
      // Only jumps and branches look for interruptions.
      if (arg(in, i) <= at_) bad("a switch goes backwards");
    }
  }

  void graph(const Instruction& in) const {
    check(in.a, executable_.graphs, "graph");
    const Graph& graph = executable_.graphs[in.a];
    const size_t most = std::min<size_t>(graph.num_inputs, graph.outputs.size());
    if (in.b > most || in.count != graph.num_inputs + graph.outputs.size() - in.b) {
      bad("a graph with another number of inputs and results");
    }
    for (uint32_t k = 0; k < in.b; ++k) {
      cell(graph, graph.places[graph.num_inputs - in.b + k],
           graph.outputs[graph.outputs.size() - in.b + k]);
    }
    operands(in, graph.num_inputs);
    registers(in, graph.num_inputs, false);
  }

  void constructor(const Instruction& in) const {
    check(in.a, executable_.constructors, "constructor");
    if (executable_.constructors[in.a]->arity != in.count) {
      bad("a constructor with another number of fields");
    }
  }

  void closure(const Instruction& in, uint32_t captured) const {
    check(in.a, executable_.functions, "function");
    if (executable_.functions[in.a].num_captures != captured) {
      bad("a closure with another number of captured values");
    }
  }

  // A place that a graph reads from a cell, and replaces by a sum of the same type.
  void cell(const Graph& graph, const Place& place, uint32_t output) const {
    const auto known = [&](uint32_t extent) {
      return extent < graph.dims.size() && graph.dims[extent].code == DimCode::kConst;
    };
    const bool floats = place.dtype == kFloat32 || place.dtype == kFloat64;
    if (!floats || !(place.device == kCpu) || place.extents.empty() ||
        !std::all_of(place.extents.begin(), place.extents.end(), known))
      bad("a graph adds to a reference what has no known extents");
    check(output, graph.places, "place");
    const Place& sum = graph.places[output];
    const auto is_one = [&](uint32_t a, uint32_t b) {
      return !known(b) || graph.dims[a].value == graph.dims[b].value;
    };
    if (sum.dtype != place.dtype || !(sum.device == place.device) ||
        !std::equal(place.extents.begin(), place.extents.end(), sum.extents.begin(),
                    sum.extents.end(), is_one))
      bad("a graph puts another type into a reference");
  }

  void callee(const Instruction& in) const {
    check(in.a, executable_.functions, "function");
    const Function& f = executable_.functions[in.a];
    if (f.num_captures != 0) bad("a function that captures is called without its closure");
    if (f.num_params != in.count) bad("a call with another number of arguments");
  }

  void shapes(const Instruction& in) const {
    check(in.a, executable_.checks, "check");
    if (executable_.checks[in.a].parts.size() != in.count) {
      bad("a check of another number of values");
    }
  }

  void number_types(const Instruction& in) const {
    if (!is_dtype(in.dtype)) bad("an unknown type");
    bool converts = in.op == Op::kCast || in.op == Op::kBitcast;
    if (converts && !is_dtype(in.to)) bad("an unknown type");
    if (in.op == Op::kBitcast &&
        (in.dtype.size() != in.to.size() || in.dtype.is_bool() != in.to.is_bool())) {
      bad("bits of another width");
    }
    if (in.op == Op::kUnary &&
        (in.sub >= kNumUnaryOps || unary_scalar(static_cast<Unary>(in.sub), in.dtype) == nullptr)) {
      bad("an operation that does not exist");
    }
    if (in.op == Op::kBinary && (in.sub >= kNumBinaryOps ||
                                 binary_scalar(static_cast<Binary>(in.sub), in.dtype) == nullptr)) {
      bad("an operation that does not exist");
    }
  }

  void instruction(const Instruction& in) const {
    arguments(in);
    if (in.op >= Op::kCount) bad("an unknown instruction");
    const OpForm& form = form_of(in.op);
    if (form.result || in.dst != kNone) reg(in.dst);
    for (size_t i = 0; i < form.registers; ++i) reg(fields_of(in)[i]);
    parts(in);
    entries(in);
  }

  // The parts of the executable that the instruction names, and the counts that they ask for.
  void parts(const Instruction& in) const {
    switch (in.op) {
      case Op::kConst:
        return check(in.a, executable_.constants, "constant");
      case Op::kUnary:
      case Op::kBinary:
      case Op::kCast:
      case Op::kBitcast:
        return number_types(in);
      case Op::kConstruct:
        return constructor(in);
      case Op::kClosure:
        return closure(in, in.count);
      case Op::kGlobal:
        return closure(in, 0);
      case Op::kCapture:
        if (in.a >= function_.num_captures) bad("there is no such captured value");
        return;
      case Op::kCall:
      case Op::kTailCall:
        return callee(in);
      case Op::kCallClosure:
      case Op::kTailCallClosure:
        if (in.count == 0) bad("a call of nothing");
        return;
      case Op::kJump:
        return target(in.a);
      case Op::kBranch:
        return target(in.b);
      case Op::kRefAdd:
        if (in.count != 2) bad("what is added to a reference is one value");
        return;
      case Op::kCheckShapes:
        return shapes(in);
      case Op::kFail:
        return check(in.a, executable_.messages, "message");
      case Op::kFailUnless:
        return check(in.b, executable_.messages, "message");
      default:
        return;  // its registers and entries are all that it names
    }
  }

  const Executable& executable_;
  const Function& function_;
  const size_t index_;
  size_t at_ = ~size_t{0};
};

}  // namespace

void verify_function(const Executable& executable, size_t index) {
  FunctionVerifier(executable, executable.functions[index], index).run();
}

}  // namespace relay::vm
