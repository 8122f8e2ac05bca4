#include <relay/vm/compiler/program.h>

#include <relay/infer/type_checks.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {

ProgramBuilder::ProgramBuilder(const Prepared& prepared, Executable& executable,
                               const CompileOptions& options)
    : prepared_(prepared),
      module_(prepared.module),
      executable_(executable),
      options_(options),
      groups_(executable, options),
      positions_(executable),
      flows_(module_) {
  if (uses_devices(module_)) devices_ = std::make_unique<Devices>(module_);
  if (devices_ != nullptr && !devices_->problems().empty()) throw Error(devices_->problems());
  auto open = [](const Type* type) {
    return type != nullptr && (type->has_any_dim() || type->has_symbolic_dim());
  };
  for (const auto& entry : module_.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      open_shapes_ = open_shapes_ || open(expr->type());
      if (const auto* var = expr->as<Var>()) open_shapes_ |= open(var->annotation().get());
    });
  }
}

uint32_t ProgramBuilder::add_function(std::string name) {
  auto number = static_cast<uint32_t>(executable_.functions.size());
  executable_.functions.emplace_back().name = std::move(name);
  return number;
}

uint32_t ProgramBuilder::global(Name name, Span span) {
  auto [entry, added] = globals_.try_emplace(name, 0);
  if (added) {
    const relay::Function* function = module_.function(name);
    if (function == nullptr) throw Error("there is no function @" + name.str(), span);
    std::string text = "@" + name.str();
    entry->second = add_function(text);
    waiting_.push_back({function, std::move(text), entry->second});
  }
  return entry->second;
}

uint32_t ProgramBuilder::constant(const Value& value) {
  auto next = static_cast<uint32_t>(executable_.constants.size());
  if (value.is_scalar()) {
    uint64_t bits = 0;
    std::memcpy(&bits, value.scalar_data(), value.dtype().size());
    auto& known = numbers_[bits];
    for (uint32_t number : known) {
      if (executable_.constants[number].dtype() == value.dtype()) return number;
    }
    known.push_back(next);
    executable_.constants.push_back(value);
    return next;
  }
  NDArray array = value.array();
  auto [entry, added] = tensors_.try_emplace(array.identity(), next);
  if (added) executable_.constants.emplace_back(array.is_uniform() ? array : array.contiguous());
  return entry->second;
}

uint32_t ProgramBuilder::constant_on(uint32_t constant, Device device) {
  const Value& value = executable_.constants[constant];
  if (value.is_scalar() || value.device() == device) return constant;
  auto [entry, added] = elsewhere_.try_emplace({constant, device.type, device.id}, 0);
  if (added) {
    entry->second = static_cast<uint32_t>(executable_.constants.size());
    executable_.constants.emplace_back(value.array().on(device));
  }
  return entry->second;
}

uint32_t ProgramBuilder::constructor(const Constructor* constructor) {
  const ConstructorInfo* info =
      ConstructorInfo::intern(constructor->name(), constructor->type_name()->name(),
                              static_cast<int32_t>(constructor->ctor_tag()),
                              static_cast<uint32_t>(constructor->inputs().size()));
  auto [entry, added] =
      constructors_.try_emplace(info, static_cast<uint32_t>(executable_.constructors.size()));
  if (added) executable_.constructors.push_back(info);
  return entry->second;
}

uint32_t ProgramBuilder::message(const std::string& text) {
  auto [entry, added] =
      messages_.try_emplace(text, static_cast<uint32_t>(executable_.messages.size()));
  if (added) executable_.messages.push_back(text);
  return entry->second;
}

uint32_t ProgramBuilder::add_graph(std::unique_ptr<GraphBuilder> builder,
                                   std::span<const uint32_t> outputs, std::string name) {
  auto number = static_cast<uint32_t>(executable_.graphs.size());
  executable_.graphs.push_back(builder->finish(outputs, std::move(name)));
  graphs_.push_back({std::move(builder), number});
  return number;
}

