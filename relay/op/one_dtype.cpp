#include <relay/op/one_dtype.h>

namespace relay {

OpColumn<std::vector<uint32_t>>& one_dtype() {
  static OpColumn<std::vector<uint32_t>>* column = [] {
    auto* made = new OpColumn<std::vector<uint32_t>>("one_dtype");
    made->set(get_op("where"), {1, 2, kOutput});
    made->set(get_op("arange"), {0, 1, 2});
    made->set(get_op("scatter_nd"), {0, 2, kOutput});
    made->set(get_op("scatter_elements"), {0, 2, kOutput});
    made->set(get_op("one_hot"), {1, 2});
    made->set(get_op("meshgrid"), {0});
    for (const char* tuple : {"concatenate", "stack"}) made->set(get_op(tuple), {0, kOutput});
    for (const char* same : {"reshape", "transpose", "squeeze", "expand_dims", "broadcast_to",
                             "strided_slice", "tile", "repeat", "reverse", "take", "gather"}) {
      made->set(get_op(same), {0, kOutput});
    }
    return made;
  }();
  return *column;
}

}  // namespace relay
