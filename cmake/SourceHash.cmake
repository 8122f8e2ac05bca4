# cmake -DROOT=… -DOUTPUT=… -P SourceHash.cmake: writes a source with the hash of the files that decide about generated code.
file(GLOB_RECURSE files ${ROOT}/relay/codegen/*.cpp ${ROOT}/relay/codegen/*.h)
file(GLOB plans ${ROOT}/relay/lower/contraction_*.cpp ${ROOT}/relay/lower/contraction_*.h)
list(APPEND files ${plans} ${ROOT}/relay/lower/loops.h ${ROOT}/relay/runtime/kernel.h ${ROOT}/relay/runtime/scalar_ops.def
     ${ROOT}/relay/tensor_expr/scalar.h)
list(SORT files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 32 hash)
set(text "#include <relay/codegen/source_hash.h>

namespace relay::codegen {

std::string_view source_hash() { return \"${hash}\"; }

}  // namespace relay::codegen
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
else()
  file(TOUCH ${OUTPUT})
endif()
