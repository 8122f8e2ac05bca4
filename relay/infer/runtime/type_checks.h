// Types to check values against, as data that a run can use without types.
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
  /// `foreign`: for values from outside, of which nothing is known.
  CheckBuilder(const Module& module, Flows& flows, bool foreign = false);
  /// `devices` are those of the tensors of the type, if they are to be checked. `position` is the
  /// caller's number for the part's place.
  void add(const DeclaredShape& shape, uint32_t position, const DeviceTree& devices = {});
  TypeCheck finish() { return std::move(check_); }

 private:
  TypeInfo info(const Type* type, bool inside);
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
  size_t defined_ = 0;          // the number of those that have their fields
  size_t size_ = 0;             // of all types so far
  std::unordered_map<const TypeVar*, uint32_t> symbols_;
  DimProgram terms_;
};

/// The check of a function's arguments in a call from outside: a part for each parameter, with its
/// name. `devices` are those of the program, if it names any.
TypeCheck argument_check(const Module& module, Name function, const Devices* devices = nullptr);
/// The type of a function's result for callers from outside.
KnownType returned_type(const Module& module, Name function);
/// Throws Error if the values do not fit the parameters of a function.
void check_arguments(const Module& module, Name function, std::span<const Value> arguments,
                     const Devices* devices = nullptr);

}  // namespace relay
