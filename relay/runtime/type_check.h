// Checks values against the types that they should have.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/dim_code.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// The structure of a type that values show.
struct TypeInfo {
  enum class Kind : uint8_t { kAny, kTensor, kTuple, kData, kFunction, kReference };
  struct Dim {
    enum class Kind : uint8_t { kAny, kInt, kSymbol, kTerm };
    Kind kind = Kind::kAny;
    int64_t value = 0;  // kInt: the extent; kSymbol: its number; kTerm: the slot
    std::string text;   // as printed: "2 * n"
  };
  static constexpr uint32_t kNoData = ~uint32_t{0};

  Kind kind = Kind::kAny;
  DType dtype;                   // kTensor; none: not checked
  bool has_rank = true;          // kTensor
  std::vector<Dim> dims;         // kTensor
  Device device;                 // kTensor of rank 1 or more, in the signature of an entry
  std::vector<TypeInfo> fields;  // kTuple; kReference: what it holds, if that is to be checked;
                                 // kFunction: the same of the parameters, then the result
  std::string name;              // kData: the data type; kTensor without dtype: the dtype's name
  uint32_t data = kNoData;       // kData: TypeCheck::data, if its contents are to be checked
};

/// A data type with its arguments: the constructors of values by their tag. None: nothing to check.
/// Recursive types refer to themselves.
struct DataInfo {
  struct Constructor {
    std::string name;
    std::vector<TypeInfo> fields;
  };
  std::vector<Constructor> constructors;
  std::string text;  // as printed: "List[int32]"
};

/// Values with the types that they should have. A symbol stands for the same extent everywhere.
/// Whole dimensions determine it, or else terms do: relay/runtime/dim_equations.h.
struct TypeCheck {
  struct Part {
    TypeInfo type;
    std::string text;  // the type as printed
    std::string what;  // "the result of @f", "%x of @main"
    uint32_t position = 0;
    bool inside = false;  // also looks into data values and references; values of another program
                          // may have other types of the same names
  };
  std::vector<Part> parts;
  std::vector<std::string> symbols;
  std::vector<DimInstruction> terms;
  std::vector<DataInfo> data;
  /// Set if the parts contain everything that can determine the symbols. A symbol that nothing
  /// determines must have a possible value all the same.
  bool closed = false;
};

/// A value that does not have its type.
struct TypeMismatch {
  size_t part = 0;
  std::string expected;  // the type it should have
  std::string found;     // the value's type
  /// The values of the names in it, and the part that determined them: "n = 4".
  struct Name {
    std::string value;
    size_t part;
  };
  std::vector<Name> names;
  std::string why;    // a further reason, if the types do not show it
  std::string wrong;  // replaces the types in the message: a device, a name without value
  std::string help;
};

/// True if `values` fit the parts of a check. With `only_shapes`, dtypes and the kinds of values
/// are taken for granted.
bool fits(const TypeCheck& check, std::span<const Value* const> values, bool only_shapes,
          TypeMismatch& mismatch);
/// The same for other parts, whose names and data types are those of `check`.
bool fits(const TypeCheck& check, std::span<const TypeCheck::Part> parts,
          std::span<const Value* const> values, bool only_shapes, TypeMismatch& mismatch);

/// "WHAT: expected TYPE where n = 4, found TYPE", with a note at the part that determined each
/// name. `place` gives the place of a part in the source.
Diagnostic mismatch_error(const TypeCheck& check, const TypeMismatch& mismatch,
                          const std::function<Span(const TypeCheck::Part&)>& place);
/// The same for the arguments of `@entry`, whose check has a part for each parameter, with its
/// name.
Diagnostic argument_error(const TypeCheck& check, const TypeMismatch& mismatch,
                          const std::string& entry,
                          const std::function<Span(const TypeCheck::Part&)>& place);

/// The type of a value as text: "Tensor[(2, 3), float32]", "(…, …)", "List".
std::string value_type_text(const Value& value);
/// For kind kTensor: "Tensor[(n, 3), float32]"; for rank 0: "float32".
std::string tensor_type_text(const TypeInfo& type);

}  // namespace relay
