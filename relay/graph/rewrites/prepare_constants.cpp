// Computes the parts of nodes that depend on constants alone once, when the program is compiled:
// stages, and parts of expressions.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <relay/graph/rewrite.h>
#include <relay/graph/unread.h>
#include <relay/graph/work_answers.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/rewrite.h>
#include <relay/tensor_expr/stage_copier.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

using te::Axis;
using te::Computation;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

/// A constant may become larger by a part of those that it is made from, or by so many bytes: a
/// padded weight stays within that, a broadcast one does not.
constexpr double kGrowth = 1.5;
constexpr double kSlack = 1 << 10;
/// Points that are visited to compute one. Mere copies may be larger.
constexpr double kMaxPoints = 1 << 24;

std::optional<double> points(std::span<const Axis> axes) {
  double count = 1;
  for (const Axis& axis : axes) {
    if (!axis.extent.is_int() || axis.extent.as_int() <= 0) return std::nullopt;
    count *= static_cast<double>(axis.extent.as_int());
  }
  return count;
}

/// A work without the parts that it computes from constants.
struct Prepared {
  struct Part {
    Computation computation;
    std::vector<size_t> inputs;  // of the old work
  };
  std::vector<Part> parts;   // the last inputs of the new work, in order
  WorkRef work;              // null if there is nothing to prepare
  std::vector<size_t> kept;  // inputs of the old work, the first of the new one
};

/// Takes one work apart.
class Splitter {
 public:
  Splitter(const Work& work, const std::vector<bool>& constant)
      : work_(work), c_(work.computation()), constant_(constant), copier_(c_) {}

  /// The part that makes each output if all depend on constants alone; else nothing.
  std::vector<Prepared::Part> outputs() {
    for (const te::Stage& stage : c_.stages) {
      Known known;
      known.stage = is_known(stage);
      known_.push_back(known);
    }
    std::vector<Prepared::Part> parts;
    for (const te::Output& output : c_.outputs) {
      if (output.tensor.is_input() || !is_known(output.tensor)) return {};
      parts.push_back(part_of(c_, output.tensor));
    }
    return parts;
  }

