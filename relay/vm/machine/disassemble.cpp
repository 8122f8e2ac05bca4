// Executables as text.
#include <string>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

namespace {

constexpr const char* kOpNames[] = {"move",         "take",
                                    "const",        "drop",
                                    "unary",        "binary",
                                    "cast",         "bitcast",
                                    "select",       "tuple",
                                    "data",         "field",
                                    "unpack",       "switch",
                                    "closure",      "global",
                                    "self",         "capture",
                                    "call",         "tail_call",
                                    "call_closure", "tail_call_closure",
                                    "return",       "jump",
                                    "branch",       "ref",
                                    "ref_read",     "ref_write",
                                    "run",          "check_shapes",
                                    "fail",         "fail_unless",
                                    "no_match",     "ref_add"};
static_assert(sizeof kOpNames / sizeof *kOpNames == static_cast<size_t>(Op::kCount));

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
    out_ += kOpNames[static_cast<size_t>(in.op)];
    switch (in.op) {
      case Op::kUnary:
        if (in.sub < kNumUnaryOps) {
          out_ += "." + std::string(kUnaryOps[in.sub].word) + "." + std::string(in.dtype.name());
        }
        out_ += " " + reg(in.a);
        return;
      case Op::kBinary:
        if (in.sub < kNumBinaryOps) {
          out_ += "." + std::string(kBinaryOps[in.sub].word) + "." + std::string(in.dtype.name());
        }
        out_ += " " + reg(in.a) + " " + reg(in.b);
        return;
      case Op::kCast:
      case Op::kBitcast:
        out_ +=
            "." + std::string(in.dtype.name()) + "." + std::string(in.to.name()) + " " + reg(in.a);
        return;
      case Op::kConst:
        out_ += in.a < executable_.constants.size()
                    ? " " + constant_text(executable_.constants[in.a])
                    : " ?";
        return;
      case Op::kSelect:
        out_ += " " + reg(in.a) + " " + reg(in.b) + " " + reg(in.c);
        return;
      case Op::kConstruct:
        out_ += in.a < executable_.constructors.size()
                    ? " " + executable_.constructors[in.a]->name.str()
                    : " ?";
        break;
      case Op::kClosure:
      case Op::kGlobal:
      case Op::kCall:
      case Op::kTailCall:
        out_ += " " + item(executable_.functions, in.a);
        break;
      case Op::kRunGraph:
        out_ += " " + item(executable_.graphs, in.a);
        break;
      case Op::kField:
        out_ += " " + reg(in.a) + " " + std::to_string(in.b);
        return;
      case Op::kCapture:
      case Op::kJump:
        out_ += " " + std::to_string(in.a);
        return;
      case Op::kBranch:
        out_ += " " + reg(in.a) + " else " + std::to_string(in.b);
        return;
      case Op::kCheckShapes:
        out_ += " #" + std::to_string(in.a);
        break;
      case Op::kFail:
        message(in.a);
        return;
      case Op::kFailUnless:
        out_ += " " + reg(in.a);
        message(in.b);
        return;
      case Op::kRefWrite:
        out_ += " " + reg(in.a) + " " + reg(in.b);
        return;
      case Op::kTuple:
      case Op::kDrop:
      case Op::kSelf:
      case Op::kCallClosure:
      case Op::kTailCallClosure:
      case Op::kRefAdd:
        break;
      default:
        out_ += " " + reg(in.a);
    }
    if (in.count == 0) return;
    out_ += " (";
    for (uint32_t i = 0; i < in.count && in.first + i < f.args.size(); ++i) {
      if (i > 0) out_ += ", ";
      uint32_t arg = f.args[in.first + i];
      out_ += in.op == Op::kSwitch ? std::to_string(arg) : reg(arg);
    }
    out_ += ")";
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
