// Checks an executable before any part of it is used.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <relay/vm/machine/verify_parts.h>

namespace relay::vm {

namespace {

constexpr int kDeepestType = 256;

class GraphVerifier {
 public:
  GraphVerifier(const Executable& executable, const Graph& graph, size_t index)
      : executable_(executable), graph_(graph), index_(index) {}

  void run() {
    if (graph_.num_inputs > graph_.places.size()) bad("fewer places than inputs");
    dims(graph_.dims);
    dims(graph_.text_dims);
    if (graph_.dim_positions.size() > graph_.dims.size()) bad("more positions than sizes");
    for (uint32_t at : graph_.dim_positions) position(at);
    for (const DimCheck& check : graph_.checks) {
      slot(check.a);
      slot(check.b);
      text(check.message);
      position(check.position);
    }
    for (const DimFailure& failure : graph_.failures) {
      slot(failure.first);
      slot(failure.last);
      text(failure.message);
      position(failure.position);
    }
    places();
    for (uint32_t output : graph_.outputs) place(output);
    for (const Launch& launch : graph_.launches) run_launch(launch);
    counted_places();
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    refuse("graph " + std::to_string(index_) + " " + graph_.name, what);
  }
  void slot(uint32_t index) const {
    if (index >= graph_.dims.size()) bad("there is no slot " + std::to_string(index));
  }
  void optional_slot(uint32_t index) const {
    if (index != kNone) slot(index);
  }
  void place(uint32_t index) const {
    if (index >= graph_.places.size()) bad("there is no place " + std::to_string(index));
  }
  void position(uint32_t index) const {
    if (index >= executable_.positions.size()) bad("there is no position");
  }

  void text(const SizeText& text) const {
    if (text.pieces.size() != text.slots.size() + 1) bad("a message in pieces that do not fit");
    for (uint32_t index : text.slots) {
      if (index >= graph_.text_dims.size()) bad("there is no slot " + std::to_string(index));
    }
  }

  void dims(const std::vector<DimInstruction>& code) const {
    for (size_t i = 0; i < code.size(); ++i) {
      const DimInstruction& at = code[i];
      switch (at.code) {
        case DimCode::kConst:
          break;
        case DimCode::kExtent:
          if (at.a >= graph_.num_inputs || at.b >= graph_.places[at.a].extents.size()) {
            bad("there is no such extent");
          }
          break;
        case DimCode::kElement:
          if (at.a >= graph_.num_inputs || !is_dtype(graph_.places[at.a].dtype) ||
              graph_.places[at.a].dtype.is_float()) {
            bad("there is no such element");
          }
          break;
        case DimCode::kSymbol:
        case DimCode::kCount:
          bad("an unknown size");
        default:
          if (at.code > DimCode::kCount) bad("an unknown size");
          if (at.a >= i || at.b >= i) bad("a size is used before it is computed");
      }
    }
  }

  void places() const {
    for (size_t i = 0; i < graph_.places.size(); ++i) {
      const Place& at = graph_.places[i];
      if (!is_dtype(at.dtype)) bad("an unknown type");
      position(at.position);
      if (at.extents.size() > NDArray::kMaxRank) bad("a rank beyond the highest");
      for (uint32_t extent : at.extents) optional_slot(extent);
      if (at.alias != kNone) place(at.alias);
      optional_slot(at.offset);
      if (at.offset != kNone && at.alias == kNone) bad("a part of nothing");
      if (i < graph_.num_inputs && (at.alias != kNone || at.constant != kNone)) {
        bad("an input is something else too");
      }
      if (at.constant != kNone) {
        if (at.constant >= executable_.constants.size()) bad("there is no such constant");
        if (at.alias != kNone) bad("a constant is something else too");
        constant(at);
      }
      if (!is_usable(at.device)) bad("a device that cannot be used");
    }
    std::vector<uint8_t> state(graph_.places.size());  // 1: on the way, 2: ends well
    for (uint32_t i = 0; i < graph_.places.size(); ++i) {
      uint32_t at = i;
      while (state[at] == 0) {
        state[at] = 1;
        if (graph_.places[at].alias == kNone) break;
        at = graph_.places[at].alias;
        if (state[at] == 1) bad("aliases in a circle");
      }
      for (at = i; state[at] != 2; at = graph_.places[at].alias) {
        state[at] = 2;
        if (graph_.places[at].alias == kNone) break;
      }
    }
    for (uint32_t i = 0; i < graph_.places.size(); ++i) {
      const Place& at = graph_.places[i];
      const Place& of = root(i);
      if (!at.extents.empty() && !of.extents.empty() && !(of.device == at.device))
        bad("an alias on another device");
    }
  }