  Prepared run() {
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      known_.emplace_back();
      if (is_known(c_.stages[s])) {
        known_.back().stage = true;
        // Its readers decide if it is prepared.
        copier_.place(copier_.renamed(c_.stages[s]));
      } else {
        copier_.place(copier_.renamed(with_parts(c_.stages[s])));
      }
    }
    if (result_.parts.empty()) return {};
    auto work = std::make_shared<Work>(work_);
    work->group.computation = copier_.finish();
    Computation& computation = work->group.computation;
    for (const Prepared::Part& part : result_.parts)
      computation.inputs.push_back(part.computation.info(part.computation.outputs[0].tensor));
    std::vector<bool> wanted(computation.inputs.size(), true);
    for (size_t i = 0; i < constant_.size(); ++i) wanted[i] = !constant_[i];
    for (const Work::Element& element : work->elements) wanted[element.input] = true;
    for (size_t old : drop_unread(computation, wanted)) {
      if (old < constant_.size()) result_.kept.push_back(old);
    }
    renumber_elements(*work, result_.kept);
    result_.work = std::move(work);
    return std::move(result_);
  }

 private:
  /// Facts about a node of an expression.
  struct Fact {
    bool constant = true;   // depends on constants alone, and cannot fail
    bool reads = false;     // loads an element of one
    bool computes = false;  // does arithmetic on what was loaded
    bool folds = false;
    bool unconditional = false;  // evaluated wherever its stage is
  };
  struct Known {
    bool stage = false;             // its tensors depend on constants alone
    std::optional<TensorId> input;  // … and the first is this new input
  };

  bool is_known(TensorId id) const {
    return id.is_input() ? constant_[static_cast<size_t>(id.index)]
                         : known_[static_cast<size_t>(id.stage)].stage;
  }

  /// True if a stage as a whole can be computed before: from constants, with one output that is not
  /// much larger than they are.
  bool is_known(const te::Stage& stage) const {
    std::vector<TensorId> reads = te::stage_reads(stage);
    bool fits = !reads.empty() && stage.outputs.size() == 1 &&
                (std::holds_alternative<te::Map>(stage.body) ||
                 std::holds_alternative<te::View>(stage.body));
    for (TensorId id : reads) fits = fits && is_known(id);
    if (!fits) return false;
    for (Dim dim : stage.outputs[0].dims) fits &= dim.is_int();
    std::vector<ScalarRef> roots = te::stage_roots(stage);
    double visited = points(te::stage_axes(stage)).value_or(kMaxPoints + 1);
    for (const ScalarNode* node : te::post_order(roots)) {
      fits &= !te::can_fail(*node) && node->kind != ScalarKind::kVar &&
              (node->kind != ScalarKind::kFromDim || node->dim.is_int());
      if (node->kind == ScalarKind::kFold) visited *= points(node->axes).value_or(kMaxPoints + 1);
    }
    if (std::holds_alternative<te::Map>(stage.body)) fits &= visited <= kMaxPoints;
    return fits && bytes_of(stage.outputs[0]) <= allowed(inputs_of(reads));
  }

  /// Inputs of the work that tensors depend on.
  std::vector<size_t> inputs_of(std::vector<TensorId> reads) const {
    std::vector<size_t> inputs;
    std::unordered_set<int32_t> seen;
    while (!reads.empty()) {
      TensorId id = reads.back();
      reads.pop_back();
      if (id.is_input()) {
        auto input = static_cast<size_t>(id.index);
        if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
      } else if (seen.insert(id.stage).second) {
        for (TensorId next : te::stage_reads(c_.stages[static_cast<size_t>(id.stage)]))
          reads.push_back(next);
      }
    }
    std::sort(inputs.begin(), inputs.end());
    return inputs;
  }

  double allowed(const std::vector<size_t>& inputs) const {
    double bytes = 0;
    for (size_t input : inputs) bytes += bytes_of(c_.inputs[input]);
    return std::max(kGrowth * bytes, bytes + kSlack);
  }

  std::unordered_map<const ScalarNode*, Fact> facts_of(std::span<const ScalarRef> roots,
                                                       std::span<const Axis> axes) const {
    std::unordered_map<const ScalarNode*, Fact> facts;
    std::vector<const ScalarNode*> nodes = te::post_order(roots);
    for (const ScalarNode* node : nodes) {
      Fact fact;
      for (const ScalarRef& arg : node->args) {
        const Fact& of = facts.at(arg.get());
        fact.constant &= of.constant;
        fact.reads |= of.reads;
        fact.computes |= of.computes;
        fact.folds |= of.folds;
      }
      if (node->kind == ScalarKind::kLoad) {
        fact.constant &= is_known(node->tensor);
        fact.reads = true;
      } else if (node->kind == ScalarKind::kVar) {
        fact.constant = false;
      } else if (node->kind == ScalarKind::kFromDim) {
        fact.constant &= node->dim.is_int();
      } else if (node->kind == ScalarKind::kFold) {
        fact.constant &= points(node->axes).has_value();
        fact.folds = true;
      }
      fact.constant &= !te::can_fail(*node);
      fact.computes |= fact.reads && node->kind != ScalarKind::kLoad;
      facts.emplace(node, fact);
    }
    if (!points(axes)) return facts;
    std::vector<const ScalarNode*> reached;
    auto reach = [&](const ScalarRef& node) {
      Fact& fact = facts.at(node.get());
      if (!fact.unconditional) reached.push_back(node.get());
      fact.unconditional = true;
    };
    for (const ScalarRef& root : roots) reach(root);
    while (!reached.empty()) {
      const ScalarNode* node = reached.back();
      reached.pop_back();
      if (node->kind == ScalarKind::kSelect) {
        reach(node->args[0]);
      } else if (node->kind == ScalarKind::kFold &&
                 (node->args.size() > te::num_accumulators(*node) || !points(node->axes))) {
        if (node->args.size() > te::num_accumulators(*node)) reach(node->args.back());
      } else {
        for (const ScalarRef& arg : node->args) reach(arg);
      }
    }
    return facts;
  }

  /// The stage with its prepared parts as inputs.
  te::Stage with_parts(const te::Stage& old) {
    te::Stage stage = old;
    std::vector<ScalarRef> roots = te::stage_roots(stage);
    if (roots.empty()) return stage;
    auto facts = facts_of(roots, te::stage_axes(stage));
    std::unordered_map<uint32_t, Dim> extents;
    for (const Axis& axis : te::stage_axes(stage)) extents[axis.id] = axis.extent;
    for (const ScalarNode* node : te::post_order(roots)) {
      for (const Axis& axis : node->axes) extents[axis.id] = axis.extent;
    }
    // From the roots down: the first that can be prepared stands for all below it.
    std::unordered_map<const ScalarNode*, ScalarRef> replaced;
    std::unordered_set<const ScalarNode*> seen;
    std::vector<ScalarRef> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
      ScalarRef node = std::move(stack.back());
      stack.pop_back();
      if (!seen.insert(node.get()).second) continue;
      const Fact& fact = facts.at(node.get());
      if (fact.constant && fact.reads) {
        if (ScalarRef with = prepared(node, fact, te::stage_axes(stage), extents)) {
          replaced.emplace(node.get(), std::move(with));
          continue;
        }
      }
      // One of several accumulators of a fold is not a value of its own.
      const ScalarRef& below = node->kind == ScalarKind::kGet ? node->args[0] : node;
      for (size_t i = below->args.size(); i-- > 0;) stack.push_back(below->args[i]);
    }
    if (replaced.empty()) return stage;
    te::ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      auto found = replaced.find(node.get());
      return found == replaced.end() ? ScalarRef() : found->second;
    });
    te::rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite(root); });
    return stage;
  }

  /// The axes of a plain load, in the order of its dimensions: each index is another axis or a
  /// number.
  static std::optional<std::vector<uint32_t>> plain_axes(const ScalarNode& load) {
    std::vector<uint32_t> axes;
    for (const ScalarRef& index : load.args) {
      if (index->kind == ScalarKind::kConst) continue;
      if (index->kind != ScalarKind::kIndex ||
          std::find(axes.begin(), axes.end(), index->axis) != axes.end())
        return std::nullopt;
      axes.push_back(index->axis);
    }
    return axes;
  }

  /// True for an integer in memory that is read as one of more bits. The factors of sums stay so:
  /// kernels choose their arithmetic by the bits that are stored.
  static bool is_wider_load(const ScalarNode& node) {
    const ScalarNode* load = &node;
    while (load->kind == ScalarKind::kCast && load->dtype.is_integer()) load = load->args[0].get();
    return load != &node && load->kind == ScalarKind::kLoad && load->dtype.is_integer() &&
           load->dtype.bits < node.dtype.bits;
  }

  /// The replacement of a constant expression; null if it stays. New inputs keep their names when
  /// the stage is renamed.
  ScalarRef prepared(const ScalarRef& node, const Fact& fact, std::span<const Axis> domain,
                     const std::unordered_map<uint32_t, Dim>& extents) {
    if (node->kind == ScalarKind::kLoad) {
      if (ScalarRef load = of_stage(node)) return load;
    }
    std::vector<const ScalarNode*> nodes = te::post_order(std::span(&node, 1));
    std::vector<uint32_t> free = te::free_sets(nodes, te::number_nodes(nodes)).back();
    if (free.empty() && !fact.folds) return {};
    if (is_wider_load(*node) && !within(free, domain)) return {};
    std::vector<uint32_t> order = axis_order(nodes, free, domain);
    if (node->kind == ScalarKind::kLoad && !fact.computes && node->bounds == te::Bounds::kProven) {
      std::optional<std::vector<uint32_t>> plain = plain_axes(*node);
      if (plain && (*plain == order || !within(*plain, domain))) return {};
    }
    auto extent_of = [&](uint32_t axis) { return extents.at(axis); };
    std::vector<Axis> axes;
    for (uint32_t id : order) axes.push_back({id, extents.at(id)});
    std::optional<double> visited = points(axes);
    if (!visited) return {};
    te::TensorInfo info{{}, node->dtype};
    for (const Axis& axis : axes) info.dims.push_back(axis.extent);
    std::vector<TensorId> reads;
    bool copies = node->kind == ScalarKind::kLoad;
    for (const ScalarNode* inner : nodes) {
      if (inner->kind == ScalarKind::kFold) *visited *= points(inner->axes).value_or(0);
      if (inner->kind != ScalarKind::kLoad) continue;
      reads.push_back(inner->tensor);
      copies &= inner == node.get();
      // An element that is read only under a condition need not be inside elsewhere.
      if (fact.unconditional || inner->bounds != te::Bounds::kProven) continue;
      for (size_t d = 0; d < inner->args.size(); ++d) {
        if (!te::surely_inside(te::affine(inner->args[d]), c_.info(inner->tensor).dims[d],
                               extent_of))
          return {};
      }
    }
    if (!copies && *visited > kMaxPoints) return {};
    if (bytes_of(info) > allowed(inputs_of(reads))) return {};
    te::Map map{axes, {node}};
    te::Stage stage{std::move(map), {std::move(info)}};
    TensorId input = add_part(std::move(stage));
    std::vector<te::Scalar> at;
    for (const Axis& axis : axes) at.push_back(te::index_of(axis));
    return load_of(input, node->dtype, at);
  }

  /// A load of a stage that is known, of its prepared tensor.
  ScalarRef of_stage(const ScalarRef& load) {
    if (load->tensor.is_input()) return {};
    Known& known = known_[static_cast<size_t>(load->tensor.stage)];
    if (!known.input) known.input = add_part(load->tensor);
    Ref<ScalarNode> copy = te::copy_node(*load);
    copy->tensor = *known.input;
    return copy;
  }

  static ScalarRef load_of(TensorId tensor, DType dtype, const std::vector<te::Scalar>& at) {
    auto load = te::new_node(ScalarKind::kLoad, dtype);
    load->bounds = te::Bounds::kProven;
    load->tensor = tensor;
    for (const te::Scalar& index : at) load->args.push_back(index.ref());
    return load;
  }

  static bool within(const std::vector<uint32_t>& axes, std::span<const Axis> domain) {
    return std::all_of(axes.begin(), axes.end(), [&](uint32_t id) {
      return std::any_of(domain.begin(), domain.end(),
                         [&](const Axis& axis) { return axis.id == id; });
    });
  }

  /// The order of a prepared tensor's dimensions. Points of the stage read it in their own order;
  /// what folds read stays in the order in which it was.
  static std::vector<uint32_t> axis_order(const std::vector<const ScalarNode*>& nodes,
                                          const std::vector<uint32_t>& free,
                                          std::span<const Axis> domain) {
    std::vector<uint32_t> order;
    auto add = [&](uint32_t id) {
      if (std::find(free.begin(), free.end(), id) != free.end() &&
          std::find(order.begin(), order.end(), id) == order.end())
        order.push_back(id);
    };
    if (within(free, domain)) {
      for (const Axis& axis : domain) add(axis.id);
      return order;
    }
    const ScalarNode* largest = nullptr;
    for (const ScalarNode* node : nodes) {
      if (node->kind == ScalarKind::kLoad &&
          (largest == nullptr || node->args.size() > largest->args.size()))
        largest = node;
    }
    for (const ScalarNode* node : te::post_order(largest->args)) {
      if (node->kind == ScalarKind::kIndex) add(node->axis);
    }
    for (uint32_t id : free) add(id);
    return order;
  }

  /// Adds a part: a stage behind those that it reads, and its output.
  TensorId add_part(te::Stage stage) {
    Computation part = c_;
    part.stages.push_back(std::move(stage));
    return finish_part(std::move(part), {static_cast<int32_t>(c_.stages.size()), 0});
  }
  /// A part whose output is a tensor of the work.
  TensorId add_part(TensorId tensor) { return finish_part(c_, tensor); }

  static Prepared::Part part_of(Computation computation, TensorId output) {
    computation.outputs = {{output, computation.info(output).dims}};
    Prepared::Part made;
    made.inputs = drop_unread(computation, std::vector<bool>(computation.inputs.size()));
    made.computation = std::move(computation);
    return made;
  }

  TensorId finish_part(Computation part, TensorId output) {
    Prepared::Part made = part_of(std::move(part), output);
    auto name = [&](size_t k) { return TensorId{-1, static_cast<int32_t>(c_.inputs.size() + k)}; };
    auto [known, added] =
        part_of_.try_emplace({made.computation.str(), made.inputs}, result_.parts.size());
    if (added) result_.parts.push_back(std::move(made));
    return name(known->second);
  }

  const Work& work_;
  const Computation& c_;
  const std::vector<bool>& constant_;
  te::StageCopier copier_;
  std::vector<Known> known_;                                               // of each stage
  std::map<std::pair<std::string, std::vector<size_t>>, size_t> part_of_;  // equal ones once
  Prepared result_;
};

