#include <relay/runtime/dtype.h>
#include <relay/support/error.h>

#include <string>

namespace relay {

std::optional<DType> DType::parse(std::string_view text) {
  for (DType t : kAllDTypes) {
    if (t.name() == text) return t;
  }
  return std::nullopt;
}

std::string_view DType::name() const {
  switch (code) {
    case DTypeCode::kBool:
      return bits == 1 ? "bool" : "invalid";
    case DTypeCode::kInt:
      switch (bits) {
        case 0:
          return "void";
        case 8:
          return "int8";
        case 16:
          return "int16";
        case 32:
          return "int32";
        case 64:
          return "int64";
      }
      break;
    case DTypeCode::kUInt:
      switch (bits) {
        case 8:
          return "uint8";
        case 16:
          return "uint16";
        case 32:
          return "uint32";
        case 64:
          return "uint64";
      }
      break;
    case DTypeCode::kFloat:
      switch (bits) {
        case 16:
          return "float16";
        case 32:
          return "float32";
        case 64:
          return "float64";
      }
      break;
    case DTypeCode::kBFloat:
      if (bits == 16) return "bfloat16";
      break;
  }
  return "invalid";
}

void throw_bad_dtype(DType dtype) {
  internal_error(__FILE__, __LINE__, "dispatch",
                 "no element type has code " + std::to_string(static_cast<int>(dtype.code)) +
                     " and " + std::to_string(dtype.bits) + " bits");
}

}  // namespace relay
