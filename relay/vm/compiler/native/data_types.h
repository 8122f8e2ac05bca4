// How data values lie on the tape of a kernel.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>

namespace relay::vm::native {

/// A data value is a number: -1 - tag for a constructor without fields, else the first slot of its
/// cell. A cell has the tag, if several constructors of the type have fields, and then the fields:
/// a slot for each element of a tensor, and one for a data value. Cells never change, so values
/// share them, and a cell comes after all that it refers to.
class DataTypes {
 public:
  struct Cell {
    std::vector<TypeRef> fields;
    std::vector<int64_t> first;  // slot of each field
    int64_t slots = 0;
  };
  struct Layout {
    std::vector<Cell> cells;       // by tag
    std::vector<int32_t> on_tape;  // the tags of those with fields
    bool has_tags() const { return on_tape.size() > 1; }
  };

  explicit DataTypes(const Module& module) : module_(module) {}

  /// Throws NotNative for a type that has no layout: with large tensors, functions or references.
  const Layout& layout(const TypeRef& type);

 private:
  int64_t slots(const TypeRef& type);

  const Module& module_;
  std::unordered_map<const Type*, Layout> layouts_;
  std::vector<TypeRef> kept_;  // the keys
};

}  // namespace relay::vm::native
