// Memory that is kept for later and given back when there is too little.
#pragma once

namespace relay {

/// From now on `give_back` is called, on any thread, when a charge would pass the memory limit. It
/// frees what it can and allocates nothing. A few of them in all.
void reclaim_with(void (*give_back)() noexcept);

}  // namespace relay
