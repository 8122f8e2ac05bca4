#include <relay/import/onnx/check.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_set>

#include <relay/import/onnx/registry.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/error.h>

namespace relay::onnx {

namespace {

constexpr size_t kMostNames = 6;  // in lists of names

std::string op_text(const Node& node) {
  if (node.op_type.empty()) return "a node";
  std::string name = quoted(node.op_type);
  name = name.substr(1, name.size() - 2);
  if (node.domain.empty()) return name;
  std::string domain = quoted(node.domain);
  return domain.substr(1, domain.size() - 2) + "." + name;
}

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  std::string key(domain);
  key += '\0';
  key += name;
  key += '\0';
  key += overload;
  return key;
}

std::string names_text(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    text += (i > 0 ? ", " : "") + quoted(names[i]);
  }
  return names.size() > kMostNames ? text + ", …" : text;
}

}  // namespace

std::string node_text(const Node& node) {
  if (!node.name.empty()) return op_text(node) + " " + quoted(node.name);
  for (std::string_view output : node.outputs) {
    if (!output.empty()) return op_text(node) + " of " + quoted(output);
  }
  return op_text(node);
}

class Checker {
 public:
  explicit Checker(CheckedModel& to) : to_(to) {}

  void run(std::optional<int64_t> opset) {
    list();
    check_opsets(opset);
    index_functions();
    const Graph& graph = to_.graph();
    check_graph(graph, nullptr, to_.opsets_);
    for (const LocalFunction& function : to_.model_.functions) check_function(function);
    check_recursion();
    check_supported();
    if (to_.model_.graph->outputs.empty()) fail("the model's graph has no outputs");
  }

 private:
  // Names that can be seen: those of a graph, and of the graphs around it.
  struct Names {
    const Names* outer;
    std::unordered_map<std::string_view, const Node*> defined;  // null: an input or initializer
    bool sees(std::string_view name) const {
      for (const Names* names = this; names != nullptr; names = names->outer) {
        if (names->defined.contains(name)) return true;
      }
      return false;
    }
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(to_.model_.path + ": " + message);
  }
  [[noreturn]] void fail(const Node& node, const std::string& message) const {
    throw Error(node_text(node) + " " + message, to_.span(node));
  }

  // ---- The listing ----

