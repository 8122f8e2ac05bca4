#include <relay/vm/compiler/direct.h>

#include <mutex>
#include <vector>

#include <relay/lower/lower.h>
#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::vm {
namespace {

struct Group {
  relay::FunctionRef function;
  std::vector<TypeRef> inputs;
};

struct Groups {
  std::mutex mutex;
  std::vector<Group> all;
  static Groups& instance() {
    static auto* groups = new Groups;
    return *groups;
  }
};

// The type with the extents that the arrays have, from `next` on.
TypeRef with_extents(const TypeRef& type, std::span<const NDArray> arrays, size_t& next) {
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields())
      fields.push_back(with_extents(field, arrays, next));
    return TupleType::make(std::move(fields));
  }
  ShapeView shape = arrays[next++].shape();
  std::vector<Dim> dims(shape.begin(), shape.end());
  return TensorType::make(dims, type->as<TensorType>()->dtype());
}

void run_direct(LibraryCall& call) {
  Group group;
  {
    Groups& groups = Groups::instance();
    std::lock_guard lock(groups.mutex);
    group = groups.all.at(static_cast<size_t>(call.integer("group")));
  }
  std::vector<TypeRef> types;
  size_t next = 0;
  for (const TypeRef& type : group.inputs) types.push_back(with_extents(type, call.inputs, next));
  lower::Group composed = lower::compose(*group.function, types);
  Device device;
  if (!call.inputs.empty()) device = call.inputs[0].device();
  if (!call.outputs.empty() && call.outputs[0]) device = call.outputs[0].device();
  std::vector<NDArray> results = te::evaluate(composed.computation, call.inputs, {}, device);
  for (size_t i = 0; i < results.size(); ++i) {
    if (call.outputs[i]) {
      call.outputs[i].assign(results[i]);
    } else {
      call.outputs[i] = results[i].contiguous();
    }
  }
}

RELAY_LIBRARY_KERNEL(
    kDirectKernel, run_direct,
    {LibrarySignature::kAny, LibrarySignature::kAny, {{"group", ParamKind::kInteger}}, true});

}  // namespace

int64_t register_direct(const relay::FunctionRef& function, std::span<const TypeRef> inputs) {
  Groups& groups = Groups::instance();
  std::lock_guard lock(groups.mutex);
  groups.all.push_back({function, {inputs.begin(), inputs.end()}});
  return static_cast<int64_t>(groups.all.size() - 1);
}

}  // namespace relay::vm
