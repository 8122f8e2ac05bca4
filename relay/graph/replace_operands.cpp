#include <relay/graph/replace_operands.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/graph/unread.h>
#include <relay/graph/work_answers.h>

namespace relay::graph {
namespace {

/// A work whose inputs of a mask are read in other forms.
struct Replaced {
  struct Operand {
    size_t input;  // of the old work
    te::Computation form;
    Shortcut shortcut;
  };
  std::vector<Operand> operands;  // the last inputs of the new one, in order
  WorkRef work;
  std::vector<size_t> kept;  // inputs of the old work, the first of the new one
};

class Replacer {
 public:
  Replacer(Rewriting& program, const FormOf& form_of)
      : program_(program), form_of_(form_of), readers_(program) {}

  bool run() {
    look_at_works();
    find_agreed();
    bool changed = false;
    for (Graph& graph : program_.graphs()) {
      for (Node& node : graph.nodes) changed |= replace(graph, node);
    }
    return changed;
  }

 private:
  /// Most questions are known from the start.
  void look_at_works() {
    for (const Graph& graph : program_.graphs()) {
      for (const Node& node : graph.nodes) {
        answers_.ask(node.work, readers_.replaceable(graph, node));
        answers_.ask(node.work, readers_.replaceable(graph, node, /*shared=*/true));
      }
    }
    answers_.find(program_.options().threads,
                  [&](const WorkRef& work, const auto& mask) { return replace_in(work, mask); });
  }

  /// The form that the readers of a constant would have instead.
  struct Wish {
    ConstantReaders::Readers readers;
    std::string form;
    bool same = true;
  };

  /// Constants that several works read and all would read in one other form.
  void find_agreed() {
    std::unordered_map<const Constant*, Wish> wishes;
    for (const Graph& graph : program_.graphs()) {
      for (const Node& node : graph.nodes) {
        const std::vector<bool> all = readers_.replaceable(graph, node, /*shared=*/true);
        const std::vector<bool> own = readers_.replaceable(graph, node);
        if (all == own) continue;
        for (const Replaced::Operand& operand : replaced(node.work, all).operands) {
          if (own[operand.input]) continue;
          Wish& wish = wishes[graph.tensors[node.inputs[operand.input]].constant.get()];
          std::string form = operand.form.str();
          if (wish.readers.empty()) wish.form = form;
          wish.same &= wish.form == form;
          wish.readers.emplace(node.work.get(), operand.input);
        }
      }
    }
    for (const auto& [constant, wish] : wishes) {
      if (wish.same && wish.readers == readers_.of(*constant)) agreed_.insert(constant);
    }
  }

  const Replaced& replaced(const WorkRef& work, const std::vector<bool>& mask) {
    return answers_.of(
        work, mask, [&](const WorkRef& of, const auto& inputs) { return replace_in(of, inputs); });
  }

  bool replace(Graph& graph, Node& node) {
    std::vector<bool> mask = readers_.replaceable(graph, node);
    for (size_t i = 0; i < mask.size(); ++i)
      mask[i] = mask[i] || agreed_.contains(graph.tensors[node.inputs[i]].constant.get());
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return false;
    const Replaced& replaced = this->replaced(node.work, mask);
    if (replaced.operands.empty()) return false;
    std::vector<uint32_t> inputs;
    for (size_t old : replaced.kept) inputs.push_back(node.inputs[old]);
    for (const Replaced::Operand& operand : replaced.operands) {
      const Tensor& from = graph.tensors[node.inputs[operand.input]];
      Device device = from.device;
      ConstantRef made = program_.computed(operand.form, {from.constant}, device, operand.shortcut);
      te::TensorInfo info = operand.form.info(operand.form.outputs[0].tensor);
      inputs.push_back(Rewriting::tensor_of(graph, made, std::move(info), device));
    }
    node.work = replaced.work;
    node.inputs = std::move(inputs);
    return true;
  }

  /// True if all sizes are known: a work may leave open what its nodes know.
  static bool is_known(const te::Computation& form) {
    const te::Output& made = form.outputs[0];
    auto known = [](const std::vector<Dim>& dims) {
      return std::all_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_int(); });
    };
    return known(form.inputs[0].dims) && known(form.info(made.tensor).dims);
  }

  static int64_t elements_of(const te::TensorInfo& info) { return product(info.dims).as_int(); }

  /// An operand may be read in several forms, as long as these are parts of it.
  Replaced replace_in(const WorkRef& work, const std::vector<bool>& mask) const {
    Replaced result;
    auto changed = std::make_shared<Work>(*work);
    te::Computation& computation = changed->group.computation;
    std::vector<bool> left = mask;
    std::vector<int64_t> made(mask.size(), 0);  // elements of each operand's forms
    while (true) {
      std::optional<ReplacedOperand> next =
          form_of_(*changed, [&](size_t input) { return input < left.size() && left[input]; });
      if (!next || !is_known(next->form)) break;
      made[next->input] += elements_of(next->form.info(next->form.outputs[0].tensor));
      left[next->input] = made[next->input] < elements_of(next->form.inputs[0]);
      result.operands.push_back({next->input, std::move(next->form), std::move(next->shortcut)});
      computation = std::move(next->computation);
      changed->prepared = next->prepared;
    }
    if (result.operands.empty()) return result;
    std::vector<bool> wanted(computation.inputs.size());
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = i >= mask.size() || !mask[i];
    for (const Work::Element& element : work->elements) wanted[element.input] = true;
    for (size_t old : drop_unread(computation, wanted)) {
      if (old < mask.size()) result.kept.push_back(old);
    }
    renumber_elements(*changed, result.kept);
    result.work = std::move(changed);
    return result;
  }

  Rewriting& program_;
  const FormOf& form_of_;
  ConstantReaders readers_;
  std::unordered_set<const Constant*> agreed_;
  WorkAnswers<Replaced> answers_;
};

}  // namespace

bool replace_operands(Rewriting& program, const FormOf& form_of) {
  return form_of && Replacer(program, form_of).run();
}

}  // namespace relay::graph
