// Tells the processor that a loop waits for another thread.
#pragma once

namespace relay {

/// Leaves the core to the other hyperthread for a moment.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("isb");  // `yield` does nothing on most of them
#endif
}

}  // namespace relay
