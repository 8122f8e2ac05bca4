// Executables to bytes.
#include <relay/vm/machine/executable_codec.h>

#include <bit>
#include <cstring>
#include <optional>

#include <relay/support/error.h>

namespace relay::vm {

namespace {

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
      out_.list(each.results, [&](const Entry::Result& result) {
        out_.text(result.name);
        out_.text(result.type);
      });
    });
    const std::vector<std::pair<std::string, std::string>> notes(e.notes.begin(), e.notes.end());
    out_.list(notes, [&](const auto& note) {
      out_.text(note.first);
      out_.text(note.second);
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
    if (depth > kDeepestStoredType) throw Error("a type is too deep to be stored");
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
      for (uint32_t slot : {launch.products, launch.steps, launch.functions}) out_.index(slot);
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

}  // namespace

void encode_executable(const Executable& executable, ByteWriter& out) {
  Encoder(out).run(executable);
}

}  // namespace relay::vm
