#include <relay/vm/machine/executable_codec.h>

#include <bit>
#include <cstring>
#include <optional>

#include <relay/support/error.h>

namespace relay::vm {

namespace {

constexpr int kDeepestType = 256;

// ---- Writing ------------------------------------------------------------------------------------

class Encoder {
 public:
  explicit Encoder(ByteWriter& out) : out_(out) {}

  void run(const Executable& e) {
    out_.text(e.target);
    out_.list(e.features, [&](const std::string& feature) { out_.text(feature); });
    out_.u64(e.kernel_abi);
    out_.list(e.lines, [&](const SourceLine& line) {
      out_.text(line.file);
      out_.u64(line.line);
      out_.u64(line.column);
      out_.text(line.text);
    });
    out_.list(e.positions, [&](const Position& position) {
      out_.index(position.line);
      out_.u64(position.column);
      out_.u64(position.length);
    });
    out_.list(e.messages, [&](const std::string& message) { out_.text(message); });
    out_.list(e.constructors, [&](const ConstructorInfo* constructor) {
      out_.text(constructor->name.str());
      out_.text(constructor->type_name.str());
      out_.u64(static_cast<uint32_t>(constructor->tag));
      out_.u64(constructor->arity);
    });
    uint64_t offset = 0;
    out_.list(e.blobs, [&](const std::shared_ptr<const KernelBlob>& blob) {
      out_.u64(blob->bytes.size());
      out_.u64(blob->entry);
      out_.u64(blob->alignment);
    });
    uint32_t number = 0;
    out_.list(e.constants,
              [&](const Value& value) { constant(value, is_in_data(e, number++), offset); });
    out_.list(e.kernels, [&](const Kernel& each) { kernel(each); });
    out_.list(e.checks, [&](const TypeCheck& each) { check(each); });
    out_.list(e.graphs, [&](const Graph& each) { graph(each); });
    out_.list(e.functions, [&](const Function& each) { function(each); });
    out_.list(e.entries, [&](const Entry& each) {
      out_.text(each.name);
      out_.u64(each.function);
      check(each.params);
      part(each.result);
    });
  }

 private:
  void indices(const std::vector<uint32_t>& items) {
    out_.list(items, [&](uint32_t item) { out_.index(item); });
  }

  void element(const void* at, DType dtype) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, dtype.size());
    out_.u64(bits);
  }

  void constant(const Value& value, bool in_data, uint64_t& offset) {
    if (!value.is_tensor()) throw Error("a constant that is not a tensor cannot be stored");
    out_.dtype(value.dtype());
    out_.flag(value.is_scalar());
    if (value.is_scalar()) return element(value.scalar_data(), value.dtype());
    out_.u64(value.shape().size());
    for (int64_t extent : value.shape()) out_.i64(extent);
    NDArray array = value.array();
    device(array.device());
    out_.flag(!in_data);
    if (!in_data) return element(array.raw(), array.dtype());
    out_.u64(offset);
    offset = round_up_data(offset + array.byte_size());
  }

  void device(Device device) {
    out_.u64(static_cast<uint64_t>(device.type));
    out_.u64(static_cast<uint64_t>(device.id));
  }

  void kernel(const Kernel& each) {
    if (each.function != nullptr) {
      throw Error("kernel " + each.name + " has no code that could be stored");
    }
    out_.text(each.name);
    out_.text(each.implementation);
    out_.text(each.source);
    out_.index(each.blob);
    out_.list(each.writes, [&](uint8_t written) { out_.flag(written != 0); });
    out_.u64(each.num_dims);
    out_.text(each.library);
    out_.list(each.messages, [&](const std::string& message) { out_.text(message); });
    indices(each.origins);
    out_.flag(each.parallel);
  }

  void param(const KernelParam& each) {
    out_.text(each.name);
    out_.u8(static_cast<uint8_t>(each.kind()));
    switch (each.kind()) {
      case ParamKind::kInteger:
        return out_.i64(std::get<int64_t>(each.value));
      case ParamKind::kNumber:
        return out_.u64(std::bit_cast<uint64_t>(std::get<double>(each.value)));
      case ParamKind::kFlag:
        return out_.flag(std::get<bool>(each.value));
      case ParamKind::kWord:
        return out_.text(std::get<std::string>(each.value));
      case ParamKind::kIntegers:
        return out_.list(std::get<std::vector<int64_t>>(each.value),
                         [&](int64_t number) { out_.i64(number); });
      case ParamKind::kCount:
        break;
    }
    RELAY_UNREACHABLE("a parameter of no kind");
  }