  void list() {
    std::string text;
    list_nodes(to_.graph().nodes, 0, text);
    for (const LocalFunction& function : to_.model_.functions) {
      list_nodes(function.nodes, 0, text);
    }
    to_.listing_ = SourceMap::add(to_.model_.path, std::move(text));
  }
  void list_nodes(const std::vector<Node>& nodes, size_t depth, std::string& text) {
    for (const Node& node : nodes) {
      text.append(2 * depth, ' ');
      uint64_t begin = text.size();
      if (!node.name.empty()) text += quoted(node.name) + ": ";
      text +=
          names_text(node.outputs) + " = " + op_text(node) + "(" + names_text(node.inputs) + ")";
      to_.lines_[&node] = {begin, text.size() - begin};
      text += '\n';
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) list_nodes(graph->nodes, depth + 1, text);
      }
    }
  }

  // ---- Operator sets and functions ----

  void check_opsets(std::optional<int64_t> opset) {
    const Model& model = to_.model_;
    to_.opsets_ = Opsets(model.opsets);
    if (opset) to_.opsets_.set("", *opset);
    if (model.opsets.empty() && !opset) fail("the model says no operator set (opset_import)");
    check_version(to_.opsets_);
    if (model.trains) fail("the model has training graphs, which are not supported");
  }
  void check_version(const Opsets& opsets) const {
    std::optional<int64_t> version = opsets.version("");
    if (!version) return;
    if (*version >= CheckedModel::kOldestOpset && *version <= CheckedModel::kNewestOpset) return;
    fail("operator set " + std::to_string(*version) + " is not supported; " +
         std::to_string(CheckedModel::kOldestOpset) + " to " +
         std::to_string(CheckedModel::kNewestOpset) + " are");
  }
  void index_functions() {
    for (const LocalFunction& function : to_.model_.functions) {
      std::string key = function_key(function.domain, function.name, function.overload);
      if (!to_.functions_.emplace(std::move(key), &function).second) {
        fail("the function " + quoted(function.name) + " of domain " + quoted(function.domain) +
             " is defined twice");
      }
      to_.function_opsets_.emplace(&function, Opsets(function.opsets));
      check_version(to_.function_opsets_.at(&function));
    }
  }

  // ---- Graphs ----

  void check_value(const ValueInfo& value, const char* what) const {
    const TypeInfo* type = &value.type;
    while (type->element) type = type->element.get();
    if (!type->dims) return;
    auto refuse = [&](const std::string& reason) {
      fail(std::string(what) + " " + quoted(value.name) + " has " + reason);
    };
    if (type->dims->size() > NDArray::kMaxRank) {
      refuse(std::to_string(type->dims->size()) + " axes, more than " +
             std::to_string(NDArray::kMaxRank));
    }
    for (const DimInfo& dim : *type->dims) {
      if (!dim.value) continue;
      // -1 is how some exporters write "any".
      if (*dim.value < -1) refuse("the negative extent " + std::to_string(*dim.value));
      if (*dim.value >= kLargestExtent) refuse("the extent " + std::to_string(*dim.value));
    }
  }

  void check_graph(const Graph& graph, const Names* outer, const Opsets& opsets) {
    Names names{outer, {}};
    for (const ValueInfo& input : graph.inputs) {
      check_value(input, "the input");
      if (input.name.empty()) fail("an input of the graph has no name");
      if (!names.defined.emplace(input.name, nullptr).second) {
        fail("the graph has two inputs " + quoted(input.name));
      }
    }
    for (const ValueInfo& output : graph.outputs) check_value(output, "the output");
    std::unordered_set<std::string_view> initializers;
    auto initialize = [&](std::string_view name) {
      if (name.empty()) fail("an initializer has no name");
      if (!initializers.insert(name).second) {
        fail("the graph has two initializers " + quoted(name));
      }
      names.defined.emplace(name, nullptr);
    };
    for (const TensorData& tensor : graph.initializers) initialize(tensor.name);
    for (const SparseTensorData& tensor : graph.sparse_initializers) {
      initialize(tensor.values.name);
    }
    check_nodes(graph.nodes, names, opsets);
    for (const ValueInfo& output : graph.outputs) {
      if (!names.sees(output.name)) {
        fail("nothing defines the output " + quoted(output.name) + " of the graph");
      }
    }
  }

  void check_function(const LocalFunction& function) {
    Names names{nullptr, {}};
    std::string text = "the function " + quoted(function.name);
    for (std::string_view input : function.inputs) {
      if (!names.defined.emplace(input, nullptr).second) {
        fail(text + " has two inputs " + quoted(input));
      }
    }
    check_nodes(function.nodes, names, to_.function_opsets_.at(&function));
    for (std::string_view output : function.outputs) {
      if (!names.sees(output)) fail("nothing defines the output " + quoted(output) + " of " + text);
    }
  }

  void check_nodes(const std::vector<Node>& nodes, Names& names, const Opsets& opsets) {
    std::unordered_map<std::string_view, size_t> producer;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (std::string_view output : nodes[i].outputs) {
        if (output.empty()) continue;
        if (names.defined.emplace(output, &nodes[i]).second) {
          producer.emplace(output, i);
          continue;
        }
        const Node* first = names.defined.at(output);
        Diagnostic diagnostic = Diagnostic::error(
            node_text(nodes[i]) + " defines " + quoted(output) + ", which is defined already",
            to_.span(nodes[i]));
        if (first != nullptr && first != &nodes[i]) {
          diagnostic.note("defined here", to_.span(*first));
        }
        throw Error(std::move(diagnostic));
      }
    }
    std::vector<std::vector<size_t>> users(nodes.size());
    std::vector<size_t> waits(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = nodes[i];
      check_node(node, names, opsets);
      std::unordered_set<std::string_view> used(node.inputs.begin(), node.inputs.end());
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) {
          check_graph(*graph, &names, opsets);
          const auto& free = free_names(*graph);
          used.insert(free.begin(), free.end());
        }
      }
      for (std::string_view name : used) {
        auto found = producer.find(name);
        if (found == producer.end()) continue;
        users[found->second].push_back(i);
        ++waits[i];
      }
    }
    sort(nodes, users, std::move(waits));
  }

  void check_node(const Node& node, const Names& names, const Opsets& opsets) const {
    if (node.op_type.empty()) fail(node, "has no operator");
    std::unordered_set<std::string_view> attributes;
    for (const Attribute& attribute : node.attributes) {
      if (!attributes.insert(attribute.name).second) {
        fail(node, "has two attributes " + quoted(attribute.name));
      }
    }
    for (std::string_view name : node.inputs) {
      if (!name.empty() && !names.sees(name)) {
        fail(node, "reads " + quoted(name) + ", which nothing defines");
      }
    }
    if (to_.function(node) == nullptr && !opsets.version(node.domain)) {
      fail(node, "is of the domain " + quoted(node.domain.empty() ? "ai.onnx" : node.domain) +
                     ", of which the model imports no operator set");
    }
  }

  // Names that a graph takes from around it.
  const std::unordered_set<std::string_view>& free_names(const Graph& graph) {
    auto [entry, added] = free_names_.try_emplace(&graph);
    if (!added) return entry->second;
    std::unordered_set<std::string_view> free;
    std::unordered_set<std::string_view> defined;
    for (const ValueInfo& input : graph.inputs) defined.insert(input.name);
    for (const TensorData& tensor : graph.initializers) defined.insert(tensor.name);
    for (const SparseTensorData& t : graph.sparse_initializers) defined.insert(t.values.name);
    for (const Node& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
    auto use = [&](std::string_view name) {
      if (!name.empty() && !defined.contains(name)) free.insert(name);
    };
    for (const ValueInfo& output : graph.outputs) use(output.name);
    for (const Node& node : graph.nodes) {
      for (std::string_view input : node.inputs) use(input);
      for (const Attribute& attribute : node.attributes) {
        for (const auto& inner : attribute.graphs) {
          for (std::string_view name : free_names(*inner)) use(name);
        }
      }
    }
    return free_names_[&graph] = std::move(free);
  }

  // Keeps the order of the file where it can.
  void sort(const std::vector<Node>& nodes, const std::vector<std::vector<size_t>>& users,
            std::vector<size_t> waits) {
    std::vector<const Node*>& order = to_.orders_[&nodes];
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      size_t i = ready.top();
      ready.pop();
      order.push_back(&nodes[i]);
      for (size_t user : users[i]) {
        if (--waits[user] == 0) ready.push(user);
      }
    }
    if (order.size() == nodes.size()) return;
    fail_cycle(nodes, users, waits);
  }
  [[noreturn]] void fail_cycle(const std::vector<Node>& nodes,
                               const std::vector<std::vector<size_t>>& users,
                               const std::vector<size_t>& waits) const {
    // Every node that is left has an operand that is left: going back along them ends in a cycle.
    std::vector<size_t> operand(nodes.size(), nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (size_t user : users[i]) {
        if (waits[i] > 0) operand[user] = i;
      }
    }
    size_t at = 0;
    while (waits[at] == 0) ++at;
    for (size_t step = 0; step < nodes.size(); ++step) at = operand[at];
    std::vector<size_t> cycle{at};
    for (size_t i = operand[at]; i != at; i = operand[i]) cycle.push_back(i);
    std::reverse(cycle.begin(), cycle.end());
    std::string text;
    for (size_t i = 0; i < cycle.size() && i < kMostNames; ++i) {
      text += node_text(nodes[cycle[i]]) + ", ";
    }
    if (cycle.size() > kMostNames) text += "…, ";
    const Node& node = nodes[*std::min_element(cycle.begin(), cycle.end())];
    throw Error("nodes need each other's results: " + text + "which the first of them needs",
                to_.span(node));
  }

  // ---- Functions and what they lead to ----

  template <class Visit>
  static void each_node(const std::vector<Node>& nodes, const Visit& visit) {
    for (const Node& node : nodes) {
      visit(node);
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) each_node(graph->nodes, visit);
      }
    }
  }

  // Functions after those that they call; the number of nodes when all calls are inlined.
  void check_recursion() {
    enum class State : uint8_t { kNew, kOpen, kDone };
    struct Facts {
      State state = State::kNew;
      std::vector<std::pair<const LocalFunction*, const Node*>> calls;
      int64_t nodes = 0;
    };
    std::unordered_map<const LocalFunction*, Facts> facts;
    auto calls_in = [&](const std::vector<Node>& nodes, Facts& to) {
      each_node(nodes, [&](const Node& node) {
        ++to.nodes;
        if (const LocalFunction* callee = to_.function(node)) to.calls.emplace_back(callee, &node);
      });
    };
    for (const LocalFunction& function : to_.model_.functions) {
      calls_in(function.nodes, facts[&function]);
    }
    auto total = [&](Facts& of) {
      for (const auto& [callee, node] : of.calls) {
        of.nodes = std::min(of.nodes + facts[callee].nodes, CheckedModel::kMostNodes + 1);
      }
    };
    for (const LocalFunction& root : to_.model_.functions) {
      if (facts[&root].state != State::kNew) continue;
      std::vector<std::pair<const LocalFunction*, size_t>> stack{{&root, 0}};
      facts[&root].state = State::kOpen;
      while (!stack.empty()) {
        auto& [function, next] = stack.back();
        Facts& here = facts[function];
        if (next == here.calls.size()) {
          total(here);
          here.state = State::kDone;
          stack.pop_back();
          continue;
        }
        auto [callee, node] = here.calls[next++];
        Facts& there = facts[callee];
        if (there.state == State::kOpen) {
          fail(*node, "makes the function " + quoted(callee->name) + " call itself");
        }
        if (there.state != State::kNew) continue;
        there.state = State::kOpen;
        stack.emplace_back(callee, 0);
      }
    }
    Facts all;
    calls_in(to_.graph().nodes, all);
    all.nodes = 0;  // those that the graph has itself cost no more than they are
    total(all);
    if (all.nodes > CheckedModel::kMostNodes) {
      fail("calls of functions lead to more than " + std::to_string(CheckedModel::kMostNodes) +
           " nodes");
    }
    depth_limit();
  }

  // Converting a call recurses.
  void depth_limit() const {
    constexpr int kMost = 64;
    std::vector<const LocalFunction*> level;
    auto callees = [&](const std::vector<Node>& nodes, std::vector<const LocalFunction*>& to) {
      each_node(nodes, [&](const Node& node) {
        if (const LocalFunction* callee = to_.function(node)) to.push_back(callee);
      });
    };
    callees(to_.graph().nodes, level);
    for (int depth = 0; !level.empty(); ++depth) {
      if (depth == kMost) {
        fail("functions call each other deeper than " + std::to_string(kMost) + " levels");
      }
      std::vector<const LocalFunction*> next;
      std::sort(level.begin(), level.end());
      level.erase(std::unique(level.begin(), level.end()), level.end());
      for (const LocalFunction* function : level) callees(function->nodes, next);
      level = std::move(next);
    }
  }

  void check_supported() const {
    struct Missing {
      size_t count = 0;
      std::vector<std::string_view> nodes;
      Span span;
    };
    std::map<std::string, Missing> missing;
    std::unordered_set<const LocalFunction*> seen;
    std::vector<const LocalFunction*> todo;
    auto look = [&](const std::vector<Node>& nodes, const Opsets& opsets) {
      each_node(nodes, [&](const Node& node) {
        if (const LocalFunction* callee = to_.function(node)) {
          if (seen.insert(callee).second) todo.push_back(callee);
          return;
        }
        if (to_.converter(node) != nullptr) return;
        int64_t version = *opsets.version(node.domain);
        if (find_converter(node.domain, node.op_type, version) != nullptr) return;
        std::string what = op_text(node);
        if (std::optional<int64_t> since = oldest_version(node.domain, node.op_type)) {
          what += " of opset " + std::to_string(version) + " (supported from " +
                  std::to_string(*since) + " on)";
        }
        Missing& entry = missing[what];
        if (entry.count++ == 0) entry.span = to_.span(node);
        if (!node.name.empty()) {
          entry.nodes.push_back(node.name);
        } else if (!node.outputs.empty()) {
          entry.nodes.push_back(node.outputs.front());
        }
      });
    };
    look(to_.graph().nodes, to_.opsets_);
    while (!todo.empty()) {
      const LocalFunction* function = todo.back();
      todo.pop_back();
      look(function->nodes, to_.function_opsets_.at(function));
    }
    if (missing.empty()) return;
    Diagnostic diagnostic = Diagnostic::error(
        to_.model_.path + ": " + std::to_string(missing.size()) +
        (missing.size() == 1 ? " operator is" : " operators are") + " not supported");
    for (const auto& [what, entry] : missing) {
      diagnostic.note(what + ": " + std::to_string(entry.count) +
                          (entry.count == 1 ? " node, " : " nodes, ") + names_text(entry.nodes),
                      entry.span);
      diagnostic.message += (&entry == &missing.begin()->second ? ": " : ", ") + what;
    }
    throw Error(std::move(diagnostic));
  }

  CheckedModel& to_;
  std::unordered_map<const Graph*, std::unordered_set<std::string_view>> free_names_;
};

