// The writer of program text: a document of definitions, and the layout of one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <relay/ir/effects.h>
#include <relay/ir/module.h>
#include <relay/ir/regions.h>
#include <relay/ir/type_str.h>
#include <relay/print/annotated.h>
#include <relay/print/lines.h>
#include <relay/print/print.h>
#include <relay/support/pointer_map.h>

namespace relay::printing {

/// Shared by all definitions of one text.
class Document {
 public:
  explicit Document(const PrintOptions& options) : options(options) {}

  const PrintOptions& options;
  std::string out;
  PrintedDefinition* lines = nullptr;  // notes lines, if not null
  const NodeRemark* remark = nullptr;  // the remark on each node, if not null

  void line(size_t indent) { out.append(2 * indent, ' '); }
  void type(const Type* type, TypeNames& names);
  /// `, name=value` for each attribute that differs from its default.
  void attrs(const Attrs* attrs);
  void constant(const Constant& constant);
  void type_data(const TypeData& data);
  /// Names of data types, which no type parameter may have.
  void reserve(const Module& module);
  TypeNames type_names() const { return reserved_; }
  /// The `#[metadata]` section, if there is anything in it.
  void metadata();

 private:
  /// A dtype has no quotes where nothing else says that it is one (`typed` is false).
  void attr_value(std::string& text, const AttrValue& value, bool typed);
  std::string constant_text(const NDArray& value);
  std::string metadata_text(const NDArray& value);

  TypeNames reserved_;
  std::unordered_map<const Type*, std::string> closed_types_;
  std::unordered_map<const Attrs*, std::string> attrs_;
  std::unordered_map<const void*, size_t> constant_index_;
  std::vector<NDArray> constants_;
};

/// Names and numbers of one definition: the nodes that are bound to `%n`, and the name of each
/// variable.
class Layout {
 public:
  static constexpr uint32_t kInline = UINT32_MAX;

  /// `free` are variables that the text declares in front.
  Layout(const Regions& regions, const Effects& effects, const std::vector<VarRef>& free);

  /// The number of the node's `%n`, or kInline.
  uint32_t number(uint32_t node) const { return number_[node]; }
  void append_var(std::string& out, const Var* var) const;
  /// True if a projection out of this name needs parentheses: a longer, dotted name begins with it.
  bool dotted(std::string_view name) const {
    return !dotted_.empty() && dotted_.count(std::string(name)) > 0;
  }
  bool dotted(const Var* var) const;

 private:
  void collect(const std::vector<VarRef>& free);
  void bind(const Var* var);
  void note_dots(std::string_view name);
  bool is_bound(uint32_t node, const std::unordered_set<const Expr*>& effectful) const;
  void assign(const std::vector<VarRef>& free);
  void declare_front(uint32_t region, const std::vector<VarRef>& free,
                     std::vector<const Var*>& declared);
  void declare(const Var* var, std::vector<const Var*>& frame);
  void undeclare(const Var* var);
  void check_uses(uint32_t node);
  void use(const Var* var);
  std::string fresh(std::string_view base);

  const Regions& regions_;
  std::vector<uint32_t> number_;
  // By their characters: interned names have one address, and lie close together.
  PointerMap<char, bool, 1> seen_names_;
  std::vector<Name> names_;                  // of all variables
  bool same_names_ = false;                  // two variables have one name
  std::unordered_set<std::string> dotted_;   // the part of names before a `.0`
  std::unordered_set<std::string> numbers_;  // names that look like temporaries
  std::unordered_map<const Var*, std::string> renamed_;
  std::unordered_map<Name, std::vector<const Var*>> scope_;  // innermost last; only if same_names_
  std::unordered_map<const Var*, int> in_scope_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> renamings_;
};

/// `Cons(%x, _)`; variables as the callback writes them.
void append_pattern(std::string& out, const Pattern* pattern,
                    const std::function<void(const Var*)>& binder);

/// Writes a definition or an expression to a document.
class Printer {
 public:
  /// `free`: variables to declare in front.
  Printer(Document& document, const Effects& effects, const Expr* root,
          std::vector<VarRef> free = {});

  /// `def @name(…) -> … { … }` of a function.
  void definition(Name name);
  /// Statements and the final expression.
  void expression();

 private:
  enum class What : uint8_t { kRegion, kExpr };
  struct Frame {
    What what;
    uint8_t phase;
    uint16_t depth;  // brackets around
    uint32_t indent;
    uint32_t id;    // region or node
    uint32_t next;  // step or operand
  };

  void run();
  bool region(Frame& frame);
  bool node(Frame& frame);
  bool call(Frame& frame, const Call& call);
  bool conditional(Frame& frame);
  bool match(Frame& frame, const Match& match);
  bool sequence(Frame& frame, std::string_view begin, std::string_view end);
  bool projection(Frame& frame, const TupleGetItem& item);
  void function_head(const Function& function, std::string_view before_params);
  void operand(const Frame& frame, uint32_t node, size_t i, uint32_t indent, bool nested = true);
  void push_region(const Frame& frame, uint32_t region, uint32_t indent, uint32_t brackets);
  void push(What what, uint32_t id, uint32_t indent, size_t depth);
  void reference(uint32_t number);
  void atom(const Expr* expr);
  void binder(const Var* var);
  void type(const Type* type) { doc_.type(type, type_names_); }
  void comment(const Expr* expr);
  void type_comment(const Expr* expr);
  void remark(const Expr* expr);
  /// Here begins a line that says this.
  void note_line(const Expr* expr);

  Document& doc_;
  const Expr* root_;
  Regions regions_;
  std::vector<VarRef> free_;
  Layout layout_;
  TypeNames type_names_;
  std::vector<Frame> stack_;
};

}  // namespace relay::printing
