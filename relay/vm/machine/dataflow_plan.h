// The plans of a region of dataflow (`Graph`): facts made once, and a plan made once for each set
// of sizes.
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

/// Bytes of a cache line: places begin at one, so that no two workers write to the same line.
inline constexpr size_t kLine = 64;

/// True for a size that is read from an input.
inline bool is_leaf(DimCode code) { return code == DimCode::kExtent || code == DimCode::kElement; }

/// A run that cannot go on: the text and place of the error.
struct DataflowFailure {
  std::string message;
  uint32_t position = 0;
  std::string note;
  const SizeText* sizes = nullptr;  // the message, once sizes are put into it (`size_text`)
};

/// A message with the sizes that follow from these inputs.
std::string size_text(const Graph& graph, const SizeText& text, std::span<const Value> inputs);

/// Facts of a graph that do not depend on sizes. A root is a place that is no alias and lies in no
/// result.
struct DataflowShape {
  enum class Home : uint8_t {
    kInput,
    kConstant,
    kCell,    // a number: a cache line of the graph's own
    kResult,  // a fresh tensor of each run
    kArena
  };
  explicit DataflowShape(const Graph& graph, const Executable& executable);

  /// True if a launch touches a root under several names.
  bool read_twice(const Launch& launch, uint32_t of) const;

  std::vector<uint32_t> root;  // of each place
  std::vector<Home> home;      // of each root
  /// For each place: 1 if a library kernel makes it, with extents that it counts.
  std::vector<uint8_t> counted;
  /// First and last launch that touches each root.
  std::vector<uint32_t> first_use, last_use;
  /// For each root that is a result: the inputs whose memory it may take over, if nobody else holds
  /// that; which one is seen when the graph runs.
  std::vector<std::vector<uint32_t>> predecessors;
  /// For each root outside of arenas: one that stands for all that may come to lie in the same
  /// memory.
  std::vector<uint32_t> family;
  /// Slots whose values come from the inputs.
  std::vector<uint32_t> leaves;
  /// The devices of temporaries; each root in the arena has the number of its device.
  std::vector<Device> arenas;
  std::vector<uint32_t> arena;
  size_t num_buffers = 0;  // arguments of all launches
  size_t num_dims = 0;
  std::vector<uint32_t> first_buffer, first_dim;  // of each launch
  /// What changes with each run: the roots that are results and made beforehand, those that a
  /// library kernel makes, and the arguments of launches that lie in inputs or results. The rest
  /// stays where it is for as long as the plan and the arenas do: the roots in arenas, and the
  /// other arguments.
  std::vector<uint32_t> results, counted_roots, temporaries;
  struct Buffer {
    uint32_t number = 0;  // of all launches' arguments
    uint32_t place = 0;
  };
  std::vector<Buffer> moving, resting;
  /// For each output: 1 if it is a whole result, and no other output needs that.
  std::vector<uint8_t> whole;
  /// Runs of native launches on one device between library kernels.
  struct Section {
    uint32_t begin = 0, end = 0;
    bool library = false;
    Device device;  // of the tensors that are read
    Device target;  // of the tensors that are written
  };
  std::vector<Section> sections;

 private:
  Device device_of(const Graph& graph, const Launch& launch, bool written) const;
  void find_uses(const Graph& graph);
  void find_predecessors(const Graph& graph);
  void join_families(const Launch& launch, uint32_t a, uint32_t b);
  void find_early_places(const Graph& graph);
  void find_what_moves(const Graph& graph);
};

/// A graph at one set of sizes.
struct DataflowPlan {
  std::vector<int64_t> key;  // values of the leaves
  std::vector<int64_t> slots;
  /// Extents of all places one after the other (-1: counted), and the beginning of those of each
  /// place.
  std::vector<int64_t> extents;
  std::vector<uint32_t> extents_begin;
  std::vector<size_t> bytes;        // of each place
  std::vector<size_t> begins;       // of each place in its root
  std::vector<size_t> offsets;      // of each root in its arena
  std::vector<size_t> arena_bytes;  // of each arena
  size_t scratch_bytes = 0;         // for each worker, a multiple of 64
  std::vector<int64_t> dims;        // arguments of all launches
  /// For each launch: the number of pieces that its tasks are worth cutting into; 0: one worker
  /// does it all.
  std::vector<uint32_t> pieces;
  /// Launches that may run at the same time. One worker runs those that are not shared, in order.
  struct Phase {
    uint32_t begin = 0, end = 0;
    bool shared = false;  // true if several workers have work
  };
  /// The launches of a section that touch no memory which those of another chain write: one worker
  /// runs a chain, in order, while others run other chains.
  using Chain = std::vector<uint32_t>;
  std::vector<Phase> phases;
  struct Share {
    uint32_t phases = 0;        // the section's first phase; they end where the next one's begin
    bool threaded = false;      // true if workers share it
    bool waking = false;        // true if it pays to wake sleeping workers
    std::vector<Chain> chains;  // where workers share these and not its phases; two or more
    /// Launches that copy what they find, unless that lies in its place: `threaded` and `chains`
    /// count on that. Else workers share the phases if `copying` is true.
    std::vector<uint32_t> copies;
    bool copying = false;
  };
  std::vector<Share> shares;  // of each section, and one for the end

  ShapeView shape(const Graph& graph, uint32_t place) const {
    return {extents.data() + extents_begin[place], graph.places[place].extents.size()};
  }
};

/// Values of the leaves for these inputs. Throws DataflowFailure.
void read_leaves(const Graph& graph, const DataflowShape& shape, std::span<const Value> inputs,
                 std::vector<int64_t>& out);

/// Throws DataflowFailure if the sizes are impossible or a check fails.
std::unique_ptr<DataflowPlan> make_plan(const Graph& graph, const DataflowShape& shape,
                                        const Executable& executable, std::vector<int64_t> key);

}  // namespace relay::vm
