#pragma once

namespace relay::codegen {

/// Gives back memory that nothing needs now: kept blocks of the pool, freed blocks of the heap, and
/// the resident pages of LLVM's code, which the next compilation reads from its file again (some
/// milliseconds). Threads may compile and run meanwhile.
void release_memory();

}  // namespace relay::codegen
