// Types to check values against, as the machine's data.
#pragma once

#include <string>

#include <relay/ir/type.h>
#include <relay/support/span.h>
#include <relay/vm/compiler/dims.h>
#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

/// Collects the parts of one check; a dimension name has one value in all of them.
class CheckBuilder {
 public:
  explicit CheckBuilder(PositionTable& positions);
  void add(const TypeRef& type, std::string what, Span span);
  TypeCheck finish() { return std::move(check_); }

 private:
  TypeInfo info(const Type* type);
  TypeInfo::Dim dim(Dim dim);
  uint32_t symbol(const TypeVar* var);

  PositionTable& positions_;
  TypeCheck check_;
  std::unordered_map<const TypeVar*, uint32_t> symbols_;
  DimProgram terms_;
};

}  // namespace relay::vm
