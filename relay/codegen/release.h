#pragma once

namespace relay::codegen {

/// Gives back memory that nothing needs now: large kept blocks of the pool and this thread's small
/// ones (other threads keep theirs, up to 8 MiB each). With glibc also freed blocks of the heap,
/// and the resident pages of LLVM's code, which the next compilation reads from its file again
/// (some milliseconds). Threads may compile and run meanwhile.
void release_memory();

}  // namespace relay::codegen
