// The meaning of a line of the listing of a model (check.cpp writes it), for errors at run time.
#include <relay/import/onnx/import.h>
#include <relay/support/span.h>

namespace relay {
namespace {

/// The quoted name that a text begins with, quotes and escapes included; empty if there is none.
std::string_view leading_name(std::string_view text) {
  if (!text.starts_with('"')) return {};
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return text.substr(0, i + 1);
    }
  }
  return {};
}

}  // namespace

// "name": "output", … = Operator("input", …)
std::string onnx_node_at(Span span) {
  std::shared_ptr<const Source> source = span.known() ? SourceMap::find(span) : nullptr;
  if (source == nullptr || (source->name() != kOnnxBytes && !is_onnx_path(source->name())))
    return "";
  std::string_view line = source->text().substr(span.begin() - source->base());
  line = line.substr(0, line.find('\n'));
  std::string_view name = leading_name(line), output;
  if (line.substr(name.size()).starts_with(": ")) {
    line.remove_prefix(name.size() + 2);
  } else {
    name = {};
  }
  while (!line.empty() && !line.starts_with(" = ")) {
    std::string_view next = leading_name(line);
    if (output.size() <= 2) output = next;  // one that is left out is ""
    line.remove_prefix(next.empty() ? 1 : next.size());
  }
  if (line.empty()) return "";
  line.remove_prefix(3);
  std::string_view op = line.substr(0, line.find('('));
  if (op.empty()) return "";
  std::string text(op);
  if (!name.empty()) return text + " " + std::string(name);
  return output.size() > 2 ? text + " of " + std::string(output) : text;
}

std::vector<Diagnostic> with_onnx_nodes(std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    std::string node = onnx_node_at(diagnostic.span);
    if (node.empty() || diagnostic.message.starts_with(node)) continue;
    diagnostic.message = node + ": " + diagnostic.message;
  }
  return diagnostics;
}

}  // namespace relay
