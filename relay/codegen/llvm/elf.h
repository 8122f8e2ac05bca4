// A small linker: sections of one relocatable ELF object into one position-independent piece.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <relay/runtime/kernel.h>

namespace relay::codegen {

/// Lays out text and constants of an x86-64 or AArch64 object and resolves its relocations. Throws
/// InternalError for anything that is not position-independent or not defined in the object.
KernelBlob link_object(std::span<const std::byte> object, const std::string& function);

}  // namespace relay::codegen
