// Functions as they are written, before their values share registers.
#pragma once

#include <vector>

#include <relay/ir/type.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

struct FunctionTypes {
  std::vector<TypeRef> params;
  std::vector<TypeRef> captures;
};

}  // namespace relay::vm

namespace relay::vm::native {

/// Each value has a register of its own, and every jump goes around an arm of a choice.
struct Source {
  Function code;
  std::vector<TypeRef> params;
  std::vector<TypeRef> captures;
};

}  // namespace relay::vm::native