  const Place& root(uint32_t at) const {
    while (graph_.places[at].alias != kNone) at = graph_.places[at].alias;
    return graph_.places[at];
  }

  // Numbers lie in the machine's own memory, unless they are views of tensors; all else that a
  // kernel touches is on one device, or is copied from one to another.
  void one_device(const Launch& launch) const {
    const std::string& name = executable_.kernels[launch.kernel].library;
    const LibraryEntry* library = name.empty() ? nullptr : find_library_kernel(name);
    bool across = library != nullptr && library->signature.across_devices;
    std::optional<Device> read, written;
    for (const Launch::Argument& argument : launch.arguments) {
      const Place& at = root(argument.place);
      if (at.extents.empty()) continue;
      std::optional<Device>& known = across && argument.written ? written : read;
      if (!known) known = at.device;
      if (!(*known == at.device)) bad("a kernel touches tensors on two devices");
    }
  }

  bool is_counted(uint32_t place) const {
    const std::vector<uint32_t>& extents = graph_.places[place].extents;
    return std::find(extents.begin(), extents.end(), kNone) != extents.end();
  }

  // A library kernel makes the tensors that it counts: one launch writes such a tensor and none
  // reads it.
  void counted_places() const {
    std::vector<uint32_t> writers(graph_.places.size());
    for (const Launch& launch : graph_.launches) {
      bool library = !executable_.kernels[launch.kernel].library.empty();
      for (const Launch::Argument& argument : launch.arguments) {
        if (!is_counted(argument.place)) continue;
        if (!library || !argument.written) bad("a counted tensor is used within its graph");
        ++writers[argument.place];
      }
    }
    for (uint32_t i = 0; i < graph_.places.size(); ++i) {
      const Place& at = graph_.places[i];
      if (at.alias != kNone && is_counted(at.alias)) bad("an alias of a counted tensor");
      if (!is_counted(i)) continue;
      if (i < graph_.num_inputs || at.alias != kNone || at.constant != kNone || writers[i] != 1)
        bad("a counted tensor that is not made by one kernel");
    }
  }

  void library_call(const Launch& launch) const {
    const std::string& name = executable_.kernels[launch.kernel].library;
    const LibraryEntry* kernel = find_library_kernel(name);
    if (kernel == nullptr) return;  // the image says so
    size_t outputs = 0;
    for (const Launch::Argument& argument : launch.arguments) outputs += argument.written ? 1 : 0;
    std::string wrong = kernel->mismatch(launch.arguments.size() - outputs, outputs, launch.params);
    if (!wrong.empty()) bad("library kernel " + name + " is given " + wrong);
    if (!launch.in_place.empty()) bad("library kernel " + name + " would write over its operands");
  }

  void native_call(const Launch& launch) const {
    const Kernel& kernel = executable_.kernels[launch.kernel];
    auto agrees = [](uint8_t written, const Launch::Argument& argument) {
      return (written != 0) == argument.written;
    };
    if (!std::ranges::equal(kernel.writes, launch.arguments, agrees)) {
      bad("kernel " + kernel.name + " is given other tensors than its code reads and writes");
    }
    if (launch.dims.size() != kernel.num_dims) {
      bad("kernel " + kernel.name + " is given " + std::to_string(launch.dims.size()) +
          " sizes instead of " + std::to_string(kernel.num_dims));
    }
  }

