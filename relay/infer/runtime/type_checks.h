// Types to check values against, as data that a run needs no types for.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include <relay/infer/devices/devices.h>
#include <relay/infer/runtime/declared_shapes.h>
#include <relay/ir/dim_program.h>
#include <relay/runtime/typed_closure.h>

namespace relay {

/// Collects the parts of one check; a dimension name has one value in all of them.
class CheckBuilder {
 public:
  /// `foreign`: of values from outside, of which nothing is known.
  CheckBuilder(const Module& module, Flows& flows, bool foreign = false);
  /// `devices` are those of the tensors of the type, where that is to be checked. `position` is
  /// whatever the part's place is kept as.
  void add(const DeclaredShape& shape, uint32_t position, const DeviceTree& devices = {});
  TypeCheck finish() { return std::move(check_); }

 private:
  /// Without `shapes`, tensors may have any of their rank.
  TypeInfo info(const Type* type, bool inside, bool shapes = true);
  uint32_t data(const TypeRef& type);
  void define_data();
  TypeInfo::Dim dim(Dim dim);
  uint32_t symbol(const TypeVar* var);

  const Module& module_;
  Flows& flows_;
  const bool foreign_;
  TypeCheck check_;
  std::unordered_map<const Type*, uint32_t> data_;
  std::vector<TypeRef> types_;  // of check_.data
  size_t defined_ = 0;          // how many of them have their fields
  size_t size_ = 0;             // of all types so far
  std::unordered_map<const TypeVar*, uint32_t> symbols_;
  DimProgram terms_;
};

/// What the arguments of a function are compared with when it is called from outside: a part for
/// each parameter, which is named as that. `devices` are those of the program, if it says any.
TypeCheck argument_check(const Module& module, Name function, const Devices* devices = nullptr);
/// What a function returns to who calls it from outside.
KnownType returned_type(const Module& module, Name function);
/// Throws Error if values are no arguments of a function.
void check_arguments(const Module& module, Name function, std::span<const Value> arguments,
                     const Devices* devices = nullptr);

}  // namespace relay
