// The C interface: nothing is thrown across it.
#include <relay/vm/machine/relay_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <relay/runtime/dlpack.h>
#include <relay/support/error.h>
#include <relay/vm/machine/deadline.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

using relay::DType;
using relay::DTypeCode;
using relay::NDArray;
using relay::TypeInfo;
using relay::Value;
using relay::vm::Entry;
using relay::vm::Executable;

struct RelayProgram {
  std::shared_ptr<const Executable> executable;
};

struct RelayMachine {
  std::atomic<bool> interrupt{false};
  std::unique_ptr<relay::vm::Machine> machine;
};

struct RelayValue {
  Value other;              // what is no tensor of rank 1 or more
  NDArray array;            // a tensor, by its only handle here; of a number, what descriptors show
  std::string constructor;  // of a data value
  mutable NDArray dense;    // of a uniform tensor, once elements are asked for
  mutable std::once_flag asked;

  Value value() const { return other ? other : Value(array); }
};

namespace {

thread_local std::string last_error;  // NOLINT(runtime/string)

RelayStatus fail(RelayStatus status, std::string message) noexcept {
  last_error = std::move(message);
  return status;
}

std::string text_of(const relay::Error& error) {
  std::string text = relay::render(error.diagnostics());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Runs `body`; whatever it throws becomes a status.
template <class F>
RelayStatus guarded(F body) noexcept {
  try {
    body();
    return RELAY_OK;
  } catch (const relay::vm::Interrupted& error) {
    return fail(RELAY_INTERRUPTED, error.what());
  } catch (const relay::vm::TimedOut& error) {
    return fail(RELAY_TIMED_OUT, error.what());
  } catch (const relay::RuntimeError& error) {
    return fail(RELAY_FAILED, text_of(error));
  } catch (const relay::Error& error) {
    return fail(RELAY_ERROR, text_of(error));
  } catch (const std::bad_alloc&) {
    return fail(RELAY_ERROR, "no memory left");
  } catch (const std::exception& error) {
    return fail(RELAY_INTERNAL, error.what());
  } catch (...) {
    return fail(RELAY_INTERNAL, "an unknown error");
  }
}

RelayValue* wrap(Value value) {
  NDArray array;
  if (value.is_tensor()) array = value.array();
  if (array && !value.is_scalar()) value = Value();
  std::string constructor;
  if (value.is_data()) constructor = value.constructor()->name.str();
  return new RelayValue{std::move(value), std::move(array), std::move(constructor), {}, {}};
}

const Entry* entry_at(const RelayProgram* program, size_t index) {
  const auto& entries = program->executable->entries;
  return index < entries.size() ? &entries[index] : nullptr;
}

const relay::TypeCheck::Part* input_at(const RelayProgram* program, size_t entry, size_t input) {
  const Entry* at = entry_at(program, entry);
  return at != nullptr && input < at->params.parts.size() ? &at->params.parts[input] : nullptr;
}

DType dtype_of(const RelayTensor& tensor) {
  DType dtype{static_cast<DTypeCode>(tensor.code), tensor.bits};
  if (tensor.code == RELAY_BOOL) dtype.bits = 1;
  for (DType known : relay::kAllDTypes) {
    if (known == dtype) return dtype;
  }
  throw relay::Error("a tensor has an element type that does not exist: code " +
                     std::to_string(tensor.code) + ", " + std::to_string(tensor.bits) + " bits");
}

NDArray array_of(const RelayTensor& tensor, void (*release)(void*), void* context) {
  DType dtype;
  try {
    if (tensor.rank < 0 || (tensor.rank > 0 && tensor.shape == nullptr)) {
      throw relay::Error("a tensor has no shape");
    }
    dtype = dtype_of(tensor);
  } catch (...) {
    if (release != nullptr) release(context);
    throw;
  }
  return NDArray::wrap(tensor.data, {tensor.shape, static_cast<size_t>(tensor.rank)},
                       tensor.strides, dtype, release, context);
}

std::vector<Value> values_of(RelayValue* const* inputs, size_t count) {
  std::vector<Value> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i] == nullptr) throw relay::Error("input " + std::to_string(i) + " is null");
    values.push_back(inputs[i]->value());
  }
  return values;
}

}  // namespace

