// What is worked out for a region of dataflow (`Graph`): once, and once for each set of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/vm/machine/image.h>

namespace relay::vm {

/// Bytes of a cache line: places begin at one, so that no two workers write to the same.
inline constexpr size_t kLine = 64;

/// A run that cannot go on, for the error: its text and place.
struct DataflowFailure {
  std::string message;
  uint32_t position = 0;
  std::string note;
  const SizeText* sizes = nullptr;  // the message, once sizes are put into it (`size_text`)
};

/// A message with the sizes that these inputs give.
std::string size_text(const Graph& graph, const SizeText& text, std::span<const Value> inputs);

/// Facts of a graph that do not depend on sizes. A root is a place that is no alias.
struct DataflowShape {
  enum class Home : uint8_t {
    kInput,
    kConstant,
    kCell,    // a number: a cache line of the graph's own
    kResult,  // a fresh tensor of each run
    kArena
  };
  explicit DataflowShape(const Graph& graph, const Executable& executable);

  /// Whether a launch touches a root under more names than one.
  bool read_twice(const Launch& launch, uint32_t of) const;

  std::vector<uint32_t> root;  // of each place
  std::vector<Home> home;      // of each root
  /// Of each place: whether a library kernel makes it, of extents that it counts.
  std::vector<uint8_t> counted;
  /// First and last launch that touches each root.
  std::vector<uint32_t> first_use, last_use;
  /// Of each root that is a result: the input whose memory it may take over, if nobody else holds
  /// that; or kNone.
  std::vector<uint32_t> successor_of;
  /// Slots whose values come from the inputs.
  std::vector<uint32_t> leaves;
  /// The devices of temporaries, and of each root in the arena which of them it is on.
  std::vector<Device> arenas;
  std::vector<uint32_t> arena;
  size_t num_buffers = 0;  // arguments of all launches
  size_t num_dims = 0;
  std::vector<uint32_t> first_buffer, first_dim;  // of each launch
  /// Runs of native launches on one device between library kernels.
  struct Section {
    uint32_t begin = 0, end = 0;
    bool library = false;
    Device device;  // of what is read
    Device target;  // of what is written
  };
  std::vector<Section> sections;

 private:
  Device device_of(const Graph& graph, const Launch& launch, bool written) const;
  void find_successors(const Graph& graph);
};

/// A graph at one set of sizes.
struct DataflowPlan {
  std::vector<int64_t> key;  // values of the leaves
  std::vector<int64_t> slots;
  /// Extents of all places one after the other (-1: counted), and where those of each place begin.
  std::vector<int64_t> extents;
  std::vector<uint32_t> extents_begin;
  std::vector<size_t> bytes;        // of each place
  std::vector<size_t> begins;       // of each place in its root
  std::vector<size_t> offsets;      // of each root in its arena
  std::vector<size_t> arena_bytes;  // of each arena
  size_t scratch_bytes = 0;         // for each worker, a multiple of 64
  std::vector<int64_t> dims;        // arguments of all launches
  /// Of each launch: into how many pieces its tasks are worth cutting; 0: one worker does it all.
  std::vector<uint32_t> pieces;
  /// Launches that may run at the same time. Those that one worker does all are run by one worker,
  /// in order.
  struct Phase {
    uint32_t begin = 0, end = 0;
    bool shared = false;  // whether there is something for several workers
  };
  std::vector<Phase> phases;
  struct Share {
    uint32_t phases = 0;    // where the section's begin; they end where those of the next do
    bool threaded = false;  // whether workers share it at all
    bool waking = false;    // whether it pays to wake some that sleep
  };
  std::vector<Share> shares;  // of each section, and one for the end

  ShapeView shape(const Graph& graph, uint32_t place) const {
    return {extents.data() + extents_begin[place], graph.places[place].extents.size()};
  }
};

/// Values of the leaves for these inputs. Throws DataflowFailure.
void read_leaves(const Graph& graph, const DataflowShape& shape, std::span<const Value> inputs,
                 std::vector<int64_t>& out);

/// Throws DataflowFailure where the sizes are impossible or a check fails.
std::unique_ptr<DataflowPlan> make_plan(const Graph& graph, const DataflowShape& shape,
                                        const Executable& executable, std::vector<int64_t> key);

}  // namespace relay::vm
