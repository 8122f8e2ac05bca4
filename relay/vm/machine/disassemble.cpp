// Executables as text.
#include <string>

#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/op_forms.h>

namespace relay::vm {

namespace {

constexpr const char* kDimNames[] = {"const", "extent", "element",   "symbol",    "add",
                                     "sub",   "mul",    "floor_div", "floor_mod", "ceil_div",
                                     "min",   "max",    "broadcast"};
static_assert(sizeof kDimNames / sizeof *kDimNames == static_cast<size_t>(DimCode::kCount));

std::string reg(uint32_t index) {
  if (index == kNone) return "_";
  return "r" + std::to_string(index & ~kLast) + ((index & kLast) != 0 ? "!" : "");
}

template <class T>
std::string item(const std::vector<T>& of, uint32_t index) {
  return index < of.size() ? of[index].name : "?" + std::to_string(index);
}

std::string constant_text(const Value& value) {
  if (!value.is_scalar()) return std::string(value.dtype().name()) + shape_text(value.shape());
  std::string number = value.dtype().is_float() ? std::to_string(value.as_double())
                                                : std::to_string(value.as_int64());
  return std::string(value.dtype().name()) + " " + number;
}

class Text {
 public:
  explicit Text(const Executable& executable) : executable_(executable) {}

  std::string run() {
    for (const Entry& entry : executable_.entries) {
      out_ += "entry @" + entry.name + "(";
      bool first = true;
      for (const TypeCheck::Part& part : entry.params.parts) {
        if (!first) out_ += ", ";
        first = false;
        out_ += "%" + part.what + ": " + part.text;
      }
      out_ += ") -> " + entry.result.text + " = " + item(executable_.functions, entry.function);
      out_ += '\n';
    }
    for (size_t i = 0; i < executable_.functions.size(); ++i) {
      function(executable_.functions[i], i);
    }
    for (size_t i = 0; i < executable_.graphs.size(); ++i) graph(executable_.graphs[i], i);
    return std::move(out_);
  }

 private:
  void function(const Function& f, size_t index) {
    out_ += "\nfunction " + std::to_string(index) + " " + f.name + ": " +
            std::to_string(f.num_params) + " parameters, " + std::to_string(f.num_registers) +
            " registers";
    if (f.num_captures > 0) out_ += ", " + std::to_string(f.num_captures) + " captured";
    out_ += '\n';
    for (size_t i = 0; i < f.code.size(); ++i) {
      out_ += "  " + std::to_string(i) + ": ";
      instruction(f, f.code[i]);
      out_ += '\n';
    }
  }

  void instruction(const Function& f, const Instruction& in) {
    if (in.op >= Op::kCount) {
      out_ += "?";
      return;
    }
    if (in.dst != kNone) out_ += reg(in.dst) + " = ";
    const OpForm& form = form_of(in.op);
    out_ += form.word;
    number_types(in);
    for (size_t i = 0; i < form.registers; ++i) out_ += " " + reg(fields_of(in)[i]);
    parts(in);
    arguments(f, in);
  }

  void number_types(const Instruction& in) {
    const std::string dtype = "." + std::string(in.dtype.name());
    if (in.op == Op::kUnary && in.sub < kNumUnaryOps)
      out_ += "." + std::string(kUnaryOps[in.sub].word) + dtype;
    if (in.op == Op::kBinary && in.sub < kNumBinaryOps)
      out_ += "." + std::string(kBinaryOps[in.sub].word) + dtype;
    if (in.op == Op::kCast || in.op == Op::kBitcast)
      out_ += dtype + "." + std::string(in.to.name());
  }

  // What an instruction names beside registers.
  void parts(const Instruction& in) {
    switch (in.op) {
      case Op::kConst:
        out_ += in.a < executable_.constants.size()
                    ? " " + constant_text(executable_.constants[in.a])
                    : " ?";
        return;
      case Op::kConstruct:
        out_ += in.a < executable_.constructors.size()
                    ? " " + executable_.constructors[in.a]->name.str()
                    : " ?";
        return;
      case Op::kClosure:
      case Op::kGlobal:
      case Op::kCall:
      case Op::kTailCall:
        out_ += " " + item(executable_.functions, in.a);
        return;
      case Op::kRunGraph:
        out_ += " " + item(executable_.graphs, in.a);
        return;
      case Op::kField:
        out_ += " " + std::to_string(in.b);
        return;
      case Op::kCapture:
      case Op::kJump:
        out_ += " " + std::to_string(in.a);
        return;
      case Op::kBranch:
        out_ += " else " + std::to_string(in.b);
        return;
      case Op::kCheckShapes:
        out_ += " #" + std::to_string(in.a);
        return;
      case Op::kFail:
        return message(in.a);
      case Op::kFailUnless:
        return message(in.b);
      default:
        return;
    }
  }

