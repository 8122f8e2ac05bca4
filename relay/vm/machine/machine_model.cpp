#include <relay/vm/machine/machine_model.h>

#include <algorithm>
#include <limits>

namespace relay::vm {

double predicted_ns(const MachineModel& model, const LaunchWork& work) {
  const MachineModel::Rates& rates = work.shared ? model.all : model.one;
  const double computing = work.products / rates.products + work.functions / rates.functions;
  double moving = 0;
  for (size_t level = 0; level < kMemoryLevels; ++level)
    moving += work.bytes[level] / rates.bytes[level];
  return model.launch_ns + (work.shared ? model.share_ns : 0) + computing +
         std::max(work.steps / rates.steps, moving);
}

int64_t CacheTrace::age(const void* memory, int64_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t end = begin + static_cast<uintptr_t>(std::max<int64_t>(bytes, 0));
  auto at = blocks_.upper_bound(begin);
  if (at != blocks_.begin() && std::prev(at)->second.end > begin) --at;
  if (at == blocks_.end() || at->first >= end) return std::numeric_limits<int64_t>::max() / 2;
  int64_t oldest = clock_;
  for (; at != blocks_.end() && at->first < end; ++at)
    oldest = std::min(oldest, at->second.touched);
  return clock_ - oldest;
}

void CacheTrace::touch(const void* memory, int64_t bytes) {
  if (bytes <= 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t end = begin + static_cast<uintptr_t>(bytes);
  clock_ += bytes;
  // Blocks that overlap lose what is touched now.
  auto at = blocks_.upper_bound(begin);
  if (at != blocks_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != blocks_.end() && at->first < end) {
    const auto [first, old] = *at;
    at = blocks_.erase(at);
    if (first < begin) blocks_.emplace(first, Block{begin, old.touched});
    if (old.end > end) at = blocks_.emplace(end, Block{old.end, old.touched}).first;
  }
  blocks_[begin] = {end, clock_};
}

}  // namespace relay::vm