  void constant(const Place& at) const {
    const Value& value = executable_.constants[at.constant];
    if (!value.is_scalar() && !(value.array().device() == at.device))
      bad("a constant of another device");
    if (value.dtype() != at.dtype || value.shape().size() != at.extents.size()) {
      bad("a constant of another type");
    }
    for (size_t k = 0; k < at.extents.size(); ++k) {
      if (at.extents[k] == kNone) bad("a constant that is counted");
      const DimInstruction& extent = graph_.dims[at.extents[k]];
      if (extent.code != DimCode::kConst || extent.value != value.shape()[k]) {
        bad("a constant of another shape");
      }
    }
  }

  void run_launch(const Launch& launch) const {
    if (launch.kernel >= executable_.kernels.size()) bad("there is no such kernel");
    bool library = !executable_.kernels[launch.kernel].library.empty();
    bool written = false;
    for (const Launch::Argument& argument : launch.arguments) {
      place(argument.place);
      if (argument.written) {
        uint32_t at = argument.place;
        while (graph_.places[at].alias != kNone) at = graph_.places[at].alias;
        if (at < graph_.num_inputs || graph_.places[at].constant != kNone) {
          bad("a kernel writes to an input or constant");
        }
      } else if (library && written) {
        bad("the inputs of a library kernel come before its outputs");
      }
      written = argument.written;
    }
    for (uint32_t dim : launch.dims) slot(dim);
    optional_slot(launch.scratch);
    optional_slot(launch.flops);
    optional_slot(launch.bytes);
    for (uint32_t work : {launch.products, launch.steps, launch.functions}) optional_slot(work);
    for (auto [to, from, copy] : launch.in_place) {
      if (to >= launch.arguments.size() || from >= launch.arguments.size() ||
          !launch.arguments[to].written || launch.arguments[from].written) {
        bad("arguments that cannot be the same memory");
      }
    }
    if (library) {
      library_call(launch);
    } else if (executable_.kernels[launch.kernel].function == nullptr) {
      native_call(launch);
    }
    one_device(launch);
    position(launch.position);
    for (uint32_t origin : launch.origins) position(origin);
  }

  const Executable& executable_;
  const Graph& graph_;
  const size_t index_;
};

class TypeVerifier {
 public:
  TypeVerifier(const Executable& executable, const TypeCheck& check, std::string where)
      : executable_(executable), check_(check), where_(std::move(where)) {}

  void run() const {
    for (size_t i = 0; i < check_.terms.size(); ++i) {
      const DimInstruction& at = check_.terms[i];
      if (at.code == DimCode::kConst) continue;
      if (at.code == DimCode::kSymbol) {
        if (at.a >= check_.symbols.size()) refuse(where_, "there is no such name");
        continue;
      }
      bool combines = at.code >= DimCode::kAdd && at.code < DimCode::kCount;
      if (!combines || at.a >= i || at.b >= i) refuse(where_, "an unknown size");
    }
    for (const TypeCheck::Part& each : check_.parts) part(each);
    for (const DataInfo& data : check_.data) {
      for (const DataInfo::Constructor& constructor : data.constructors) {
        for (const TypeInfo& field : constructor.fields) type(field, 0);
      }
    }
  }
  void part(const TypeCheck::Part& part) const {
    if (part.position >= executable_.positions.size()) refuse(where_, "there is no position");
    type(part.type, 0);
  }