/// Nodes that depend on constants alone become constants.
class Folder {
 public:
  explicit Folder(Rewriting& program) : program_(program) {}

  bool run() {
    bool changed = false;
    for (Graph& graph : program_.graphs()) {
      changed |=
          std::erase_if(graph.nodes, [&](const Node& node) { return fold(graph, node); }) > 0;
    }
    return changed;
  }

 private:
  bool fold(Graph& graph, const Node& node) {
    if (node.inputs.empty() || !node.work->group.checks.empty()) return false;
    for (uint32_t input : node.inputs) {
      if (graph.tensors[input].constant == nullptr) return false;
    }
    std::vector<bool> mask(node.inputs.size(), true);
    std::vector<Prepared::Part> parts = Splitter(*node.work, mask).outputs();
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<ConstantRef> from;
      for (size_t input : parts[i].inputs)
        from.push_back(graph.tensors[node.inputs[input]].constant);
      Tensor& tensor = graph.tensors[node.outputs[i]];
      tensor.kind = Tensor::Kind::kConstant;
      tensor.constant = program_.computed(parts[i].computation, std::move(from), tensor.device);
    }
    return !parts.empty();
  }

  Rewriting& program_;
};

class Preparer {
 public:
  explicit Preparer(Rewriting& program) : program_(program), readers_(program) {}