extern "C" {

const char* relay_runtime_version(void) { return "relay " RELAY_VERSION; }

const char* relay_last_error(void) { return last_error.c_str(); }

RelayStatus relay_program_load(const char* path, RelayProgram** program) {
  return guarded([&] { *program = new RelayProgram{relay::vm::load_executable(path)}; });
}

RelayStatus relay_program_load_bytes(const void* bytes, size_t size, RelayProgram** program) {
  return guarded([&] {
    std::span all(static_cast<const std::byte*>(bytes), size);
    *program = new RelayProgram{relay::vm::load_executable(all, "the program")};
  });
}

void relay_program_free(RelayProgram* program) { delete program; }

size_t relay_program_num_entries(const RelayProgram* program) {
  return program->executable->entries.size();
}

const char* relay_entry_name(const RelayProgram* program, size_t entry) {
  const Entry* at = entry_at(program, entry);
  return at != nullptr ? at->name.c_str() : nullptr;
}

size_t relay_entry_num_inputs(const RelayProgram* program, size_t entry) {
  const Entry* at = entry_at(program, entry);
  return at != nullptr ? at->params.parts.size() : 0;
}

const char* relay_entry_input_name(const RelayProgram* program, size_t entry, size_t input) {
  const auto* part = input_at(program, entry, input);
  return part != nullptr ? part->what.c_str() : nullptr;
}

const char* relay_entry_input_type(const RelayProgram* program, size_t entry, size_t input) {
  const auto* part = input_at(program, entry, input);
  return part != nullptr ? part->text.c_str() : nullptr;
}

const char* relay_entry_result_type(const RelayProgram* program, size_t entry) {
  const Entry* at = entry_at(program, entry);
  return at != nullptr ? at->result.text.c_str() : nullptr;
}

RelayStatus relay_entry_input_tensor(const RelayProgram* program, size_t entry, size_t input,
                                     RelayTensor* type, int64_t* extents, size_t capacity) {
  const auto* part = input_at(program, entry, input);
  if (part == nullptr) return fail(RELAY_ERROR, "there is no such input");
  const TypeInfo& info = part->type;
  if (info.kind != TypeInfo::Kind::kTensor || !info.has_rank || !info.dtype.valid()) {
    return fail(RELAY_ERROR, "input " + part->what + " has type " + part->text +
                                 ", which is not a tensor of known rank");
  }
  *type = RelayTensor{nullptr,
                      static_cast<int32_t>(info.dims.size()),
                      static_cast<uint8_t>(info.dtype.code),
                      info.dtype.bits,
                      nullptr,
                      nullptr};
  for (size_t i = 0; i < info.dims.size() && i < capacity; ++i) {
    extents[i] = info.dims[i].kind == TypeInfo::Dim::Kind::kInt ? info.dims[i].value : -1;
  }
  return RELAY_OK;
}

RelayStatus relay_entry_input_device(const RelayProgram* program, size_t entry, size_t input,
                                     RelayDevice* device) {
  const auto* part = input_at(program, entry, input);
  if (part == nullptr) return fail(RELAY_ERROR, "there is no such input");
  if (part->type.kind != TypeInfo::Kind::kTensor) {
    return fail(RELAY_ERROR,
                "input " + part->what + " has type " + part->text + ", which is not a tensor");
  }
  *device = {static_cast<int32_t>(part->type.device.type), part->type.device.id};
  return RELAY_OK;
}

int64_t relay_program_find(const RelayProgram* program, const char* name) {
  const auto& entries = program->executable->entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

RelayValue* relay_tensor_copy(const RelayTensor* tensor) {
  RelayValue* result = nullptr;
  guarded([&] { result = wrap(Value(array_of(*tensor, nullptr, nullptr).copy())); });
  return result;
}

RelayValue* relay_tensor_on(const RelayValue* value, RelayDevice device) {
  RelayValue* result = nullptr;
  guarded([&] {
    if (!value->array) throw relay::Error("the value is not a tensor");
    std::optional<relay::Device> to = relay::Device::of(device.type, device.id);
    if (!to) {
      throw relay::Error("there is no device of kind " + std::to_string(device.type) +
                         " and index " + std::to_string(device.id));
    }
    result = wrap(Value(value->array.on(*to)));
  });
  return result;
}

RelayValue* relay_tensor_share(const RelayTensor* tensor, void (*release)(void*), void* context) {
  RelayValue* result = nullptr;
  guarded([&] { result = wrap(Value(array_of(*tensor, release, context))); });
  return result;
}

RelayValue* relay_tensor_from_dlpack(DLManagedTensor* tensor) {
  RelayValue* result = nullptr;
  guarded([&] {
    auto* managed = reinterpret_cast<relay::dlpack::ManagedTensor*>(tensor);
    result = wrap(Value(relay::dlpack::import_array(managed)));
  });
  return result;
}

RelayValue* relay_tensor_from_dlpack_versioned(DLManagedTensorVersioned* tensor) {
  RelayValue* result = nullptr;
  guarded([&] {
    auto* managed = reinterpret_cast<relay::dlpack::ManagedTensorVersioned*>(tensor);
    result = wrap(Value(relay::dlpack::import_array(managed)));
  });
  return result;
}

RelayValue* relay_tuple(RelayValue* const* fields, size_t count) {
  RelayValue* result = nullptr;
  guarded([&] { result = wrap(Value::tuple(values_of(fields, count))); });
  return result;
}

void relay_value_free(RelayValue* value) { delete value; }

RelayKind relay_value_kind(const RelayValue* value) {
  if (value->array) return RELAY_TENSOR;
  switch (value->other.kind()) {
    case Value::Kind::kScalar:
    case Value::Kind::kTensor:
      return RELAY_TENSOR;
    case Value::Kind::kTuple:
      return RELAY_TUPLE;
    case Value::Kind::kData:
      return RELAY_DATA;
    case Value::Kind::kClosure:
      return RELAY_CLOSURE;
    case Value::Kind::kReference:
      return RELAY_REFERENCE;
    case Value::Kind::kNone:
      break;
  }
  return RELAY_OTHER;
}

RelayStatus relay_value_device(const RelayValue* value, RelayDevice* device) {
  if (!value->array) return fail(RELAY_ERROR, "the value is not a tensor");
  relay::Device at = value->array.device();
  *device = {static_cast<int32_t>(at.type), at.id};
  return RELAY_OK;
}

RelayStatus relay_value_tensor(const RelayValue* value, RelayTensor* tensor) {
  if (!value->array) return fail(RELAY_ERROR, "the value is not a tensor");
  return guarded([&] {
    const bool uniform = value->array.is_uniform();
    if (uniform) std::call_once(value->asked, [&] { value->dense = value->array.copy(); });
    const NDArray& array = uniform ? value->dense : value->array;
    *tensor = RelayTensor{array.raw(),
                          static_cast<int32_t>(array.rank()),
                          static_cast<uint8_t>(array.dtype().code),
                          array.dtype().bits,
                          array.shape().data(),
                          array.strides().data()};
  });
}

int relay_value_is_writable(const RelayValue* value) {
  return value->array && value->array.unique() ? 1 : 0;
}

DLManagedTensor* relay_value_to_dlpack(const RelayValue* value) {
  if (!value->array) {
    fail(RELAY_ERROR, "the value is not a tensor");
    return nullptr;
  }
  DLManagedTensor* result = nullptr;
  guarded([&] {
    result = reinterpret_cast<DLManagedTensor*>(relay::dlpack::export_array(value->array));
  });
  return result;
}

DLManagedTensorVersioned* relay_value_to_dlpack_versioned(const RelayValue* value) {
  if (!value->array) {
    fail(RELAY_ERROR, "the value is not a tensor");
    return nullptr;
  }
  DLManagedTensorVersioned* result = nullptr;
  guarded([&] {
    result = reinterpret_cast<DLManagedTensorVersioned*>(
        relay::dlpack::export_array_versioned(value->array));
  });
  return result;
}

size_t relay_value_num_fields(const RelayValue* value) {
  return value->other.is_tuple() || value->other.is_data() ? value->other.fields().size() : 0;
}

RelayValue* relay_value_field(const RelayValue* value, size_t index) {
  if (index >= relay_value_num_fields(value)) {
    fail(RELAY_ERROR, "there is no such field");
    return nullptr;
  }
  RelayValue* result = nullptr;
  guarded([&] { result = wrap(value->other.field(index)); });
  return result;
}

const char* relay_value_constructor(const RelayValue* value) {
  return value->other.is_data() ? value->constructor.c_str() : nullptr;
}

RelayStatus relay_machine_new(const RelayProgram* program, int threads, RelayMachine** machine) {
  return guarded([&] {
    auto made = std::make_unique<RelayMachine>();
    relay::vm::MachineOptions options;
    options.threads = threads;
    options.interrupt = &made->interrupt;
    made->machine = std::make_unique<relay::vm::Machine>(program->executable, options);
    *machine = made.release();
  });
}

void relay_machine_free(RelayMachine* machine) { delete machine; }

RelayStatus relay_run(RelayMachine* machine, size_t entry, RelayValue* const* inputs, size_t count,
                      RelayValue** result) {
  return guarded([&] {
    const auto& entries = machine->machine->executable().entries;
    if (entry >= entries.size()) throw relay::Error("there is no such entry");
    machine->interrupt.store(false, std::memory_order_relaxed);
    *result = wrap(machine->machine->run(entries[entry], values_of(inputs, count)));
  });
}

RelayStatus relay_run_within(RelayMachine* machine, size_t entry, RelayValue* const* inputs,
                             size_t count, double seconds, RelayValue** result) {
  return guarded([&] {
    const auto& entries = machine->machine->executable().entries;
    if (entry >= entries.size()) throw relay::Error("there is no such entry");
    machine->interrupt.store(false, std::memory_order_relaxed);
    const relay::vm::Deadline deadline(machine->interrupt, relay::vm::seconds_from_now(seconds));
    try {
      *result = wrap(machine->machine->run(entries[entry], values_of(inputs, count)));
    } catch (const relay::vm::Interrupted&) {
      if (deadline.passed()) throw relay::vm::TimedOut(seconds);
      throw;
    }
  });
}

RelayStatus relay_call(RelayMachine* machine, const RelayValue* closure, RelayValue* const* inputs,
                       size_t count, RelayValue** result) {
  return guarded([&] {
    machine->interrupt.store(false, std::memory_order_relaxed);
    *result = wrap(machine->machine->call(closure->value(), values_of(inputs, count)));
  });
}

void relay_machine_interrupt(RelayMachine* machine) {
  machine->interrupt.store(true, std::memory_order_relaxed);
}

}  // extern "C"