  void dims(const std::vector<DimInstruction>& code) {
    out_.list(code, [&](const DimInstruction& at) {
      out_.u8(static_cast<uint8_t>(at.code));
      out_.u64(at.a);
      out_.u64(at.b);
      out_.i64(at.value);
    });
  }

  void type(const TypeInfo& info, int depth) {
    if (depth > kDeepestType) throw Error("a type is too deep to be stored");
    out_.u8(static_cast<uint8_t>(info.kind));
    out_.dtype(info.dtype);
    out_.flag(info.has_rank);
    out_.list(info.dims, [&](const TypeInfo::Dim& dim) {
      out_.u8(static_cast<uint8_t>(dim.kind));
      out_.i64(dim.value);
      out_.text(dim.text);
    });
    out_.list(info.fields, [&](const TypeInfo& field) { type(field, depth + 1); });
    out_.text(info.name);
    out_.index(info.data);
    device(info.device);
  }

  void part(const TypeCheck::Part& part) {
    type(part.type, 0);
    out_.text(part.text);
    out_.text(part.what);
    out_.u64(part.position);
    out_.flag(part.inside);
  }

  void check(const TypeCheck& check) {
    out_.list(check.parts, [&](const TypeCheck::Part& each) { part(each); });
    out_.list(check.symbols, [&](const std::string& symbol) { out_.text(symbol); });
    dims(check.terms);
    out_.list(check.data, [&](const DataInfo& data) {
      out_.list(data.constructors, [&](const DataInfo::Constructor& constructor) {
        out_.text(constructor.name);
        out_.list(constructor.fields, [&](const TypeInfo& field) { type(field, 0); });
      });
      out_.text(data.text);
    });
    out_.flag(check.closed);
  }

  void size_text(const SizeText& text) {
    out_.list(text.pieces, [&](const std::string& piece) { out_.text(piece); });
    indices(text.slots);
  }

  void graph(const Graph& graph) {
    out_.text(graph.name);
    dims(graph.dims);
    indices(graph.dim_positions);
    dims(graph.text_dims);
    out_.list(graph.checks, [&](const DimCheck& each) {
      out_.u64(each.a);
      out_.u64(each.b);
      size_text(each.message);
      out_.u64(each.position);
    });
    out_.list(graph.failures, [&](const DimFailure& each) {
      out_.u64(each.first);
      out_.u64(each.last);
      out_.flag(each.division);
      size_text(each.message);
      out_.u64(each.position);
    });
    out_.u64(graph.num_inputs);
    out_.list(graph.places, [&](const Place& place) {
      out_.dtype(place.dtype);
      indices(place.extents);
      out_.index(place.alias);
      out_.index(place.offset);
      out_.index(place.constant);
      out_.u64(place.position);
      device(place.device);
    });
    out_.list(graph.launches, [&](const Launch& launch) {
      out_.u64(launch.kernel);
      out_.list(launch.arguments, [&](const Launch::Argument& argument) {
        out_.u64(argument.place);
        out_.flag(argument.written);
      });
      indices(launch.dims);
      out_.index(launch.scratch);
      out_.index(launch.flops);
      out_.index(launch.bytes);
      out_.list(launch.in_place, [&](const Launch::InPlace& pair) {
        out_.u64(pair.written);
        out_.u64(pair.read);
        out_.flag(pair.copy);
      });
      out_.list(launch.params, [&](const KernelParam& each) { param(each); });
      out_.u64(launch.position);
      indices(launch.origins);
    });
    indices(graph.outputs);
  }

  void function(const Function& function) {
    out_.text(function.name);
    out_.u64(function.num_params);
    out_.u64(function.num_registers);
    out_.u64(function.num_captures);
    out_.list(function.code, [&](const Instruction& in) {
      out_.u8(static_cast<uint8_t>(in.op));
      out_.u8(in.sub);
      out_.dtype(in.dtype);
      out_.dtype(in.to);
      out_.index(in.dst);
      out_.index(in.a);
      out_.index(in.b);
      out_.index(in.c);
      out_.u64(in.first);
      out_.u64(in.count);
    });
    indices(function.args);
    indices(function.positions);
  }

  ByteWriter& out_;
};

// ---- Reading ------------------------------------------------------------------------------------

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
      return entry;
    });
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
    if (depth > kDeepestType) ByteReader::malformed();
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

void encode_executable(const Executable& executable, ByteWriter& out) {
  Encoder(out).run(executable);
}

void decode_executable(ByteReader& in, std::span<const std::byte> code,
                       std::span<const std::byte> data,
                       const std::function<NDArray(ShapeView, DType, size_t)>& tensor,
                       Executable& out) {
  Decoder(in, code, data, tensor).run(out);
}

}  // namespace relay::vm