void ProgramBuilder::add_entry(Name name) {
  Entry entry;
  entry.name = name.str();
  entry.function = global(name, {});
  const relay::Function* function = module_.function(name);
  CheckBuilder params(module_, flows_, true);
  for (const VarRef& param : function->params()) {
    const Type* type = param->type() != nullptr ? param->type() : param->annotation().get();
    DeviceTree devices;
    if (devices_ != nullptr) devices = devices_->tree(param.get());
    params.add({TypeRef(type), param->name().str(), param->span()}, positions_.add(param->span()),
               devices);
  }
  const auto* type = function->type() == nullptr ? nullptr : function->type()->as<FuncType>();
  DeviceTree devices;
  if (devices_ != nullptr) devices = devices_->tree(function, 0);
  params.add({type == nullptr ? TypeRef() : type->result(), "the result of @" + name.str(),
              function->span()},
             positions_.add(function->span()), devices);
  entry.params = params.finish();
  entry.params.closed = tells_names(function);
  entry.result = std::move(entry.params.parts.back());
  entry.params.parts.pop_back();
  executable_.entries.push_back(std::move(entry));
}

void ProgramBuilder::run(std::span<const Name> entries) {
  executable_.target = options_.direct ? "baseline" : std::string(options_.target.name());
  for (Name name : entries) add_entry(name);
  compile_functions();
  compile_kernels();
  if (!elsewhere_.empty()) drop_unused_constants();
}

// A constant that is used on other devices only need not be kept on the one where it was written.
void ProgramBuilder::drop_unused_constants() {
  std::vector<uint32_t> number(executable_.constants.size(), kNone);
  auto each = [&](auto use) {
    for (Function& function : executable_.functions) {
      for (Instruction& at : function.code) {
        if (at.op == Op::kConst) use(at.a);
      }
    }
    for (Graph& graph : executable_.graphs) {
      for (Place& place : graph.places) {
        if (place.constant != kNone) use(place.constant);
      }
    }
  };
  each([&](uint32_t constant) { number[constant] = 0; });
  std::vector<Value> kept;
  for (size_t i = 0; i < number.size(); ++i) {
    if (number[i] == kNone) continue;
    number[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(executable_.constants[i]));
  }
  each([&](uint32_t& constant) { constant = number[constant]; });
  executable_.constants = std::move(kept);
}

void ProgramBuilder::compile_functions() {
  while (!waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    FunctionCompiler(*this, next.function, std::move(next.name), next.number).run();
  }
}

void ProgramBuilder::compile_kernels() {
  if (options_.kernels != nullptr) {
    options_.kernels->insert(options_.kernels->end(), groups_.kernels().begin(),
                             groups_.kernels().end());
  }
  if (groups_.kernels().empty()) return;
  codegen::CompileOptions options;
  options.threads = options_.threads;
  options.cache = options_.cache;
  std::vector<codegen::CompiledKernel> compiled =
      codegen::compile(groups_.kernels(), options_.target, options);
  std::unordered_map<uint32_t, const codegen::CompiledKernel*> by_number;
  std::unordered_map<const KernelBlob*, uint32_t> blobs;
  for (size_t i = 0; i < compiled.size(); ++i) {
    uint32_t number = groups_.kernel_numbers()[i];
    Kernel& kernel = executable_.kernels[number];
    auto [entry, added] =
        blobs.try_emplace(compiled[i].blob.get(), static_cast<uint32_t>(executable_.blobs.size()));
    if (added) executable_.blobs.push_back(compiled[i].blob);
    kernel.blob = entry->second;
    kernel.messages = compiled[i].messages;
    kernel.origins = compiled[i].origins;
    kernel.parallel = compiled[i].parallel;
    by_number[number] = &compiled[i];
  }
  for (const Made& made : graphs_) {
    Graph& graph = executable_.graphs[made.graph];
    for (const PendingScratch& pending : made.builder->scratch()) {
      Dim bytes = by_number.at(pending.kernel)->scratch_bytes;
      if (bytes.is_int(0)) continue;
      graph.launches[pending.launch].scratch = made.builder->scratch_slot(pending, bytes, graph);
    }
  }
}

}  // namespace relay::vm
