// Bytes to executables.
#include <relay/vm/machine/executable_codec.h>

#include <bit>
#include <optional>

#include <relay/support/error.h>

namespace relay::vm {

namespace {

class Decoder {
 public:
  Decoder(ByteReader& in, std::span<const std::byte> code, std::span<const std::byte> data,
          const std::function<NDArray(ShapeView, DType, size_t)>& tensor)
      : in_(in), code_(code), data_(data), tensor_(tensor) {}

  void run(Executable& e) {
    e.target = in_.text();
    in_.list(e.features, [&] { return in_.text(); });
    e.kernel_abi = in_.u32();
    in_.list(e.lines, [&] {
      SourceLine line;
      line.file = in_.text();
      line.line = in_.u32();
      line.column = in_.u32();
      line.text = in_.text();
      return line;
    });
    in_.list(e.positions, [&] {
      Position position;
      position.line = in_.index();
      position.column = in_.u32();
      position.length = in_.u32();
      return position;
    });
    in_.list(e.messages, [&] { return in_.text(); });
    in_.list(e.constructors, [&] {
      std::string name = in_.text();
      std::string type_name = in_.text();
      uint32_t tag = in_.u32();
      uint32_t arity = in_.u32();
      if (tag > INT32_MAX) ByteReader::malformed();
      return ConstructorInfo::intern(name, type_name, static_cast<int32_t>(tag), arity);
    });
    in_.list(e.blobs, [&] { return blob(); });
    if (code_at_ != code_.size()) ByteReader::malformed();
    in_.list(e.constants, [&] { return constant(); });
    if (data_at_ != data_.size()) ByteReader::malformed();
    in_.list(e.kernels, [&] { return kernel(); });
    in_.list(e.checks, [&] { return check(); });
    in_.list(e.graphs, [&] { return graph(); });
    in_.list(e.functions, [&] { return function(); });
    in_.list(e.entries, [&] {
      Entry entry;
      entry.name = in_.text();
      entry.function = in_.u32();
      entry.params = check();
      entry.result = part();
      in_.list(entry.results, [&] {
        Entry::Result result;
        result.name = in_.text();
        result.type = in_.text();
        return result;
      });
      return entry;
    });
    std::vector<std::pair<std::string, std::string>> notes;
    in_.list(notes, [&] {
      std::string name = in_.text();
      return std::pair(std::move(name), in_.text());
    });
    e.notes.insert(notes.begin(), notes.end());
    if (!in_.done()) ByteReader::malformed();
  }

 private:
  // Blobs lie one behind the other.
  std::shared_ptr<const KernelBlob> blob() {
    auto blob = std::make_shared<KernelBlob>();
    uint64_t size = in_.u64();
    blob->entry = in_.u32();
    blob->alignment = in_.u32();
    if (size > code_.size() - code_at_) ByteReader::cut_short();
    auto begin = code_.begin() + static_cast<std::ptrdiff_t>(code_at_);
    blob->bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    code_at_ += size;
    return blob;
  }

  // The bits of one element.
  uint64_t element(DType dtype) {
    uint64_t bits = in_.u64();
    if (dtype.size() < 8 && bits >> (8 * dtype.size()) != 0) ByteReader::malformed();
    if (dtype.is_bool() && bits > 1) ByteReader::malformed();
    return bits;
  }

  // One that can be used: tensors are made on it while the file is read.
  Device device() {
    uint32_t type = in_.u32();
    uint32_t id = in_.u32();
    std::optional<Device> device = Device::of(type, id);
    if (!device) ByteReader::malformed();
    if (!is_usable(*device)) throw Error(unusable_text(*device));
    return *device;
  }

  Value constant() {
    DType dtype = in_.dtype();
    bool known = false;
    for (DType each : kAllDTypes) known = known || each == dtype;
    if (!known) ByteReader::malformed();
    if (in_.flag()) {
      uint64_t bits = element(dtype);
      return Value::scalar_bytes(dtype, &bits);
    }
    std::vector<int64_t> shape(in_.count());
    if (shape.empty() || shape.size() > NDArray::kMaxRank) ByteReader::malformed();
    for (int64_t& extent : shape) extent = in_.i64();
    int64_t count = element_count(shape);
    Device where = device();
    if (in_.flag()) {
      uint64_t bits = element(dtype);
      if (count < 2) ByteReader::malformed();
      auto bytes = std::as_bytes(std::span(&bits, 1)).first(dtype.size());
      return Value(NDArray::uniform(NDArray::from_bytes({}, dtype, bytes, where), shape));
    }
    uint64_t offset = in_.u64();
    if (offset != data_at_ ||
        static_cast<uint64_t>(count) > (data_.size() - data_at_) / dtype.size()) {
      ByteReader::cut_short();
    }
    data_at_ = round_up_data(offset + static_cast<uint64_t>(count) * dtype.size());
    if (data_at_ > data_.size()) ByteReader::cut_short();
    return Value(tensor_(shape, dtype, offset).on(where));
  }

  Kernel kernel() {
    Kernel kernel;
    kernel.name = in_.text();
    kernel.implementation = in_.text();
    kernel.source = in_.text();
    kernel.blob = in_.index();
    in_.list(kernel.writes, [&] { return static_cast<uint8_t>(in_.flag() ? 1 : 0); });
    kernel.num_dims = in_.u32();
    kernel.library = in_.text();
    in_.list(kernel.messages, [&] { return in_.text(); });
    kernel.origins = indices();
    kernel.parallel = in_.flag();
    return kernel;
  }

  std::vector<uint32_t> indices() {
    std::vector<uint32_t> items;
    in_.list(items, [&] { return in_.index(); });
    return items;
  }

