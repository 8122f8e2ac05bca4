#include <relay/vm/compiler/native/replace.h>

#include <map>

#include <relay/ir/dim_program.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/vm/compiler/code.h>

namespace relay::vm::native {
namespace {

constexpr size_t kMostVain = 1'000'000;  // instructions looked at in vain

std::string kernel_name(const std::string& function) {
  std::string name = "loop_";
  for (char c : function) {
    if (c != '@' && c != '%') name += c == '.' ? '_' : c;
  }
  return name;
}

bool names_function(Op op) {
  return op == Op::kCall || op == Op::kTailCall || op == Op::kClosure || op == Op::kGlobal;
}

/// An instruction on references, on extents that only a run knows, or that fails with a value in
/// its message.
bool stays(const Instruction& at) {
  switch (at.op) {
    case Op::kNoMatch:
    case Op::kRefCreate:
    case Op::kRefRead:
    case Op::kRefWrite:
    case Op::kRefAdd:
    case Op::kCheckShapes:
      return true;
    case Op::kRunGraph:
      return at.b != 0;
    default:
      return false;
  }
}

/// The functions that are worth a try: they have a loop or call one that has, and neither they nor
/// what they call have instructions that kernels lack.
class Candidates {
 public:
  explicit Candidates(const std::vector<Source>& sources) {
    std::vector<std::vector<uint32_t>> callers(sources.size());
    std::vector<char> loops(sources.size(), 0), stay(sources.size(), 0);
    for (uint32_t i = 0; i < sources.size(); ++i) {
      for (const Instruction& at : sources[i].code.code) {
        if (names_function(at.op)) callers[at.a].push_back(i);
        const bool again = at.op == Op::kTailCallClosure || (at.op == Op::kTailCall && at.a == i);
        loops[i] |= static_cast<char>(again);
        stay[i] |= static_cast<char>(stays(at));
      }
    }
    spread(callers, loops);
    spread(callers, stay);
    for (size_t i = 0; i < sources.size(); ++i)
      is_.push_back(static_cast<char>(loops[i] != 0 && stay[i] == 0));
  }
  bool is(uint32_t function) const { return is_[function] != 0; }

 private:
  /// Marks who calls what is marked, too.
  static void spread(const std::vector<std::vector<uint32_t>>& callers, std::vector<char>& marks) {
    std::vector<uint32_t> stack;
    for (uint32_t i = 0; i < marks.size(); ++i) {
      if (marks[i] != 0) stack.push_back(i);
    }
    while (!stack.empty()) {
      const uint32_t function = stack.back();
      stack.pop_back();
      for (uint32_t caller : callers[function]) {
        if (marks[caller] != 0) continue;
        marks[caller] = 1;
        stack.push_back(caller);
      }
    }
  }

  std::vector<char> is_;
};

/// The code of a function that takes its tensors out of their tuples, runs a graph, and puts the
/// results into theirs.
class Caller {
 public:
  Caller(Function& function, const Source& source) : source_(source), code_(function) {
    function.name = source.code.name;
    function.num_params = function.num_registers = source.code.num_params;
    function.num_captures = source.code.num_captures;
  }

  void write(const Replaced& replaced, uint32_t graph) {
    code_.set_position(replaced.position);
    std::vector<uint32_t> args;
    for (uint32_t i = 0; i < source_.params.size(); ++i) take(i, source_.params[i], args);
    for (uint32_t i = 0; i < source_.captures.size(); ++i)
      take(code_.emit_value(Op::kCapture, i), source_.captures[i], args);
    const auto inputs = static_cast<uint32_t>(args.size());
    for (size_t i = 0; i < replaced.loop.outputs.size(); ++i) args.push_back(code_.fresh());
    Instruction& run = code_.emit(Op::kRunGraph, args);
    run.a = graph;
    run.c = inputs;
    size_t next = inputs;
    const uint32_t result = put(replaced.loop.result, args, next);
    code_.emit(Op::kReturn).a = result;
  }

 private:
  void take(uint32_t reg, const TypeRef& type, std::vector<uint32_t>& args) {
    const auto* tuple = type->as<TupleType>();
    if (tuple == nullptr) return args.push_back(reg);
    for (uint32_t i = 0; i < tuple->fields().size(); ++i)
      take(code_.emit_value(Op::kField, reg, i), tuple->fields()[i], args);
  }

  uint32_t put(const ValueRef& value, std::span<const uint32_t> results, size_t& next) {
    if (value->is_tensor()) return results[next++];
    std::vector<uint32_t> fields;
    for (const ValueRef& field : value->fields) fields.push_back(put(field, results, next));
    const uint32_t dst = code_.fresh();
    code_.emit(Op::kTuple, fields).dst = dst;
    return dst;
  }

