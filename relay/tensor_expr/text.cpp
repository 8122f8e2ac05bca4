// Tensor expressions as text.
#include <charconv>
#include <cmath>

#include <relay/support/error.h>
#include <relay/tensor_expr/origin.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

std::string tensor_text(TensorId id, std::string_view input = "in") {
  if (id.is_input()) return std::string(input) + std::to_string(id.index);
  std::string text = "s" + std::to_string(id.stage);
  if (id.index != 0) text += "." + std::to_string(id.index);
  return text;
}

std::string constant_text(const ScalarNode& node) {
  DType dtype = node.dtype;
  if (dtype.is_bool()) return node.value.i != 0 ? "true" : "false";
  if (dtype.is_unsigned()) return std::to_string(node.value.u) + "u" + std::to_string(dtype.bits);
  if (dtype.is_signed()) {
    std::string text = std::to_string(node.value.i);
    return dtype == kInt64 ? text : text + "i" + std::to_string(dtype.bits);
  }
  std::string suffix = dtype == kFloat32    ? "f"
                       : dtype == kBFloat16 ? "bf16"
                                            : "f" + std::to_string(dtype.bits);
  if (std::isnan(node.value.f)) return "nan" + suffix;
  if (std::isinf(node.value.f)) return (node.value.f < 0 ? "-inf" : "inf") + suffix;
  char buffer[64];
  std::to_chars_result end =
      dtype == kFloat64
          ? std::to_chars(buffer, buffer + sizeof buffer, node.value.f)
          : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(node.value.f));
  return std::string(buffer, end.ptr) + suffix;
}

std::string axes_text(std::span<const Axis> axes) {
  std::string text;
  for (const Axis& axis : axes) {
    if (!text.empty()) text += ", ";
    text += "i" + std::to_string(axis.id) + " < " + axis.extent.str();
  }
  return text;
}

const char* fold_name(Combiner::Kind kind) {
  switch (kind) {
    case Combiner::Kind::kSum:
      return "sum";
    case Combiner::Kind::kProd:
      return "prod";
    case Combiner::Kind::kMax:
      return "max";
    case Combiner::Kind::kMin:
      return "min";
    case Combiner::Kind::kAnd:
      return "all";
    case Combiner::Kind::kOr:
      return "any";
    case Combiner::Kind::kCustom:
      return "fold";
  }
  return "fold";
}

/// Writes expressions; nodes with several users get names, written where first met.
class Writer {
 public:
  explicit Writer(std::span<const ScalarRef> roots) {
    for (const ScalarNode* node : post_order(roots)) {
      for (const ScalarRef& arg : node->args) count(arg.get());
    }
    for (const ScalarRef& root : roots) count(root.get());
  }