  std::vector<DimInstruction> dims() {
    std::vector<DimInstruction> code;
    in_.list(code, [&] {
      DimInstruction at;
      at.code = static_cast<DimCode>(in_.u8());
      at.a = in_.u32();
      at.b = in_.u32();
      at.value = in_.i64();
      return at;
    });
    return code;
  }

  TypeInfo type(int depth) {
    if (depth > kDeepestStoredType) ByteReader::malformed();
    TypeInfo info;
    info.kind = static_cast<TypeInfo::Kind>(in_.u8());
    info.dtype = in_.dtype();
    info.has_rank = in_.flag();
    in_.list(info.dims, [&] {
      TypeInfo::Dim dim;
      dim.kind = static_cast<TypeInfo::Dim::Kind>(in_.u8());
      dim.value = in_.i64();
      dim.text = in_.text();
      return dim;
    });
    in_.list(info.fields, [&] { return type(depth + 1); });
    info.name = in_.text();
    info.data = in_.index();
    info.device = device();
    return info;
  }

  TypeCheck::Part part() {
    TypeCheck::Part part;
    part.type = type(0);
    part.text = in_.text();
    part.what = in_.text();
    part.position = in_.u32();
    part.inside = in_.flag();
    return part;
  }

  TypeCheck check() {
    TypeCheck check;
    in_.list(check.parts, [&] { return part(); });
    in_.list(check.symbols, [&] { return in_.text(); });
    check.terms = dims();
    in_.list(check.data, [&] {
      DataInfo data;
      in_.list(data.constructors, [&] {
        DataInfo::Constructor constructor;
        constructor.name = in_.text();
        in_.list(constructor.fields, [&] { return type(0); });
        return constructor;
      });
      data.text = in_.text();
      return data;
    });
    check.closed = in_.flag();
    return check;
  }

  SizeText size_text() {
    SizeText text;
    in_.list(text.pieces, [&] { return in_.text(); });
    text.slots = indices();
    return text;
  }

  Graph graph() {
    Graph graph;
    graph.name = in_.text();
    graph.dims = dims();
    graph.dim_positions = indices();
    graph.text_dims = dims();
    in_.list(graph.checks, [&] {
      DimCheck each;
      each.a = in_.u32();
      each.b = in_.u32();
      each.message = size_text();
      each.position = in_.u32();
      return each;
    });
    in_.list(graph.failures, [&] {
      DimFailure each;
      each.first = in_.u32();
      each.last = in_.u32();
      each.division = in_.flag();
      each.message = size_text();
      each.position = in_.u32();
      return each;
    });
    graph.num_inputs = in_.u32();
    in_.list(graph.places, [&] {
      Place place;
      place.dtype = in_.dtype();
      place.extents = indices();
      place.alias = in_.index();
      place.offset = in_.index();
      place.constant = in_.index();
      place.position = in_.u32();
      place.device = device();
      return place;
    });
    in_.list(graph.launches, [&] { return launch(); });
    graph.outputs = indices();
    return graph;
  }

  KernelParam param() {
    KernelParam each;
    each.name = in_.text();
    switch (static_cast<ParamKind>(in_.u8())) {
      case ParamKind::kInteger:
        each.value = in_.i64();
        return each;
      case ParamKind::kNumber:
        each.value = std::bit_cast<double>(in_.u64());
        return each;
      case ParamKind::kFlag:
        each.value = in_.flag();
        return each;
      case ParamKind::kWord:
        each.value = in_.text();
        return each;
      case ParamKind::kIntegers: {
        std::vector<int64_t> list;
        in_.list(list, [&] { return in_.i64(); });
        each.value = std::move(list);
        return each;
      }
      default:
        ByteReader::malformed();
    }
  }

  Launch launch() {
    Launch launch;
    launch.kernel = in_.u32();
    in_.list(launch.arguments, [&] {
      Launch::Argument argument;
      argument.place = in_.u32();
      argument.written = in_.flag();
      return argument;
    });
    launch.dims = indices();
    launch.scratch = in_.index();
    launch.flops = in_.index();
    launch.bytes = in_.index();
    for (uint32_t* slot : {&launch.products, &launch.steps, &launch.functions}) *slot = in_.index();
    in_.list(launch.in_place, [&] { return Launch::InPlace{in_.u32(), in_.u32(), in_.flag()}; });
    in_.list(launch.params, [&] { return param(); });
    launch.position = in_.u32();
    launch.origins = indices();
    return launch;
  }

  Function function() {
    Function function;
    function.name = in_.text();
    function.num_params = in_.u32();
    function.num_registers = in_.u32();
    function.num_captures = in_.u32();
    in_.list(
        function.code,
        [&] {
          Instruction at;
          at.op = static_cast<Op>(in_.u8());
          at.sub = in_.u8();
          at.dtype = in_.dtype();
          at.to = in_.dtype();
          at.dst = in_.index();
          at.a = in_.index();
          at.b = in_.index();
          at.c = in_.index();
          at.first = in_.u32();
          at.count = in_.u32();
          return at;
        },
        12);
    function.args = indices();
    function.positions = indices();
    return function;
  }

  ByteReader& in_;
  std::span<const std::byte> code_;
  std::span<const std::byte> data_;
  const std::function<NDArray(ShapeView, DType, size_t)>& tensor_;
  uint64_t code_at_ = 0;
  uint64_t data_at_ = 0;
};

}  // namespace

void decode_executable(ByteReader& in, std::span<const std::byte> code,
                       std::span<const std::byte> data,
                       const std::function<NDArray(ShapeView, DType, size_t)>& tensor,
                       Executable& out) {
  Decoder(in, code, data, tensor).run(out);
}

}  // namespace relay::vm