  const Source& source_;
  CodeWriter code_;
};

/// Keeps the functions and graphs that entries lead to.
void sweep(Executable& executable, std::vector<graph::Graph>& graphs) {
  std::vector<uint32_t> function_number(executable.functions.size(), kNone);
  std::vector<uint32_t> order, graph_number(graphs.size(), kNone);
  auto reach = [&](uint32_t function) {
    if (function_number[function] != kNone) return;
    function_number[function] = 0;
    order.push_back(function);
  };
  for (const Entry& entry : executable.entries) reach(entry.function);
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Instruction& at : executable.functions[order[i]].code) {
      if (names_function(at.op)) reach(at.a);
      if (at.op == Op::kRunGraph && at.a < graphs.size()) graph_number[at.a] = 0;
    }
  }
  std::vector<Function> functions;
  for (uint32_t i = 0; i < function_number.size(); ++i) {
    if (function_number[i] == kNone) continue;
    function_number[i] = static_cast<uint32_t>(functions.size());
    functions.push_back(std::move(executable.functions[i]));
  }
  std::vector<graph::Graph> kept;
  for (uint32_t i = 0; i < graph_number.size(); ++i) {
    if (graph_number[i] == kNone) continue;
    graph_number[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(graphs[i]));
  }
  const auto removed = static_cast<uint32_t>(graphs.size() - kept.size());
  for (Function& function : functions) {
    for (Instruction& at : function.code) {
      if (names_function(at.op)) at.a = function_number[at.a];
      if (at.op == Op::kRunGraph)
        at.a = at.a < graph_number.size() ? graph_number[at.a] : at.a - removed;
    }
  }
  for (Entry& entry : executable.entries) entry.function = function_number[entry.function];
  executable.functions = std::move(functions);
  graphs = std::move(kept);
}

}  // namespace

std::vector<Replaced> replace_loops(
    const Module& module, Executable& executable, std::vector<Source>& sources,
    std::vector<graph::Graph>& graphs,
    const std::function<uint32_t(const graph::ConstantRef&)>& constant) {
  const Program program{module, executable, sources, graphs, constant};
  const Candidates candidates(sources);
  size_t work = 0;
  std::vector<Replaced> result;
  std::map<uint32_t, Function> written;
  std::vector<char> seen(sources.size(), 0);
  std::vector<uint32_t> queue;
  auto reach = [&](uint32_t function) {
    if (seen[function]++ == 0) queue.push_back(function);
  };
  for (const Entry& entry : executable.entries) reach(entry.function);
  for (size_t i = 0; i < queue.size(); ++i) {
    stop_if_asked();
    const uint32_t function = queue[i];
    const Source& source = sources[function];
    if (candidates.is(function) && work < kMostVain) {
      Writer writer(program);
      try {
        Replaced made;
        made.loop = writer.run(function);
        made.name = made.loop.kernel->name = kernel_name(source.code.name);
        if (!source.code.positions.empty()) made.position = source.code.positions.front();
        const auto number = static_cast<uint32_t>(graphs.size() + result.size());
        Function& code = written[function];
        Caller(code, source).write(made, number);
        assign_registers(code);
        result.push_back(std::move(made));
        continue;
      } catch (const NotNative&) {
        // The machine runs it, and perhaps a kernel for a part of it.
        work += writer.work();
      }
    }
    for (const Instruction& at : source.code.code) {
      if (names_function(at.op)) reach(at.a);
    }
  }
  if (result.empty()) return result;
  for (auto& [function, code] : written) executable.functions[function] = std::move(code);
  sweep(executable, graphs);
  return result;
}

Graph graph_of(const Replaced& replaced, uint32_t kernel) {
  Graph graph;
  graph.name = replaced.name;
  DimProgram sizes([](Dim atom) -> DimInstruction {
    RELAY_UNREACHABLE("a size that is not known: " + atom.str());
  });
  Launch launch;
  launch.kernel = kernel;
  launch.position = replaced.position;
  launch.origins = replaced.loop.origins;
  auto add = [&](const te::TensorInfo& info, bool written) {
    Place place;
    place.dtype = info.dtype;
    place.position = replaced.position;
    for (Dim dim : info.dims) place.extents.push_back(sizes.slot(dim, graph.dims));
    const auto number = static_cast<uint32_t>(graph.places.size());
    launch.arguments.push_back({number, written});
    graph.places.push_back(std::move(place));
    return number;
  };
  for (const te::TensorInfo& info : replaced.loop.inputs) add(info, false);
  graph.num_inputs = static_cast<uint32_t>(replaced.loop.inputs.size());
  for (size_t i = 0; i < replaced.loop.constants.size(); ++i) {
    const uint32_t place = add(replaced.loop.constant_infos[i], false);
    graph.places[place].constant = replaced.loop.constants[i];
  }
  for (const te::TensorInfo& info : replaced.loop.outputs) graph.outputs.push_back(add(info, true));
  launch.flops = launch.bytes = sizes.slot(Dim(0), graph.dims);
  graph.launches.push_back(std::move(launch));
  return graph;
}

}  // namespace relay::vm::native
