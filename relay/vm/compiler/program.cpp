#include <relay/vm/compiler/program.h>

#include <algorithm>
#include <functional>

#include <relay/infer/runtime/type_checks.h>
#include <relay/ir/result_names.h>
#include <relay/ir/visit.h>
#include <relay/lower/blocks.h>
#include <relay/lower/packing.h>
#include <relay/lower/whole_rows.h>
#include <relay/lower/winograd.h>
#include <relay/support/error.h>
#include <relay/transform/pass_context.h>
#include <relay/vm/compiler/function_compiler.h>
#include <relay/vm/compiler/launch_writer.h>

namespace relay::vm {
namespace {

constexpr const char* kWinogradKey = "relay.winograd";
RELAY_REGISTER_CONFIG({kWinogradKey, true,
                       "Whether convolutions with constant weights are computed in tiles where "
                       "that takes clearly fewer operations, from level 3 on. Results are rounded "
                       "some more."});

graph::ReplacedOperand replaced(lower::PackedOperand packed) {
  return {packed.input, std::move(packed.packing), std::move(packed.computation), true, {}};
}
graph::ReplacedOperand replaced(lower::Winograd tiled) {
  return {tiled.input, std::move(tiled.weights), std::move(tiled.computation), true,
          std::move(tiled.transform)};
}

/// The result of a function of lowering.
template <class Find>
graph::FormOf form_of(Find find) {
  return [find](const graph::Work& work,
                const auto& constant) -> std::optional<graph::ReplacedOperand> {
    auto found = find(work, constant);
    if (!found) return std::nullopt;
    return replaced(std::move(*found));
  };
}

graph::RewriteOptions rewrite_options(const CompileOptions& options, const Prepared& prepared) {
  constexpr int kWinogradLevel = 3;
  const lower::Processor processor = options.target.processor;
  graph::RewriteOptions rewrites;
  rewrites.threads = options.threads;
  rewrites.most_operators = prepared.most_operators;
  if (options.onednn) return rewrites;  // which reads its operands as they are
  rewrites.packed_form = form_of([=](const graph::Work& work, const auto& constant) {
    return lower::packing_of(work.computation(), constant, processor, work.prepared);
  });
  if (!prepared.stops_fusion) {
    rewrites.runs_in_blocks = [=](const te::Computation& computation) {
      return lower::runs_in_blocks(computation, processor);
    };
    rewrites.runs_by_rows = [=](const te::Computation& computation) {
      return lower::runs_by_rows(computation, processor);
    };
  }
  if (options.level >= kWinogradLevel && options.winograd &&
      PassContext::current().config_value<bool>(kWinogradKey)) {
    rewrites.winograd_form = form_of([=](const graph::Work& work, const auto& constant) {
      return lower::winograd_of(work.computation(), constant, processor, work.prepared);
    });
  }
  return rewrites;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Prepared& prepared, Executable& executable,
                               const CompileOptions& options)
    : prepared_(prepared),
      module_(prepared.module),
      executable_(executable),
      options_(options),
      kernels_(executable, options),
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

graph::ConstantRef ProgramBuilder::constant_ref(uint32_t constant) {
  if (constant_refs_.size() <= constant) constant_refs_.resize(constant + 1);
  graph::ConstantRef& made = constant_refs_[constant];
  if (made == nullptr) {
    made = graph::Constant::given(executable_.constants[constant]);
    constant_numbers_[made.get()] = constant;
  }
  return made;
}

// The number of a constant in a graph, which may have made it.
uint32_t ProgramBuilder::number_of(const graph::ConstantRef& constant) {
  auto [entry, added] = constant_numbers_.try_emplace(
      constant.get(), static_cast<uint32_t>(executable_.constants.size()));
  if (added) {
    executable_.constants.emplace_back();
    made_constants_.push_back(constant);
  }
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

uint32_t ProgramBuilder::add_graph(graph::Graph graph) {
  graphs_.push_back(std::move(graph));
  return static_cast<uint32_t>(graphs_.size() - 1);
}

namespace {

std::vector<Entry::Result> results_of(const relay::Function* function, const Type* type) {
  if (type == nullptr) return {};
  std::vector<Entry::Result> results;
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) results.push_back({"", field->str()});
  } else {
    results.push_back({"", type->str()});
  }
  const std::vector<std::string> names = result_names(function->attrs(), results.size());
  for (size_t i = 0; i < names.size(); ++i) results[i].name = names[i];
  return results;
}

}  // namespace

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
  entry.results = results_of(function, type == nullptr ? nullptr : type->result().get());
  executable_.entries.push_back(std::move(entry));
}

