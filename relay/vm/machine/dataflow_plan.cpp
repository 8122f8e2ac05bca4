#include <relay/vm/machine/dataflow_plan.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <relay/runtime/library_operands.h>
#include <relay/runtime/team.h>
#include <relay/support/error.h>

namespace relay::vm {

namespace {

size_t round_up(size_t bytes) { return (bytes + kLine - 1) & ~(kLine - 1); }

uint32_t dim_position(const Graph& graph, size_t slot) {
  return slot < graph.dim_positions.size() ? graph.dim_positions[slot] : 0;
}

[[noreturn]] void no_element(const Graph& graph, uint32_t slot, const std::string& shape) {
  throw DataflowFailure{
      "a dimension is element " + std::to_string(graph.dims[slot].b) + " of shape " + shape,
      dim_position(graph, slot),
      {}};
}

}  // namespace

void read_leaves(const Graph& graph, const DataflowShape& shape, std::span<const Value> inputs,
                 std::vector<int64_t>& out) {
  out.clear();
  for (uint32_t slot : shape.leaves) {
    const DimInstruction& at = graph.dims[slot];
    const Value& input = inputs[at.a];
    if (at.code == DimCode::kExtent) {
      out.push_back(input.shape()[at.b]);
    } else if (input.is_scalar()) {
      if (at.b != 0) no_element(graph, slot, "()");
      out.push_back(input.as_int64());
    } else {
      NDArray array = input.array();
      if (static_cast<int64_t>(at.b) >= array.size()) {
        no_element(graph, slot, shape_text(array.shape()));
      }
      out.push_back(array.element_as_int64(at.b));
    }
  }
}

std::string size_text(const Graph& graph, const SizeText& text, std::span<const Value> inputs) {
  std::vector<int64_t> slots(graph.text_dims.size(), 0);
  for (size_t i = 0; i < slots.size(); ++i) {
    const DimInstruction& at = graph.text_dims[i];
    if (at.code == DimCode::kConst) {
      slots[i] = at.value;
    } else if (at.code == DimCode::kExtent) {
      slots[i] = inputs[at.a].shape()[at.b];
    } else if (at.code == DimCode::kElement) {
      NDArray array = inputs[at.a].array();
      if (static_cast<int64_t>(at.b) < array.size()) slots[i] = array.element_as_int64(at.b);
    } else if (compute_dim(at.code, slots[at.a], slots[at.b], slots[i]) != nullptr) {
      slots[i] = 0;
    }
  }
  std::string result = text.pieces[0];
  for (size_t i = 0; i < text.slots.size(); ++i) {
    result += std::to_string(slots[text.slots[i]]) + text.pieces[i + 1];
  }
  return result;
}

namespace {

// The memory of one device's temporaries: which of it is free.
class Arena {
 public:
  size_t end() const { return end_; }

  size_t take(size_t bytes) {
    auto best = by_size_.lower_bound({bytes, 0});
    if (best != by_size_.end()) {
      auto [size, offset] = *best;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    // At the end, over a free block that reaches it.
    size_t offset = end_;
    if (!by_offset_.empty()) {
      auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        remove(last->first, last->second);
      }
    }
    end_ = offset + bytes;
    return offset;
  }

