#include <relay/program/program.h>

#include <mutex>
#include <utility>

#include <relay/program/flow.h>
#include <relay/program/operators.h>

namespace relay {

struct Program::Data {
  struct Operators {
    FunctionRef function;  // so that its address stands for it
    PointerSet<Operator> named;
  };
  Module module;
  mutable std::mutex mutex;  // of the maps
  // A view keeps its function alive, so that an address stands for one function.
  mutable std::unordered_map<const Function*, std::shared_ptr<const View>> views;
  mutable std::unordered_map<const View*, std::unique_ptr<const NodeEffects>> node_effects;
  mutable std::unordered_map<const Function*, std::shared_ptr<const Operators>> operators;
  Column<Effects> effects;
  Column<CallGraph> call_graph;
  Column<Flow> constancy;
  Column<Flow> call_effects;
};

Program::Program(Module module) {
  auto data = std::make_shared<Data>();
  data->module = std::move(module);
  data_ = std::move(data);
}

Program Program::next(Module module) const {
  auto data = std::make_shared<Data>();
  data->module = std::move(module);
  {
    std::lock_guard lock(data_->mutex);
    for (const Module::FunctionEntry& entry : data->module.functions()) {
      auto found = data_->views.find(entry.function.get());
      if (found != data_->views.end()) data->views.insert(*found);
      auto named = data_->operators.find(entry.function.get());
      if (named != data_->operators.end()) data->operators.insert(*named);
    }
  }
  return Program(std::move(data));
}

const Module& Program::module() const { return data_->module; }

const View& Program::view(const FunctionRef& function) const {
  {
    std::lock_guard lock(data_->mutex);
    auto found = data_->views.find(function.get());
    if (found != data_->views.end()) return *found->second;
  }
  auto made = std::make_shared<const View>(function);
  std::lock_guard lock(data_->mutex);
  return *data_->views.try_emplace(function.get(), std::move(made)).first->second;
}

const Effects& Program::effects() const {
  return data_->effects.get([this] { return Effects(data_->module); });
}

const NodeEffects& Program::node_effects(const View& view) const {
  const Effects& known = effects();
  std::lock_guard lock(data_->mutex);
  std::unique_ptr<const NodeEffects>& entry = data_->node_effects[&view];
  if (entry == nullptr) entry = std::make_unique<const NodeEffects>(view, known);
  return *entry;
}

const CallGraph& Program::call_graph() const {
  return data_->call_graph.get([this] { return CallGraph(data_->module); });
}

const PointerSet<Operator>& Program::operators(const FunctionRef& function) const {
  {
    std::lock_guard lock(data_->mutex);
    auto found = data_->operators.find(function.get());
    if (found != data_->operators.end()) return found->second->named;
  }
  auto made = std::make_shared<const Data::Operators>(
      Data::Operators{function, operators_of(function.get())});
  std::lock_guard lock(data_->mutex);
  return data_->operators.try_emplace(function.get(), std::move(made)).first->second->named;
}

const Flow& Program::constancy() const {
  return data_->constancy.get([this] { return Flow(*this, Constancy()); });
}

const Flow& Program::call_effects() const {
  return data_->call_effects.get([this] { return Flow(*this, CallEffects()); });
}

NodeEffects::NodeEffects(const View& view, const Effects& effects) : any_(effects.any()) {
  if (!any_) return;
  acts_.resize(view.size());
  effectful_.resize(view.size());
  for (uint32_t id = 0; id < view.size(); ++id) {
    acts_[id] = effects.acts(view.expr(id));
    bool effectful = acts_[id];
    if (view.kind(id) != ExprKind::kFunction) {
      for (uint32_t operand : view.operands(id)) effectful = effectful || effectful_[operand];
    }
    effectful_[id] = effectful;
  }
}

}  // namespace relay