  bool run() {
    look_at_works();
    bool changed = false;
    for (Graph& graph : program_.graphs()) {
      for (Node& node : graph.nodes) changed |= prepare(graph, node);
    }
    return changed;
  }

 private:
  void look_at_works() {
    for (const Graph& graph : program_.graphs()) {
      for (const Node& node : graph.nodes)
        answers_.ask(node.work, readers_.replaceable(graph, node));
    }
    answers_.find(program_.options().threads,
                  [](const WorkRef& work, const auto& mask) { return split(*work, mask); });
  }

  bool prepare(Graph& graph, Node& node) {
    std::vector<bool> mask = readers_.replaceable(graph, node);
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return false;
    const Prepared& prepared = answers_.of(
        node.work, mask, [](const WorkRef& work, const auto& of) { return split(*work, of); });
    if (prepared.work == nullptr) return false;
    std::vector<uint32_t> inputs;
    for (size_t old : prepared.kept) inputs.push_back(node.inputs[old]);
    for (const Prepared::Part& part : prepared.parts) {
      std::vector<ConstantRef> from;
      for (size_t input : part.inputs) from.push_back(graph.tensors[node.inputs[input]].constant);
      Device device = graph.tensors[node.inputs[part.inputs[0]]].device;
      ConstantRef made = program_.computed(part.computation, std::move(from), device);
      inputs.push_back(Rewriting::tensor_of(
          graph, made, part.computation.info(part.computation.outputs[0].tensor), device));
    }
    node.work = prepared.work;
    node.inputs = std::move(inputs);
    return true;
  }

  /// A constant that the work also reads as it is stays as it is altogether.
  static Prepared split(const Work& work, std::vector<bool> mask) {
    while (true) {
      Prepared prepared = Splitter(work, mask).run();
      bool again = false;
      for (size_t input : prepared.kept) {
        bool used = std::any_of(
            prepared.parts.begin(), prepared.parts.end(), [&](const Prepared::Part& part) {
              return std::find(part.inputs.begin(), part.inputs.end(), input) != part.inputs.end();
            });
        again |= used;
        if (used) mask[input] = false;
      }
      if (!again) return prepared;
    }
  }

  Rewriting& program_;
  ConstantReaders readers_;
  WorkAnswers<Prepared> answers_;
};

}  // namespace

bool prepare_constants(Rewriting& program) {
  bool folded = Folder(program).run();
  return Preparer(program).run() || folded;
}

}  // namespace relay::graph
