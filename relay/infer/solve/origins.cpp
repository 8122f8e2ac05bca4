// Where the arguments of an operator that refuses them come from.
#include <algorithm>

#include <relay/infer/messages.h>
#include <relay/infer/solve/constraints.h>

namespace relay::inference {

namespace {

// True if the text says the type right behind a name, on the same page as its use.
bool shows_type(Span name, Span use) {
  constexpr uint32_t kPage = 20;  // lines
  std::shared_ptr<const Source> source = SourceMap::find(name);
  if (source == nullptr) return true;
  std::string_view text = source->text();
  size_t at = name.end() - source->base();
  while (at < text.size() && text[at] == ' ') ++at;
  const bool annotated = at < text.size() && text[at] == ':';
  const Location there = SourceMap::locate(name);
  const Location here = SourceMap::locate(use);
  return annotated && there.file == here.file && here.line < there.line + kPage;
}

bool inside(Span inner, Span outer) {
  return inner.begin() >= outer.begin() && inner.end() <= outer.end();
}

// An argument as the text has it, to be projected from; empty if its place is not known.
std::string argument_text(const Constraint& c, size_t i) {
  const Expr* arg = c.call->args()[i].get();
  if (arg->is<Var>()) return source_text(arg);
  const Span place = place_of(c.call, i + 1);
  if (place == c.span) return {};
  std::string text = source_text(place);
  const bool closed = text.empty() || text.back() == ')' || text.find(' ') == std::string::npos;
  return closed ? text : "(" + text + ")";
}

}  // namespace

// An argument that is a name or a node of the graph has its type from elsewhere: notes say where.
void Constraints::note_origins(const Constraint& c, Diagnostic& diagnostic) {
  if (c.op == nullptr || c.call == nullptr || c.instance || !c.span.known()) return;
  const size_t count = std::min(c.call->args().size(), c.args.size() - 1);
  std::vector<const Expr*> seen;
  for (size_t i = 0; i < count; ++i) {
    const Expr* arg = c.call->args()[i].get();
    const Span origin = arg->span();
    if (!origin.known() || std::find(seen.begin(), seen.end(), arg) != seen.end()) continue;
    if (arg->is<Var>() ? shows_type(origin, c.span) : inside(origin, c.span)) continue;
    seen.push_back(arg);
    std::string name = arg->is<Var>() ? source_text(arg) : source_text(place_of(c.call, i + 1));
    if (name.empty()) name = "argument " + std::to_string(i + 1);
    diagnostic.note(name + " is " + display_named(solver_, c.args[i]), origin);
  }
}

// A tuple or a function where a tensor is needed.
void Constraints::note_roles(const Constraint& c, Diagnostic& diagnostic) {
  if (c.op == nullptr || c.call == nullptr || c.instance) return;
  const size_t count = std::min({c.call->args().size(), c.args.size() - 1, c.op->num_inputs()});
  for (size_t i = 0; i < count; ++i) {
    if (!c.op->inputs()[i].spec.is_tensor()) continue;
    TypeRef type = solver_.resolve(c.args[i]);
    const auto* tuple = type->as<TupleType>();
    const bool first = tuple != nullptr && !tuple->fields().empty() &&
                       solver_.resolve(tuple->fields()[0])->is<TensorType>();
    if (first) {
      std::string text = argument_text(c, i);
      diagnostic.help(text.empty() ? "the value is a tuple: .0 is its first field"
                                   : "the value is a tuple: " + text + ".0 is its first field");
      return;
    }
    if (type->is<RefType>()) {
      std::string text = argument_text(c, i);
      diagnostic.help("ref_read(" + (text.empty() ? "…" : text) + ") is what a reference holds");
      return;
    }
    if (type->is<FuncType>()) {
      const bool compares = c.relation->form == Relation::Form::kCompare;
      diagnostic.help(compares ? "functions cannot be compared"
                               : "the value is a function: call it to get a tensor");
      return;
    }
  }
}

}  // namespace relay::inference