CheckedModel::CheckedModel(Model model, std::optional<int64_t> opset,
                           const OnnxConverters& converters)
    : model_(std::move(model)), converters_(converters) {
  Checker(*this).run(opset);
}

const OnnxConverter* CheckedModel::converter(const Node& node) const {
  if (converters_.empty()) return nullptr;
  const std::string name(node.op_type);
  auto found = converters_.find(std::string(node.domain) + "::" + name);
  if (found == converters_.end() && node.domain.empty())
    found = converters_.find("ai.onnx::" + name);
  if (found == converters_.end()) found = converters_.find(node.op_type);
  return found == converters_.end() ? nullptr : &found->second;
}

const LocalFunction* CheckedModel::function(const Node& node) const {
  if (functions_.empty() || converter(node) != nullptr) return nullptr;
  auto found = functions_.find(function_key(node.domain, node.op_type, node.overload));
  if (found == functions_.end()) return nullptr;
  // Models may carry the definitions of standard operators along.
  bool standard = node.domain.empty() && oldest_version("", node.op_type).has_value();
  return standard ? nullptr : found->second;
}

bool CheckedModel::uses(std::string_view op_type) const {
  return std::any_of(orders_.begin(), orders_.end(), [&](const auto& order) {
    return std::any_of(order.second.begin(), order.second.end(), [&](const Node* node) {
      return node->op_type == op_type && plain_domain(node->domain).empty();
    });
  });
}

Span CheckedModel::span(const Node& node) const {
  auto found = lines_.find(&node);
  if (found == lines_.end()) return {};
  return listing_->span(found->second.first, found->second.second);
}

}  // namespace relay::onnx