  void arguments(const Function& f, const Instruction& in) {
    if (in.count == 0) return;
    out_ += " (";
    for (uint32_t i = 0; i < in.count && in.first + i < f.args.size(); ++i) {
      if (i > 0) out_ += ", ";
      uint32_t arg = f.args[in.first + i];
      if (is_cell(in, i)) out_ += "cell ";
      out_ += form_of(in.op).args == Args::kTargets ? std::to_string(arg) : reg(arg);
    }
    out_ += ")";
  }

  bool is_cell(const Instruction& in, uint32_t i) const {
    if (in.op != Op::kRunGraph || in.a >= executable_.graphs.size()) return false;
    const uint32_t inputs = executable_.graphs[in.a].num_inputs;
    return i < inputs && i + in.b >= inputs;
  }

  void message(uint32_t index) {
    out_ += index < executable_.messages.size() ? " \"" + executable_.messages[index] + "\"" : " ?";
  }

  void graph(const Graph& g, size_t index) {
    out_ += "\ngraph " + std::to_string(index) + " " + g.name + ": " +
            std::to_string(g.num_inputs) + " inputs\n";
    for (size_t i = 0; i < g.dims.size(); ++i) {
      const DimInstruction& at = g.dims[i];
      out_ += "  d" + std::to_string(i) + " = ";
      if (at.code >= DimCode::kCount) {
        out_ += "?\n";
      } else if (at.code == DimCode::kConst) {
        out_ += std::to_string(at.value) + "\n";
      } else {
        const char* slot = at.code >= DimCode::kAdd ? " d" : " ";
        out_ += std::string(kDimNames[static_cast<size_t>(at.code)]) + slot + std::to_string(at.a) +
                slot + std::to_string(at.b) + "\n";
      }
    }
    for (const DimCheck& check : g.checks) {
      out_ += "  check d" + std::to_string(check.a) + " = d" + std::to_string(check.b) + " \"";
      for (const std::string& piece : check.message.pieces) {
        out_ += (&piece == check.message.pieces.data() ? "" : "?") + piece;
      }
      out_ += "\"\n";
    }
    for (size_t i = 0; i < g.places.size(); ++i) {
      const Place& place = g.places[i];
      out_ += "  p" + std::to_string(i) + ": " + std::string(place.dtype.name()) + "(";
      for (size_t k = 0; k < place.extents.size(); ++k) {
        if (k > 0) out_ += ", ";
        out_ += place.extents[k] == kNone ? "?" : "d" + std::to_string(place.extents[k]);
      }
      out_ += ")";
      if (i < g.num_inputs) out_ += " input";
      if (!(place.device == kCpu)) out_ += " on " + place.device.str();
      if (place.alias != kNone) out_ += " is p" + std::to_string(place.alias);
      if (place.offset != kNone) out_ += " from d" + std::to_string(place.offset);
      if (place.constant != kNone) out_ += " is constant " + std::to_string(place.constant);
      out_ += '\n';
    }
    for (const Launch& launch : g.launches) {
      out_ += "  " + item(executable_.kernels, launch.kernel) + "(";
      for (size_t i = 0; i < launch.arguments.size(); ++i) {
        if (i > 0) out_ += ", ";
        if (launch.arguments[i].written) out_ += "→";
        out_ += "p" + std::to_string(launch.arguments[i].place);
      }
      for (uint32_t dim : launch.dims) out_ += "; d" + std::to_string(dim);
      for (const KernelParam& param : launch.params) out_ += "; " + param.str();
      out_ += ")\n";
    }
    out_ += "  results";
    for (uint32_t output : g.outputs) out_ += " p" + std::to_string(output);
    out_ += '\n';
  }

  const Executable& executable_;
  std::string out_;
};

}  // namespace

std::string disassemble(const Executable& executable) { return Text(executable).run(); }

}  // namespace relay::vm