  void give(size_t offset, size_t size) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + size) {
      size += after->second;
      remove(after->first, after->second);
    }
    after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        remove(before->first, before->second);
      }
    }
    add(offset, size);
  }

 private:
  void add(size_t offset, size_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(size_t offset, size_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<size_t, size_t> by_offset_;  // free blocks
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const DataflowShape& shape, const Executable& executable)
      : graph_(graph), shape_(shape), executable_(executable) {}

  std::unique_ptr<DataflowPlan> run(std::vector<int64_t> key) {
    plan_ = std::make_unique<DataflowPlan>();
    plan_->key = std::move(key);
    compute_slots();
    size_places(plan_->slots.size());
    place_views();
    for (const DataflowShape::Section& section : shape_.sections)
      plan_->shares.push_back(share_work(section));
    place_temporaries();
    plan_launches();
    return std::move(plan_);
  }

 private:
  void compute_slots() {
    std::vector<int64_t>& slots = plan_->slots;
    slots.resize(graph_.dims.size());
    size_t leaf = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      const DimInstruction& at = graph_.dims[i];
      if (at.code == DimCode::kConst) {
        slots[i] = at.value;
      } else if (is_leaf(at.code)) {
        slots[i] = plan_->key[leaf++];
      } else if (const char* wrong = compute_dim(at.code, slots[at.a], slots[at.b], slots[i])) {
        // A failed check of the earlier sizes tells more than the failed arithmetic.
        check_sizes(i);
        size_places(i);
        bool division = is_division_by_zero(wrong);
        for (const DimFailure& failure : graph_.failures) {
          if (failure.first <= i && i <= failure.last && (division || !failure.division))
            throw DataflowFailure{{}, failure.position, {}, &failure.message};
        }
        uint32_t position = dim_position(graph_, i);
        if (at.code == DimCode::kBroadcast) {
          throw DataflowFailure{"dimensions " + std::to_string(slots[at.a]) + " and " +
                                    std::to_string(slots[at.b]) + " do not broadcast",
                                position,
                                {}};
        }
        throw DataflowFailure{wrong, position, {}};
      }
    }
    check_sizes(slots.size());
  }

  // The checks on sizes that have been computed.
  void check_sizes(size_t computed) const {
    for (const DimCheck& check : graph_.checks) {
      if (check.a >= computed || check.b >= computed) continue;
      if (plan_->slots[check.a] != plan_->slots[check.b])
        throw DataflowFailure{{}, check.position, {}, &check.message};
    }
  }

  // The places whose sizes have been computed.
  void size_places(size_t computed) {
    plan_->bytes.resize(graph_.places.size());
    for (size_t i = 0; i < graph_.places.size(); ++i) {
      const Place& place = graph_.places[i];
      bool known = std::all_of(place.extents.begin(), place.extents.end(),
                               [&](uint32_t slot) { return slot == kNone || slot < computed; });
      if (!known) continue;
      size_t begin = plan_->extents.size();
      plan_->extents_begin.push_back(static_cast<uint32_t>(begin));
      for (uint32_t slot : place.extents)
        plan_->extents.push_back(slot == kNone ? -1 : plan_->slots[slot]);
      if (shape_.counted[i] != 0) continue;
      ShapeView extents(plan_->extents.data() + begin, place.extents.size());
      try {
        plan_->bytes[i] = NDArray::bytes_needed(extents, place.dtype);
      } catch (const Error& error) {
        throw DataflowFailure{error.what(), place.position, {}};
      }
    }
  }

  // Places views, each inside of its source.
  void place_views() {
    plan_->begins.assign(graph_.places.size(), 0);
    for (size_t i = 0; i < graph_.places.size(); ++i) {
      const size_t whole = plan_->bytes[shape_.root[i]];
      size_t begin = 0;
      for (const Place* at = &graph_.places[i]; at->alias != kNone;
           at = &graph_.places[at->alias]) {
        if (at->offset == kNone) continue;
        const int64_t elements = plan_->slots[at->offset];
        const size_t left = (whole - begin) / at->dtype.size();
        if (elements < 0 || static_cast<size_t>(elements) > left) no_view();
        begin += static_cast<size_t>(elements) * at->dtype.size();
      }
      if (plan_->bytes[i] > whole - begin) no_view();
      plan_->begins[i] = begin;
    }
  }

  [[noreturn]] static void no_view() {
    throw DataflowFailure{"the sizes of two views of a tensor do not agree", 0, {}};
  }

  // Places temporaries by best fit in the order of the launches; memory that a launch reads for the
  // last time is free from the next launch on, or, among chains, behind all of them.
  void place_temporaries() {
    plan_->offsets.assign(graph_.places.size(), 0);
    arenas_.resize(shape_.arenas.size());
    std::vector<std::vector<uint32_t>> dying(graph_.launches.size());
    std::vector<uint32_t> ends(graph_.launches.size());
    for (size_t s = 0; s < shape_.sections.size(); ++s) {
      const DataflowShape::Section& section = shape_.sections[s];
      for (uint32_t i = section.begin; i < section.end; ++i)
        ends[i] = plan_->shares[s].chains.empty() ? i : section.end - 1;
    }
    for (uint32_t place = 0; place < graph_.places.size(); ++place) {
      if (shape_.root[place] == place && in_arena(place) && shape_.first_use[place] != kNone) {
        dying[ends[shape_.last_use[place]]].push_back(place);
      }
    }
    std::vector<size_t> held(graph_.places.size(), 0);  // bytes of the block; 0: taken over
    for (uint32_t i = 0; i < graph_.launches.size(); ++i) {
      const Launch& launch = graph_.launches[i];
      for (const Launch::InPlace& pair : launch.in_place) take_over(launch, i, pair, held);
      for (const Launch::Argument& argument : launch.arguments) {
        uint32_t root = shape_.root[argument.place];
        if (!in_arena(root) || shape_.first_use[root] != i || held[root] != 0) continue;
        held[root] = std::max(round_up(plan_->bytes[root]), kLine);
        plan_->offsets[root] = arena_of(root).take(held[root]);
      }
      for (uint32_t root : dying[i]) {
        if (held[root] != 0) arena_of(root).give(plan_->offsets[root], held[root]);
      }
    }
    for (const Arena& arena : arenas_) plan_->arena_bytes.push_back(arena.end());
  }

  Arena& arena_of(uint32_t root) { return arenas_[shape_.arena[root]]; }

  bool in_arena(uint32_t root) const { return shape_.home[root] == DataflowShape::Home::kArena; }

  void take_over(const Launch& launch, uint32_t index, const Launch::InPlace& pair,
                 std::vector<size_t>& held) {
    uint32_t to = shape_.root[launch.arguments[pair.written].place];
    uint32_t from = shape_.root[launch.arguments[pair.read].place];
    if (to == from || !in_arena(to) || !in_arena(from)) return;
    if (shape_.first_use[to] != index || shape_.last_use[from] != index || held[to] != 0) return;
    if (plan_->bytes[to] != plan_->bytes[from] || held[from] == 0) return;
    // All of the one in place of all of the other.
    if (plan_->bytes[launch.arguments[pair.written].place] != plan_->bytes[to] ||
        plan_->bytes[launch.arguments[pair.read].place] != plan_->bytes[from])
      return;
    if (shape_.arena[to] != shape_.arena[from] || shape_.read_twice(launch, from)) return;
    plan_->offsets[to] = plan_->offsets[from];
    held[to] = held[from];
    held[from] = 0;
  }

  void plan_launches() {
    for (uint32_t i = 0; i < graph_.launches.size(); ++i) {
      const Launch& launch = graph_.launches[i];
      check_lines(launch);
      if (!executable_.kernels[launch.kernel].library.empty()) check_library(launch);
      for (uint32_t slot : launch.dims) plan_->dims.push_back(plan_->slots[slot]);
      if (launch.scratch != kNone) {
        int64_t bytes = plan_->slots[launch.scratch];
        constexpr int64_t kMost = int64_t{1} << 40;
        if (bytes < 0 || bytes > kMost) {
          throw DataflowFailure{"a kernel asks for too much memory", launch.position, {}};
        }
        plan_->scratch_bytes = std::max(plan_->scratch_bytes, round_up(static_cast<size_t>(bytes)));
      }
    }
    for (size_t s = 0; s < shape_.sections.size(); ++s) {
      const DataflowShape::Section& section = shape_.sections[s];
      DataflowPlan::Share& share = plan_->shares[s];
      share.phases = static_cast<uint32_t>(plan_->phases.size());
      if (share.threaded || share.copying) {
        plan_phases(section);
      } else {
        plan_->phases.push_back({section.begin, section.end, false});
      }
    }
    plan_->shares.emplace_back().phases = static_cast<uint32_t>(plan_->phases.size());
  }

  struct Access {
    uint32_t space;  // an arena, counted from kNone down, or a root elsewhere (`space_of`)
    size_t begin, end;
    bool written;
    bool parallel;
  };

  // A library kernel relies on its rule, and on its outputs being different from all its other
  // operands.
  void check_library(const Launch& launch) const {
    const Kernel& kernel = executable_.kernels[launch.kernel];
    std::vector<LibraryOperand> operands;
    size_t inputs = 0;
    for (const Launch::Argument& argument : launch.arguments) {
      operands.push_back(
          {graph_.places[argument.place].dtype, plan_->shape(graph_, argument.place)});
      if (!argument.written) ++inputs;
    }
    const std::span<const LibraryOperand> all(operands);
    try {
      check_library_call({kernel.library, all.first(inputs), all.subspan(inputs), launch.params},
                         find_library_rule(kernel.library));
    } catch (const Error& error) {
      throw DataflowFailure{error.what(), launch.position, {}};
    }
    for (size_t i = inputs; i < launch.arguments.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (!overlap(access(launch.arguments[i], false), access(launch.arguments[k], false)))
          continue;
        throw DataflowFailure{"library kernel " + kernel.library + " would write to its operand " +
                                  std::to_string(k) + " with its operand " + std::to_string(i),
                              launch.position,
                              {}};
      }
    }
  }

  // Native code counts on whole lines where it writes (KernelArgs::buffers).
  void check_lines(const Launch& launch) const {
    const Kernel& kernel = executable_.kernels[launch.kernel];
    if (kernel.blob == kNone) return;
    for (const Launch::Argument& argument : launch.arguments) {
      if (!argument.written || plan_->begins[argument.place] % kLine == 0) continue;
      throw DataflowFailure{"kernel " + kernel.name +
                                " would write to a part of a tensor that begins within a line of " +
                                std::to_string(kLine) + " bytes",
                            launch.position,
                            {}};
    }
  }

  // Which launches are worth sharing, and whether the whole section is.
  DataflowPlan::Share share_work(const DataflowShape::Section& section) {
    // The end of a phase takes up to a microsecond, calling other threads some 5, waking sleepers
    // 50.
    constexpr double kWorthSharing = 2'000;
    constexpr double kWorthCalling = 20'000;
    constexpr double kWorthWaking = 100'000;
    constexpr double kPiece = 10'000;
    plan_->pieces.resize(graph_.launches.size(), 0);
    if (section.library) return {};
    DataflowPlan::Share share;
    double nanoseconds = 0, copied = 0;
    for (uint32_t i = section.begin; i < section.end; ++i) {
      const Launch& launch = graph_.launches[i];
      if (copies_at_most(launch)) share.copies.push_back(i);
      if (!executable_.kernels[launch.kernel].parallel) continue;
      double own = cost(launch);
      if (own < kWorthSharing) continue;
      plan_->pieces[i] = static_cast<uint32_t>(std::clamp(own / kPiece, 1.0, 1e6));
      (copies_at_most(launch) ? copied : nanoseconds) += own;
    }
    share.threaded = nanoseconds >= kWorthCalling;
    share.waking = nanoseconds + copied >= kWorthWaking;
    share.copying = nanoseconds + copied >= kWorthCalling;
    if (nanoseconds < kWorthWaking) {
      share.chains = worthy_chains(section, share.threaded ? nanoseconds : 0);
      share.threaded |= !share.chains.empty();
    }
    return share;
  }

  static bool copies_at_most(const Launch& launch) {
    return std::any_of(launch.in_place.begin(), launch.in_place.end(),
                       [](const Launch::InPlace& pair) { return pair.copy; });
  }

  // The chains of a section if two workers are done with them clearly sooner than with all
  // launches, of which `shared` nanoseconds would be divided among them; else none.
  std::vector<DataflowPlan::Chain> worthy_chains(const DataflowShape::Section& section,
                                                 double shared) const {
    constexpr double kWorthChains = 5'000;
    std::vector<DataflowPlan::Chain> chains = chains_of(section);
    if (chains.size() < 2) return {};
    double all = 0, longest = 0;
    for (const DataflowPlan::Chain& chain : chains) {
      double own = 0;
      for (uint32_t i : chain)
        if (!copies_at_most(graph_.launches[i])) own += cost(graph_.launches[i]);
      all += own;
      longest = std::max(longest, own);
    }
    const double saved = all - std::max(longest, all / 2);
    if (saved < kWorthChains || saved < shared / 2) return {};
    return chains;
  }

  // The launches of a section, divided where they have nothing in common: no memory that one of
  // them writes, apart from temporaries' places, which are chosen later.
  std::vector<DataflowPlan::Chain> chains_of(const DataflowShape::Section& section) const {
    constexpr uint32_t kMostLaunches = 256;
    const uint32_t count = section.end - section.begin;
    if (count < 2 || count > kMostLaunches) return {};
    // All launches that touch memory which one of them writes are one chain.
    std::vector<uint32_t> chain(count);
    std::iota(chain.begin(), chain.end(), 0u);
    auto find = [&](uint32_t at) {
      while (chain[at] != at) at = chain[at] = chain[chain[at]];
      return at;
    };
    std::map<uint32_t, std::pair<bool, std::vector<uint32_t>>> touched;  // written; by launches
    for (uint32_t i = 0; i < count; ++i) {
      for (const Launch::Argument& argument : graph_.launches[section.begin + i].arguments) {
        auto& [written, launches] = touched[shape_.family[shape_.root[argument.place]]];
        written |= argument.written;
        launches.push_back(i);
      }
    }
    for (const auto& [memory, users] : touched) {
      if (!users.first) continue;
      for (uint32_t i : users.second) {
        const uint32_t a = find(users.second.front()), b = find(i);
        chain[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<DataflowPlan::Chain> chains;
    std::vector<uint32_t> number(count, kNone);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t& own = number[find(i)];
      if (own == kNone) {
        own = static_cast<uint32_t>(chains.size());
        chains.emplace_back();
      }
      chains[own].push_back(section.begin + i);
    }
    return chains;
  }

  // Nanoseconds on one core, roughly: it moves some 8 bytes in one, or 32 of what its second cache
  // has, and computes some 32 operations, or 128 of products. It moves no more than its
  // instructions can, though it may be given a tensor of which it takes a part.
  double cost(const Launch& launch) const {
    constexpr double kNear = 1 << 18;
    double bytes = 0, flops = 0;
    if (launch.bytes != kNone) {
      bytes = static_cast<double>(plan_->slots[launch.bytes]);
    } else {
      for (const Launch::Argument& argument : launch.arguments) {
        bytes += static_cast<double>(plan_->bytes[argument.place]);
      }
    }
    if (launch.products != kNone && launch.steps != kNone) {
      constexpr double kVector = 64;
      const auto steps = static_cast<double>(plan_->slots[launch.products]) +
                         static_cast<double>(plan_->slots[launch.steps]);
      if (steps > 0) bytes = std::min(bytes, steps * kVector);
    }
    if (launch.flops != kNone) flops = static_cast<double>(plan_->slots[launch.flops]);
    const bool products = executable_.kernels[launch.kernel].implementation == "contraction";
    return std::max(bytes < kNear ? bytes / 32 : (bytes - kNear) / 8 + kNear / 32,
                    flops / (products ? 128 : 32));
  }

  static bool overlap(const Access& a, const Access& b) {
    return a.space == b.space && a.begin < b.end && b.begin < a.end;
  }

  // A result that may take over an input lies in its place: all readers of the input must be done.
  uint32_t space_of(uint32_t root) const {
    if (in_arena(root)) return kNone - shape_.arena[root];
    return shape_.family[root];
  }

  Access access(const Launch::Argument& argument, bool parallel) const {
    uint32_t root = shape_.root[argument.place];
    size_t begin = (in_arena(root) ? plan_->offsets[root] : 0) + plan_->begins[argument.place];
    return {space_of(root), begin, begin + plan_->bytes[argument.place], argument.written,
            parallel};
  }

  // A launch begins a phase if it touches memory that other workers may still be writing, or writes
  // memory that they may still be reading. Launches of one worker are in order anyway.
  void plan_phases(const DataflowShape::Section& section) {
    constexpr size_t kMostAccesses = 64;
    std::vector<Access> before;
    int lists = 0;  // of tasks that are shared
    DataflowPlan::Phase phase{section.begin, section.begin, false};
    for (uint32_t i = section.begin; i < section.end; ++i) {
      const Launch& launch = graph_.launches[i];
      bool parallel = plan_->pieces[i] != 0;
      bool wait = before.size() > kMostAccesses || (parallel && lists == TeamTasks::kMostLists);
      for (const Launch::Argument& argument : launch.arguments) {
        Access now = access(argument, parallel);
        for (const Access& then : before) {
          if (wait) break;
          wait = (now.written || then.written) && (now.parallel || then.parallel) &&
                 overlap(now, then);
        }
      }
      if (wait) {
        before.clear();
        lists = 0;
        plan_->phases.push_back(phase);
        phase = {i, i, false};
      }
      phase.end = i + 1;
      phase.shared |= parallel;
      lists += parallel ? 1 : 0;
      for (const Launch::Argument& argument : launch.arguments) {
        before.push_back(access(argument, parallel));
      }
    }
    plan_->phases.push_back(phase);
  }

  const Graph& graph_;
  const DataflowShape& shape_;
  const Executable& executable_;
  std::unique_ptr<DataflowPlan> plan_;
  std::vector<Arena> arenas_;
};

}  // namespace

std::unique_ptr<DataflowPlan> make_plan(const Graph& graph, const DataflowShape& shape,
                                        const Executable& executable, std::vector<int64_t> key) {
  return Planner(graph, shape, executable).run(std::move(key));
}

}  // namespace relay::vm