  /// From now on inputs have this name, and `origins` gets the pieces of the text; those of no
  /// operator belong to `origin`.
  void mark(std::string_view input, uint32_t origin, OriginRuns& origins) {
    input_ = input;
    origin_ = origin;
    origins_ = &origins;
  }
  void write(const ScalarNode& root) { run(&root, true); }
  void text(std::string_view more) { put(more, origin_); }
  void list(std::span<const ScalarRef> nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i > 0) text(", ");
      write(*nodes[i]);
    }
  }
  /// ` where t0 = …, t1 = …` for the nodes named so far.
  std::string finish() {
    for (size_t k = 0; k < named_.size(); ++k) {
      text((k == 0 ? " where t" : ", t") + std::to_string(k) + " = ");
      run(named_[k], false);
    }
    return std::move(out_);
  }

 private:
  struct Piece {
    const ScalarNode* node;  // or null
    std::string text;
    uint32_t origin = 0;
  };

  void put(std::string_view more, uint32_t origin) {
    out_ += more;
    if (origins_ != nullptr) origins_->add(more.size(), origin);
  }

  void count(const ScalarNode* node) {
    if (node->kind == ScalarKind::kConst || node->kind == ScalarKind::kIndex ||
        node->kind == ScalarKind::kFromDim || node->kind == ScalarKind::kVar) {
      return;
    }
    ++uses_[node];
  }

  void run(const ScalarNode* root, bool may_name) {
    std::vector<Piece> stack;
    stack.push_back({root, "", origin_});
    bool first = !may_name;
    while (!stack.empty()) {
      Piece piece = std::move(stack.back());
      stack.pop_back();
      if (piece.node == nullptr) {
        put(piece.text, piece.origin);
        continue;
      }
      const uint32_t own = piece.node->origin != 0 ? piece.node->origin : piece.origin;
      auto use = uses_.find(piece.node);
      if (!first && use != uses_.end() && use->second > 1) {
        auto [entry, added] = names_.try_emplace(piece.node, static_cast<uint32_t>(named_.size()));
        if (added) named_.push_back(piece.node);
        put("t" + std::to_string(entry->second), own);
        continue;
      }
      first = false;
      std::vector<Piece> parts = expand(*piece.node);
      for (size_t i = parts.size(); i-- > 0;) {
        parts[i].origin = own;
        stack.push_back(std::move(parts[i]));
      }
    }
  }

  static void add_args(std::vector<Piece>& parts, std::span<const ScalarRef> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (i > 0) parts.push_back({nullptr, ", "});
      parts.push_back({args[i].get(), ""});
    }
  }

  static std::vector<Piece> call(std::string name, std::span<const ScalarRef> args) {
    std::vector<Piece> parts;
    parts.push_back({nullptr, name + "("});
    add_args(parts, args);
    parts.push_back({nullptr, ")"});
    return parts;
  }

  std::vector<Piece> expand(const ScalarNode& node) const {
    auto leaf = [](std::string text) { return std::vector<Piece>{{nullptr, std::move(text)}}; };
    switch (node.kind) {
      case ScalarKind::kConst:
        return leaf(constant_text(node));
      case ScalarKind::kIndex:
        return leaf("i" + std::to_string(node.axis));
      case ScalarKind::kFromDim:
        return leaf("{" + node.dim.str() + "}");
      case ScalarKind::kVar:
        return leaf("v" + std::to_string(node.id));
      case ScalarKind::kUnary:
        return call(std::string(scalar_op(node.unary).text), node.args);
      case ScalarKind::kBinary: {
        std::string name(scalar_op(node.binary).text);
        if (std::isalpha(static_cast<unsigned char>(name[0])) != 0) return call(name, node.args);
        return {{nullptr, "("},
                {node.args[0].get(), ""},
                {nullptr, " " + name + " "},
                {node.args[1].get(), ""},
                {nullptr, ")"}};
      }
      case ScalarKind::kCast:
        return call(std::string(node.dtype.name()), node.args);
      case ScalarKind::kBitcast:
        return call("bitcast_" + std::string(node.dtype.name()), node.args);
      case ScalarKind::kLoad:
        return expand_load(node);
      case ScalarKind::kSelect:
        return call("select", node.args);
      case ScalarKind::kFail: {
        std::vector<Piece> parts = call("fail_unless", node.args);
        parts.back().text = ", \"" + node.message + "\")";
        return parts;
      }
      case ScalarKind::kFold:
        return expand_fold(node);
      case ScalarKind::kGet:
        return {{node.args[0].get(), ""}, {nullptr, "." + std::to_string(node.id)}};
    }
    return {};
  }

  std::vector<Piece> expand_load(const ScalarNode& node) const {
    std::vector<Piece> parts;
    parts.push_back({nullptr, tensor_text(node.tensor, input_) + "["});
    add_args(parts, node.args);
    switch (node.bounds) {
      case Bounds::kProven:
        break;
      case Bounds::kClamp:
        parts.push_back({nullptr, "; clamp"});
        break;
      case Bounds::kWrap:
        parts.push_back({nullptr, "; wrap"});
        break;
      case Bounds::kFill:
        parts.push_back({nullptr, "; else "});
        parts.push_back({node.fill.get(), ""});
        break;
      case Bounds::kFail:
        parts.push_back({nullptr, "; fail"});
        break;
    }
    parts.push_back({nullptr, "]"});
    return parts;
  }

  static std::vector<Piece> expand_fold(const ScalarNode& node) {
    const Combiner& combiner = *node.combiner;
    bool custom = combiner.kind == Combiner::Kind::kCustom;
    size_t values = custom ? combiner.lhs.size() : 1;
    std::vector<Piece> parts;
    parts.push_back({nullptr, std::string(fold_name(combiner.kind)) + "(" + axes_text(node.axes)});
    if (node.args.size() > values) {
      parts.push_back({nullptr, " where "});
      parts.push_back({node.args.back().get(), ""});
    }
    if (combiner.needs_element) parts.push_back({nullptr, "; not empty"});
    if (combiner.commutes) parts.push_back({nullptr, "; in any order"});
    parts.push_back({nullptr, ": "});
    add_args(parts, std::span(node.args).first(values));
    if (custom) {
      parts.push_back({nullptr, "; "});
      add_args(parts, combiner.lhs);
      parts.push_back({nullptr, " & "});
      add_args(parts, combiner.rhs);
      parts.push_back({nullptr, " -> "});
      add_args(parts, combiner.result);
      parts.push_back({nullptr, " from "});
      add_args(parts, combiner.identity);
    }
    parts.push_back({nullptr, ")"});
    return parts;
  }

  std::unordered_map<const ScalarNode*, uint32_t> uses_;
  std::unordered_map<const ScalarNode*, uint32_t> names_;
  std::vector<const ScalarNode*> named_;
  std::string out_;
  std::string_view input_ = "in";
  uint32_t origin_ = 0;
  OriginRuns* origins_ = nullptr;
};

