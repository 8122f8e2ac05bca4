#include <algorithm>
#include <cctype>

#include <relay/lsp/features.h>
#include <relay/lsp/meaning.h>
#include <relay/lsp/operator_text.h>

namespace relay::lsp {
namespace {

// Numbers of the protocol.
enum ItemKind : int {
  kFunction = 3,
  kVariable = 6,
  kClass = 7,
  kProperty = 10,
  kKeyword = 14,
  kConstructor = 20,
  kOperator = 24,
  kStruct = 22
};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

class Completion {
 public:
  Completion(const View& view, size_t offset) : view_(view), offset_(offset) {
    const std::string& text = view.analysis.text();
    begin_ = offset;
    while (begin_ > 0 && is_name_char(text[begin_ - 1])) --begin_;
    prefix_ = lower(std::string_view(text).substr(begin_, offset - begin_));
    if (begin_ > 0 && (text[begin_ - 1] == '%' || text[begin_ - 1] == '@')) sigil_ = text[--begin_];
    replaced_ = to_json(view.range(begin_, offset));
  }

  json run() {
    const Placed& placed = view_.analysis.chunks()[view_.analysis.chunk_at(offset_)];
    const Chunk& chunk = *placed.chunk;
    const size_t at = offset_ - placed.begin;
    if (sigil_ != '@') locals(chunk, at);
    if (sigil_ != '%') globals();
    if (sigil_ == 0) {
      attributes(chunk, at);
      operators();
      words();
    }
    return {{"isIncomplete", false}, {"items", std::move(items_)}};
  }

 private:
  // `rank`: nearer ones first.
  void add(const std::string& label, ItemKind kind, char rank, const std::string& detail = {},
           const std::string& inserted = {}) {
    const std::string low = lower(label);
    const bool begins = low.substr(sigil_ == 0 || low[0] != sigil_ ? 0 : 1).starts_with(prefix_);
    if (!begins && low.find(prefix_) == low.npos) return;
    json item{
        {"label", label},
        {"kind", kind},
        {"sortText", std::string(1, begins ? rank : static_cast<char>(rank + 8)) + label},
        {"filterText", label},
        {"textEdit", {{"range", replaced_}, {"newText", inserted.empty() ? label : inserted}}}};
    if (!detail.empty()) item["detail"] = detail;
    items_.push_back(std::move(item));
  }

  void locals(const Chunk& chunk, size_t at) {
    if (prefix_.empty() && sigil_ == 0) return;
    size_t token = 0;
    while (token + 1 < chunk.syntax.tokens.size() &&
           chunk.syntax.tokens[token].begin < begin_of(at))
      ++token;
    const std::vector<TypedPlace> places = typed_places(view_.analysis, &chunk);
    for (const Binder* binder : chunk.names.visible(token)) {
      if (chunk.syntax.tokens[binder->token].begin == begin_of(at)) continue;
      const Type* type = type_of(places, chunk, *binder);
      add("%" + binder->name, kVariable, 'a', type == nullptr ? "" : type->str());
    }
  }
  size_t begin_of(size_t at) const { return at - (offset_ - begin_); }

  void globals() {
    if (prefix_.empty() && sigil_ == 0) return;
    for (const Placed& placed : view_.analysis.chunks()) {
      for (const GlobalUse& use : placed.chunk->names.globals) {
        if (!use.defines) continue;
        const Function* function = view_.analysis.module().function(Name(use.name));
        const bool typed = function != nullptr && function->type() != nullptr && items_.size() < 50;
        add("@" + use.name, kFunction, 'b', typed ? function->type()->str() : "");
      }
    }
  }

  void attributes(const Chunk& chunk, size_t at) {
    const Operator* op = operator_around(chunk, at);
    if (op == nullptr || op->attrs_schema() == nullptr) return;
    const AttrsSchema& schema = *op->attrs_schema();
    for (const AttrField& field : schema.fields)
      add(field.name.str(), kProperty, 'a', field.type_text(), field.name.str() + "=");
  }

  void operators() {
    for (const Operator* op : all_ops()) add(op->name().str(), kOperator, 'd', op->doc());
  }

  void words() {
    for (const Placed& placed : view_.analysis.chunks()) {
      for (const TypeWord& word : placed.chunk->names.words)
        add(word.name, word.constructor ? kConstructor : kClass, 'c', word.owner);
    }
    for (const TypeDataRef& data : view_.analysis.module().types()) {
      if (find_word(view_.analysis, data->name()->name().str()) != nullptr) continue;
      add(data->name()->name().str(), kClass, 'c');
      for (const ConstructorRef& made : data->constructors())
        add(made->name().str(), kConstructor, 'c', data->name()->name().str());
    }
    for (const char* word : {"def", "let", "fn", "if", "else", "match", "type", "import", "True",
                             "False", "Tensor", "where"})
      add(word, kKeyword, 'e');
    for (const char* word : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                             "uint64", "float16", "bfloat16", "float32", "float64"})
      add(word, kStruct, 'e');
  }

  const View& view_;
  size_t offset_;
  size_t begin_ = 0;  // of what is replaced
  char sigil_ = 0;
  std::string prefix_;
  json replaced_;
  json items_ = json::array();
};

}  // namespace

json completion(const View& view, size_t offset) { return Completion(view, offset).run(); }

}  // namespace relay::lsp