void ProgramBuilder::run(std::span<const Name> entries) {
  begin(entries);
  replace_loops();
  rewrite_graphs();
  write_graphs();
  keep_used_constants();
}

void ProgramBuilder::collect(std::span<const Name> entries) {
  begin(entries);
  rewrite_graphs();
}

void ProgramBuilder::begin(std::span<const Name> entries) {
  if (!options_.direct) {
    executable_.target = options_.target.name();
    executable_.features = codegen::code_features(options_.target);
  }
  for (Name name : entries) add_entry(name);
  compile_functions();
}

void ProgramBuilder::keep_source(uint32_t number, const Function& function, FunctionTypes types) {
  if (!has_loop_kernels()) return;
  if (sources_.size() <= number) sources_.resize(number + 1);
  sources_[number] = {function, std::move(types.params), std::move(types.captures),
                      std::move(types.made)};
}

// Devices have kernels of their own, whose places a loop would mix.
bool ProgramBuilder::has_loop_kernels() const {
  return !options_.direct && options_.level > 0 && devices_ == nullptr;
}

void ProgramBuilder::replace_loops() {
  if (!has_loop_kernels()) return;
  sources_.resize(executable_.functions.size());
  replaced_ = native::replace_loops(
      module_, executable_, sources_, graphs_,
      [this](const graph::ConstantRef& constant) { return number_of(constant); });
  sources_.clear();
}

// Constants are kept in the form and on the device in which they are used, large ones first:
// threads that share them end together.
void ProgramBuilder::keep_used_constants() {
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
  std::vector<uint32_t> used;
  for (uint32_t i = 0; i < number.size(); ++i) {
    if (number[i] != kNone) used.push_back(i);
  }
  auto bytes = [&](uint32_t constant) {
    const Value& value = executable_.constants[constant];
    return value.is_scalar() ? 0 : value.array().byte_size();
  };
  std::ranges::stable_sort(used, std::greater(), bytes);
  std::vector<Value> kept;
  std::map<uint32_t, std::function<NDArray()>> late;
  for (uint32_t constant : used) {
    number[constant] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(executable_.constants[constant]));
    if (auto made = executable_.late_constants.extract(constant)) {
      made.key() = number[constant];
      late.insert(std::move(made));
    }
  }
  each([&](uint32_t& constant) { constant = number[constant]; });
  executable_.constants = std::move(kept);
  executable_.late_constants = std::move(late);
}

void ProgramBuilder::compile_functions() {
  while (!waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    FunctionCompiler(*this, next.function, std::move(next.name), next.number).run();
  }
}

void ProgramBuilder::rewrite_graphs() {
  graph::Rewriting rewriting(graphs_, rewrite_options(options_, prepared_));
  rewriting.verify_graphs();
  if (!options_.rewrite_graphs || options_.level == 0) {
    if (options_.on_graphs) options_.on_graphs("composed", graphs_, true);
    return;
  }
  for (const Function& function : executable_.functions) {
    for (const Instruction& at : function.code) {
      if (at.op == Op::kConst && at.a < constant_refs_.size())
        rewriting.read_elsewhere.insert(constant_refs_[at.a].get());
    }
  }
  graph::rewrite(rewriting, options_.on_graphs);
}

void ProgramBuilder::write_graphs() {
  kernels_.lower(graphs_);
  std::deque<LaunchWriter> writers;
  for (const graph::Graph& graph : graphs_) {
    writers.emplace_back(graph, kernels_, [this](const graph::ConstantRef& constant) {
      return number_of(constant);
    });
    executable_.graphs.push_back(writers.back().write());
  }
  for (const native::Replaced& replaced : replaced_) {
    const uint32_t kernel = kernels_.add(replaced.loop.kernel, replaced.name);
    executable_.graphs.push_back(native::graph_of(replaced, kernel));
  }
  if (options_.kernels != nullptr) {
    options_.kernels->insert(options_.kernels->end(), kernels_.kernels().begin(),
                             kernels_.kernels().end());
  }
  std::unordered_map<uint32_t, Dim> scratch = kernels_.compile();
  for (size_t i = 0; i < writers.size(); ++i)
    writers[i].set_scratch(scratch, executable_.graphs[i]);
  for (const graph::ConstantRef& constant : made_constants_) {
    const uint32_t number = constant_numbers_.at(constant.get());
    if (std::function<NDArray()> late = kernels_.late(constant)) {
      const te::TensorInfo& info = constant->info();
      executable_.constants[number] =
          NDArray::uniform(NDArray::scalar(info.dtype, 0), graph::shape_of(info));
      executable_.late_constants.emplace(number, std::move(late));
    } else {
      executable_.constants[number] = constant->value();
    }
  }
}

}  // namespace relay::vm