 private:
  void type(const TypeInfo& type_info, int depth) const {
    if (depth > kDeepestType) refuse(where_, "a type too deep");
    if (type_info.kind > TypeInfo::Kind::kReference) refuse(where_, "an unknown type");
    if (type_info.dtype.valid() && !is_dtype(type_info.dtype)) refuse(where_, "an unknown type");
    for (const TypeInfo::Dim& dim : type_info.dims) {
      bool right = dim.kind <= TypeInfo::Dim::Kind::kTerm;
      if (dim.kind == TypeInfo::Dim::Kind::kSymbol) {
        right = dim.value >= 0 && static_cast<uint64_t>(dim.value) < check_.symbols.size();
      } else if (dim.kind == TypeInfo::Dim::Kind::kTerm) {
        right = dim.value >= 0 && static_cast<uint64_t>(dim.value) < check_.terms.size();
      }
      if (!right) refuse(where_, "an unknown size");
    }
    if (type_info.data != TypeInfo::kNoData && type_info.data >= check_.data.size()) {
      refuse(where_, "there is no such data type");
    }
    for (const TypeInfo& field : type_info.fields) type(field, depth + 1);
  }

  const Executable& executable_;
  const TypeCheck& check_;
  const std::string where_;
};

}  // namespace

namespace {

// Clients tell results by their names.
void verify_results(const Entry& entry, const std::string& where) {
  if (entry.results.empty()) return;
  const TypeInfo& type = entry.result.type;
  const size_t wanted = type.kind == TypeInfo::Kind::kTuple ? type.fields.size() : 1;
  if (entry.results.size() != wanted) refuse(where, "it names another number of results");
  std::set<std::string_view> names;
  for (const Entry::Result& result : entry.results) names.insert(result.name);
  if (names.size() != wanted && !(names.size() == 1 && names.begin()->empty()))
    refuse(where, "two results have one name");
  if (wanted > 1 && names.size() == wanted && names.contains(""))
    refuse(where, "a result has no name");
}

}  // namespace

void verify(const Executable& executable) {
  if (executable.positions.empty()) refuse("positions", "the unknown one is missing");
  for (const Value& constant : executable.constants) {
    if (!constant.is_tensor()) refuse("constants", "one is neither number nor tensor");
    if (constant.is_scalar()) continue;
    NDArray array = constant.array();
    if (!array.is_contiguous() && !array.is_uniform()) refuse("constants", "one is not dense");
  }
  for (const ConstructorInfo* constructor : executable.constructors) {
    if (constructor == nullptr) refuse("constructors", "one is missing");
  }
  for (size_t i = 0; i < executable.kernels.size(); ++i) {
    const Kernel& kernel = executable.kernels[i];
    std::string where = "kernel " + std::to_string(i) + " " + kernel.name;
    if (!kernel.library.empty() || kernel.function != nullptr) continue;
    if (kernel.blob >= executable.blobs.size()) refuse(where, "it has no code");
  }
  for (const auto& blob : executable.blobs) {
    if (blob == nullptr || blob->entry >= blob->bytes.size() || blob->alignment == 0 ||
        blob->alignment > 4096 || (blob->alignment & (blob->alignment - 1)) != 0) {
      refuse("code", "a piece with a wrong entry or alignment");
    }
  }
  for (size_t i = 0; i < executable.graphs.size(); ++i) {
    GraphVerifier(executable, executable.graphs[i], i).run();
  }
  for (size_t i = 0; i < executable.functions.size(); ++i) {
    verify_function(executable, i);
  }
  for (size_t i = 0; i < executable.checks.size(); ++i) {
    TypeVerifier(executable, executable.checks[i], "check " + std::to_string(i)).run();
  }
  for (const Entry& entry : executable.entries) {
    std::string where = "entry @" + entry.name;
    if (entry.function >= executable.functions.size()) refuse(where, "there is no such function");
    const Function& function = executable.functions[entry.function];
    if (function.num_captures != 0) refuse(where, "the function captures values");
    if (function.num_params != entry.params.parts.size()) {
      refuse(where, "the signature has another number of parameters");
    }
    TypeVerifier types(executable, entry.params, where);
    types.run();
    types.part(entry.result);
    verify_results(entry, where);
  }
}

}  // namespace relay::vm
