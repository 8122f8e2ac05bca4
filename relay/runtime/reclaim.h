// Gives back kept memory when there is too little.
#pragma once

namespace relay {

/// Registers `give_back`, which is called, on any thread, when a charge would pass the memory
/// limit. It frees what it can and allocates nothing. There may be only a few of them.
void reclaim_with(void (*give_back)() noexcept);

}  // namespace relay