std::string info_text(const TensorInfo& info) {
  std::string text(info.dtype.name());
  text += "[";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += info.dims[i].str();
  }
  return text + "]";
}

std::string dims_text(std::span<const Dim> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? ", " : "") + dims[i].str();
  return text + "]";
}

std::string stage_text(const Stage& stage) {
  std::vector<ScalarRef> roots = stage_roots(stage);
  Writer writer(roots);
  if (const auto* map = std::get_if<Map>(&stage.body)) {
    writer.text("map(" + axes_text(map->axes) + ") ");
    writer.list(map->values);
  } else if (const auto* scan = std::get_if<Scan>(&stage.body)) {
    writer.text("scan(" + axes_text(scan->axes) + "; along i" +
                std::to_string(scan->axes[scan->along].id));
    if (scan->reverse) writer.text(" reverse");
    if (scan->exclusive) writer.text(" exclusive");
    writer.text(") ");
    writer.list(scan->carries);
    writer.text(" from ");
    writer.list(scan->init);
    writer.text(" step ");
    writer.list(scan->step);
  } else if (const auto* update = std::get_if<Update>(&stage.body)) {
    writer.text("update(" + axes_text(update->axes) + ") " + tensor_text(update->base) + "[");
    writer.list(update->at);
    writer.text(update->bounds == Bounds::kFill ? "; else skip] " : "] ");
    writer.text(update->combiner ? fold_name(update->combiner->kind) : "=");
    writer.text(" ");
    writer.write(*update->value);
  } else if (const auto* view = std::get_if<View>(&stage.body)) {
    return "view " + tensor_text(view->source) + " offset " + view->offset.str() + " strides " +
           dims_text(view->strides);
  } else if (const auto* library = std::get_if<Library>(&stage.body)) {
    std::string text = "library " + library->kernel + "(";
    for (size_t i = 0; i < library->inputs.size(); ++i) {
      text += (i > 0 ? ", " : "") + tensor_text(library->inputs[i]);
    }
    text += ")";
    for (size_t i = 0; i < library->params.size(); ++i) {
      text += (i > 0 ? ", " : " with ") + library->params[i].str();
    }
    return text;
  }
  return writer.finish();
}

}  // namespace

std::string to_string(const ScalarNode& node) {
  ScalarRef root(&node);
  Writer writer(std::span(&root, 1));
  writer.write(node);
  return writer.finish();
}

std::string to_string(const ScalarNode& node, std::string_view input, uint32_t origin,
                      OriginRuns& origins) {
  ScalarRef root(&node);
  Writer writer(std::span(&root, 1));
  writer.mark(input, origin, origins);
  writer.write(node);
  return writer.finish();
}

std::string Computation::str() const {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += "in" + std::to_string(i) + ": " + info_text(inputs[i]) + "\n";
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    text += "s" + std::to_string(i) + ": ";
    for (size_t k = 0; k < stages[i].outputs.size(); ++k) {
      text += (k > 0 ? ", " : "") + info_text(stages[i].outputs[k]);
    }
    text += " = " + stage_text(stages[i]) + "\n";
  }
  for (const Output& output : outputs) {
    text += "out " + tensor_text(output.tensor) + (output.counted() ? " counted" : "") + "\n";
  }
  return text;
}

}  // namespace relay::te
