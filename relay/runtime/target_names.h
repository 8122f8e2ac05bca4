// The targets that programs are compiled for, by name: for the compiler, which says what each means
// (codegen/target.cpp), the command line, and machines that run what others compiled.
#pragma once

#include <string_view>

namespace relay {

/// Each has what the one before it has, but that `avx512` leaves out what `avx2-vnni` adds, and
/// that the last one is of another architecture.
inline constexpr std::string_view kTargetNames[] = {"baseline",   "avx2",        "avx2-vnni",
                                                    "avx512",     "avx512-vnni", "avx512-bf16",
                                                    "avx512-amx", "aarch64"};

}  // namespace relay
