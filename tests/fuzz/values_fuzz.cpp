// libFuzzer target: any text is a value (an argument of `relay run`, or the JSON of a file) of any
// of some types, or is refused. Files are left out: what they hold is params_fuzz's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <relay/runtime/memory.h>
#include <relay/runtime/type_check.h>
#include <relay/runtime/value_text.h>
#include <relay/support/error.h>

namespace {

using namespace relay;

TypeInfo tensor(DType dtype, std::vector<int64_t> extents) {
  TypeInfo type;
  type.kind = TypeInfo::Kind::kTensor;
  type.dtype = dtype;
  for (int64_t extent : extents)
    type.dims.push_back({extent < 0 ? TypeInfo::Dim::Kind::kAny : TypeInfo::Dim::Kind::kInt,
                         extent < 0 ? 0 : extent, extent < 0 ? "?" : std::to_string(extent)});
  return type;
}

TypeInfo with_fields(TypeInfo::Kind kind, std::vector<TypeInfo> fields) {
  TypeInfo type;
  type.kind = kind;
  type.fields = std::move(fields);
  return type;
}

TypeInfo data(const std::string& name, uint32_t number) {
  TypeInfo type;
  type.kind = TypeInfo::Kind::kData;
  type.name = name;
  type.data = number;
  return type;
}

/// Types of all kinds: a list and a tree of data, tuples in tuples, references.
const TypeCheck& types() {
  static const TypeCheck* check = [] {
    auto* made = new TypeCheck;
    const TypeInfo list = data("List", 0), tree = data("Tree", 1);
    made->data = {{{{"Nil", {}}, {"Cons", {tensor(kInt32, {}), list}}}, "List[int32]"},
                  {{{"Leaf", {tensor(kFloat32, {-1, 2})}},
                    {"Node", {tree, with_fields(TypeInfo::Kind::kTuple, {list, tree})}}},
                   "Tree"}};
    const TypeInfo pair = with_fields(TypeInfo::Kind::kTuple, {tensor(kInt64, {2}), list});
    for (const TypeInfo& type :
         {TypeInfo(), tensor(kFloat32, {2, 3}), tensor(kBFloat16, {-1}), tensor(kBool, {}),
          tensor(kUInt8, {-1, -1}), list, tree, pair,
          with_fields(TypeInfo::Kind::kTuple,
                      {pair, TypeInfo(), with_fields(TypeInfo::Kind::kTuple, {})}),
          with_fields(TypeInfo::Kind::kReference, {tree})})
      made->parts.push_back({type, "its type", "the value"});
    return made;
  }();
  return *check;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.find('@') != std::string_view::npos) return 0;
  // A short text may ask for large arrays, which are then the account's to refuse.
  set_memory_limit(size_t{256} << 20);
  needs_extents(text);
  for (const TypeCheck::Part& part : types().parts) {
    WantedValue wanted;
    wanted.check = &types();
    wanted.type = &part.type;
    wanted.text = part.text;
    wanted.extents = [] { return Extents(types()); };
    try {
      const Value value = read_value(text, wanted);
      if (!bit_equal(value, value)) std::abort();
    } catch (const Error&) {
    }
  }
  return 0;
}
