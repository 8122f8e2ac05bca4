// A module: global functions and data types by name.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

/// The definition of an algebraic data type, or of an opaque `extern type` (no constructors).
class TypeData final : public TypeNode<TypeData> {
 public:
  /// Constructors' type variables must be among `type_vars`.
  static TypeDataRef make(GlobalTypeVarRef name, std::vector<TypeVarRef> type_vars,
                          std::vector<ConstructorRef> constructors, bool is_extern = false,
                          Span span = {});
  std::span<const TypeVarRef> type_vars() const { return type_vars_; }
  std::span<const ConstructorRef> constructors() const { return constructors_; }
  bool is_extern() const { return is_extern_; }
  Span span() const { return span_; }

 private:
  friend struct TypeTable;
  using TypeNode::TypeNode;
  std::vector<TypeVarRef> type_vars_;
  std::vector<ConstructorRef> constructors_;
  bool is_extern_ = false;
  Span span_;
};

/// `fn<a, b>(inputs) -> D[a, b]`, the type of a constructor.
TypeRef constructor_type(const TypeData& data, const Constructor& constructor);

/// Global functions and data types. Copying a module copies the two small maps and shares
/// everything else. Iteration follows the order of definition.
class Module {
 public:
  struct FunctionEntry {
    Name name;
    FunctionRef function;
  };

  /// Adds or (with `replace`) replaces a function. Throws `Error` if it exists.
  void add_function(const Name& name, FunctionRef function, bool replace = false);
  /// Takes constant time: the next look at the order puts it right.
  void remove_function(const Name& name);
  /// The function, or null.
  const Function* function(const Name& name) const;
  const std::vector<FunctionEntry>& functions() const {
    if (functions_.has_gaps.load(std::memory_order_acquire)) functions_.close_gaps();
    return functions_.entries;
  }
  /// Keeps the position of an existing function.
  void update_function(const Name& name, FunctionRef function) {
    add_function(name, std::move(function), true);
  }

  void add_type(TypeDataRef data, bool replace = false);
  const TypeData* type_data(const Name& name) const;
  const TypeData* type_data(const GlobalTypeVar* name) const { return type_data(name->name()); }
  const Constructor* constructor(const Name& name) const;
  const std::vector<TypeDataRef>& types() const { return types_; }

  /// Keeps the source texts of its spans alive.
  void add_source(std::shared_ptr<const Source> source);
  const std::vector<std::shared_ptr<const Source>>& sources() const { return sources_; }

  /// `@main`, else the only function, else null.
  const FunctionEntry* entry() const;
  /// A name that no function has: `base`, or else `base_N` with a number above all present and
  /// earlier ones. Takes constant time.
  Name fresh_name(std::string_view base) const;

 private:
  // Functions in order, and by name. A removed function leaves a gap. Gaps close together, in a
  // lock, because several threads may look at one module; meanwhile these read functions by name,
  // not places.
  struct Functions {
    struct Known {
      FunctionRef function;
      size_t place;  // in `entries`
    };
    mutable std::vector<FunctionEntry> entries;
    mutable std::unordered_map<Name, Known> index;
    mutable std::atomic<bool> has_gaps{false};

    Functions() = default;
    Functions(const Functions& other);
    Functions(Functions&& other) noexcept;
    Functions& operator=(Functions other) noexcept;
    void close_gaps() const;
  };
  Functions functions_;
  std::vector<TypeDataRef> types_;
  std::unordered_map<Name, uint64_t> numbers_;  // the greatest N of names `base_N`
  std::unordered_map<Name, size_t> type_index_;
  std::unordered_map<Name, ConstructorRef> constructors_;
  std::vector<std::shared_ptr<const Source>> sources_;
};

}  // namespace relay
