// Types to check values against, as the machine's data.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/infer/declared_shapes.h>
#include <relay/infer/devices.h>
#include <relay/support/span.h>
#include <relay/vm/compiler/dims.h>
#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

/// Collects the parts of one check; a dimension name has one value in all of them.
class CheckBuilder {
 public:
  CheckBuilder(PositionTable& positions, const Module& module, Flows& flows);
  /// `devices` are those of the tensors of the type, where that is to be checked.
  void add(const DeclaredShape& shape, const DeviceTree& devices = {});
  TypeCheck finish() { return std::move(check_); }

 private:
  TypeInfo info(const Type* type, bool inside);
  uint32_t data(const TypeRef& type);
  void define_data();
  TypeInfo::Dim dim(Dim dim);
  uint32_t symbol(const TypeVar* var);

  PositionTable& positions_;
  const Module& module_;
  Flows& flows_;
  TypeCheck check_;
  std::unordered_map<const Type*, uint32_t> data_;
  std::vector<TypeRef> types_;  // of check_.data
  size_t defined_ = 0;          // how many of them have their fields
  size_t size_ = 0;             // of all types so far
  std::unordered_map<const TypeVar*, uint32_t> symbols_;
  DimProgram terms_;
};

}  // namespace relay::vm
