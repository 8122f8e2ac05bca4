// Graphs as text.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/runtime/format.h>

namespace relay::graph {
namespace {

/// Constants with more elements show no values.
constexpr int64_t kShown = 8;

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ = "graph " + graph_.name + "\n";
    for (uint32_t input : graph_.inputs) line(input, "input");
    for (size_t k = 0; k < graph_.symbols.size(); ++k) symbol(k);
    for (const Condition& check : graph_.checks)
      out_ += "check " + check.a.str() + " = " + check.b.str() + "\n";
    shown_.assign(graph_.tensors.size(), 0);
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.is(i, Tensor::Kind::kConstant))
        constants_.try_emplace(graph_.tensors[i].constant.get(), i);
    }
    for (const Node& node : graph_.nodes) {
      for (uint32_t input : node.inputs) constant(input);
      write(node);
    }
    for (uint32_t output : graph_.outputs) constant(output);
    out_ += "return " + list(graph_.outputs) + "\n";
    return std::move(out_);
  }

 private:
  static std::string name(uint32_t tensor) { return "%" + std::to_string(tensor); }

  static std::string list(const std::vector<uint32_t>& tensors) {
    std::string text = "(";
    for (size_t i = 0; i < tensors.size(); ++i) text += (i > 0 ? ", " : "") + name(tensors[i]);
    return text + ")";
  }

  std::string type(uint32_t number) const {
    const Tensor& tensor = graph_.tensors[number];
    std::string text(tensor.info.dtype.name());
    text += "[";
    for (size_t i = 0; i < tensor.info.dims.size(); ++i)
      text += (i > 0 ? ", " : "") + tensor.info.dims[i].str();
    text += "]";
    if (!(tensor.device == kCpu)) text += " on " + tensor.device.str();
    return text;
  }

  std::string place(uint32_t number) const {
    const auto& place = graph_.tensors[number].place;
    return place ? " in " + name(place->whole) + " from " + place->offset.str() : std::string();
  }

  void line(uint32_t tensor, const std::string& what) {
    out_ += name(tensor) + ": " + type(tensor) + " = " + what + "\n";
  }

  void symbol(size_t k) {
    const Symbol& symbol = graph_.symbols[k];
    out_ += graph_.symbol(k).str() + " = " + (symbol.element ? "element " : "extent ") +
            std::to_string(symbol.index) + " of " + name(symbol.tensor) + "\n";
  }

  void indented(const std::string& text) {
    size_t from = 0;
    while (from < text.size()) {
      size_t end = text.find('\n', from);
      out_ += "  " + text.substr(from, end - from) + "\n";
      from = end + 1;
    }
  }

  /// The tensors that a prepared constant is made from; none where the graph has not all of them.
  std::vector<uint32_t> sources(uint32_t number) const {
    std::vector<uint32_t> result;
    for (const ConstantRef& input : graph_.tensors[number].constant->inputs()) {
      auto found = constants_.find(input.get());
      if (found == constants_.end()) return {};
      result.push_back(found->second);
    }
    return result;
  }

  /// Writes a constant in front of its first reader, behind those that it is made from; nothing for
  /// other tensors.
  void constant(uint32_t number) {
    if (!graph_.is(number, Tensor::Kind::kConstant)) return;
    std::vector<std::pair<uint32_t, bool>> waiting{{number, false}};  // chains may be long
    while (!waiting.empty()) {
      auto [at, ready] = waiting.back();
      waiting.pop_back();
      if (ready) {
        one_constant(at);
      } else if (shown_[at]++ == 0) {
        waiting.emplace_back(at, true);
        for (uint32_t source : sources(at)) waiting.emplace_back(source, false);
      }
    }
  }

  void one_constant(uint32_t number) {
    const Constant& constant = *graph_.tensors[number].constant;
    if (constant.computation() != nullptr) {
      const std::vector<uint32_t> from = sources(number);
      line(number, from.empty() ? "prepared" : "prepared" + list(from));
      indented(constant.computation()->str());
      return;
    }
    NDArray array = constant.value().array();
    std::string text = "constant";
    if (array.is_uniform() && array.size() > 1) {
      text += " ";
      append_element(text, array.dtype(), array.element(0));
      text += " everywhere";
    } else if (array.size() <= kShown) {
      text += " ";
      append_json(text, array);
    }
    line(number, text);
  }

  void write(const Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i)
      out_ += (i > 0 ? ", " : "") + name(node.outputs[i]) + ": " + type(node.outputs[i]) +
              place(node.outputs[i]);
    out_ += (node.outputs.empty() ? "" : " = ") + node.work->name + list(node.inputs);
    for (size_t k = 0; k < node.terms.size(); ++k)
      out_ += (k == 0 ? " with " : ", ") + node.work->symbol(k).str() + " = " + node.terms[k].str();
    if (node.done_by_places) out_ += ", done by places";
    uint32_t here = node.outputs.empty() ? 0 : node.outputs[0];
    auto [known, is_new] = written_.try_emplace(node.work.get(), here);
    if (!is_new) {
      out_ += ", as " + name(known->second) + "\n";
      return;
    }
    out_ += "\n";
    for (const Work::Element& element : node.work->elements) {
      out_ += "  " + element.symbol.str() + " = element " + std::to_string(element.index) +
              " of in" + std::to_string(element.input) + "\n";
    }
    for (const Condition& check : node.work->group.checks)
      out_ += "  check " + check.a.str() + " = " + check.b.str() + "\n";
    indented(node.work->computation().str());
  }

  const Graph& graph_;
  std::string out_;
  std::unordered_map<const Work*, uint32_t> written_;
  std::unordered_map<const Constant*, uint32_t> constants_;  // where each is
  std::vector<char> shown_;                                  // constants
};

}  // namespace

std::string to_string(const Graph& graph) { return Writer(graph).run(); }

}  // namespace relay::graph
