#include <relay/explore/recorder.h>

#include <chrono>

#include <relay/ir/equal.h>
#include <relay/program/view.h>
#include <relay/transform/pass_result.h>

namespace relay::explore {
namespace {

/// Places of further firings of one pass are not kept; they are counted.
constexpr size_t kMostFired = 5000;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

size_t Recorder::nodes_of(const Module& module) {
  size_t count = 0;
  for (const Module::FunctionEntry& entry : module.functions()) {
    auto [found, fresh] = counted_.try_emplace(entry.function.get(), entry.function, 0);
    if (fresh) {
      const View view(entry.function);
      for (uint32_t id = 0; id < view.size(); ++id)
        found->second.second += view.is_name(id) ? 0 : 1;
    }
    count += found->second.second;
  }
  return count;
}

void Recorder::module(const std::string& name, const Module& module) {
  Stage stage;
  stage.name = name;
  stage.before = stage.after = nodes_of(module);
  stage.text = stage_of(module, tables_);
  stages_.push_back(std::move(stage));
}

PassInstrument Recorder::passes() {
  PassInstrument instrument;
  instrument.name = "explore";
  instrument.before = [this](const Module&, const PassInfo& info) {
    Stage stage;
    stage.name = info.name.str();
    stage.depth = static_cast<int>(open_.size());
    open_.push_back({stages_.size(), 0});
    stages_.push_back(std::move(stage));
  };
  instrument.after = [this](const Module& before, const Module& after, const PassInfo&,
                            double seconds) {
    if (open_.empty()) return;
    const Clock::time_point begin = Clock::now();
    Stage& stage = stages_[open_.back().stage];
    stage.seconds = std::max(0.0, seconds - open_.back().recorded);
    double recorded = open_.back().recorded;
    // A sequence is the sum of its passes, which have stages of their own.
    const bool sequence = open_.back().stage + 1 < stages_.size();
    open_.pop_back();
    stage.changed = !same_functions(before, after) && !structural_equal(before, after);
    stage.before = nodes_of(before);
    stage.after = stage.changed ? nodes_of(after) : stage.before;
    if (stage.changed && !sequence) stage.text = stage_of(after, tables_);
    recorded += seconds_since(begin);
    if (!open_.empty()) open_.back().recorded += recorded;
  };
  instrument.exit = [this] { open_.clear(); };
  return instrument;
}

std::unique_ptr<pattern::FiringWatch> Recorder::rules() {
  return std::make_unique<pattern::FiringWatch>([this](const pattern::Firing& firing) {
    if (open_.empty()) return;
    Stage& stage = stages_[open_.back().stage];
    ++stage.firings;
    if (stage.fired.size() < kMostFired) {
      stage.fired.push_back(
          {tables_.text(firing.rule.name.view()), tables_.place(firing.before->span())});
    }
  });
}

graph::RewriteObserver Recorder::rewrites() {
  auto last = std::make_shared<Clock::time_point>(Clock::now());
  return [this, last](std::string_view name, std::span<const graph::Graph> graphs, bool changed) {
    Stage stage;
    stage.name = std::string(name);
    stage.kind = "graph";
    stage.changed = changed;
    stage.seconds = seconds_since(*last);
    for (const graph::Graph& graph : graphs) stage.after += graph.nodes.size();
    const bool first = stages_.empty() || stages_.back().kind != std::string_view("graph");
    stage.before = first ? stage.after : stages_.back().after;
    if (first) {
      stage.seconds = 0;  // the passes before it are part of that time
      stage.changed = true;
    }
    if (stage.changed) stage.text = stage_of(graphs, tables_);
    stages_.push_back(std::move(stage));
    *last = Clock::now();
  };
}

void Recorder::executable(const vm::Executable& executable) {
  for (Stage& stage : stages_) {
    if (stage.kind == std::string_view("graph")) settle_places(stage.text, executable, tables_);
  }
  Stage stage;
  stage.name = "executable";
  stage.kind = "launches";
  for (const vm::Graph& graph : executable.graphs) stage.after += graph.launches.size();
  stage.before = stages_.empty() ? stage.after : stages_.back().after;
  stage.text = stage_of(executable, tables_);
  settle_places(stage.text, executable, tables_);
  stages_.push_back(std::move(stage));
}

void Recorder::write(JsonWriter& json) const {
  json.key("stages").begin_array();
  for (const Stage& stage : stages_) {
    json.begin_object();
    json.field("name", stage.name).field("kind", stage.kind).field("depth", stage.depth);
    json.field("ms", stage.seconds * 1e3).field("changed", stage.changed);
    json.field("before", stage.before).field("after", stage.after);
    json.field("firings", stage.firings);
    json.key("fired").begin_array();
    for (const Fired& fired : stage.fired)
      json.begin_array().value(fired.rule).value(fired.place).end_array();
    json.end_array();
    if (!stage.text.lines.empty()) explore::write(json, stage.text);
    json.end_object();
  }
  json.end_array();
}

}  // namespace relay::explore
