// Functions as they are written, before their values share registers.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/ir/type.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

struct FunctionTypes {
  std::vector<TypeRef> params;
  std::vector<TypeRef> captures;
  std::unordered_map<uint32_t, TypeRef> made;  // data values, by the instruction that makes them
};

}  // namespace relay::vm

namespace relay::vm::native {

/// Each value has a register of its own, and every jump goes around an arm of a choice.
struct Source {
  Function code;
  std::vector<TypeRef> params;
  std::vector<TypeRef> captures;
  std::unordered_map<uint32_t, TypeRef> made;  // data values, by the instruction that makes them
};

}  // namespace relay::vm::native
