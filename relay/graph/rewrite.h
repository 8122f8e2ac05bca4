// Rewrites the graphs of a program: a list of named rewrites, each in a file of its own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// An input of a computation that is better read in another form: its elements in another order, or
/// a transformation of it that each run of the computation would make.
struct ReplacedOperand {
  size_t input = 0;
  /// One input, the operand; one output, its new form.
  te::Computation form;
  /// The new computation: it has one input more, the last, which is the operand's form.
  te::Computation computation;
  bool prepared = false;  // Work::prepared
  /// A shortcut for computing the form, or null.
  Shortcut shortcut = {};
};

/// The first input of a work, among those for which `constant` is true, that is better read in
/// another form; nothing if there is none. It is asked again about its results, and by several
/// threads. It answers for the target and its kernels.
using FormOf = std::function<std::optional<ReplacedOperand>(
    const Work&, const std::function<bool(size_t input)>& constant)>;

struct RewriteOptions {
  FormOf packed_form = {};    // none: nothing is packed
  FormOf winograd_form = {};  // none: no convolution is computed in tiles
  /// True if kernels run a computation with two products block by block; none: works stay apart.
  std::function<bool(const te::Computation&)> runs_in_blocks = {};
  /// True if one kernel runs a computation row by row; none: works stay apart.
  std::function<bool(const te::Computation&)> runs_by_rows = {};
  /// Operators that works may have which rewrites join, as `relay.FuseOps.max_depth`.
  size_t most_operators = SIZE_MAX;
  int threads = 0;  // that look at works side by side; 0: one for each core
};

/// The graphs of a program while they are rewritten, with data that rewrites share.
class Rewriting {
 public:
  Rewriting(std::span<Graph> graphs, RewriteOptions options)
      : graphs_(graphs), options_(std::move(options)) {}

  std::span<Graph> graphs() { return graphs_; }
  const RewriteOptions& options() const { return options_; }

  /// A constant computed from others, or an equal one that was made before.
  ConstantRef computed(const te::Computation& computation, std::vector<ConstantRef> inputs,
                       Device device, Shortcut shortcut = {});
  /// The tensor of a graph that holds a constant, a new one if there is none.
  static uint32_t tensor_of(Graph& graph, const ConstantRef& constant, te::TensorInfo info,
                            Device device);

  /// Verifies the graphs; does not check works again.
  void verify_graphs();

  /// Constants that other parts of the program read unchanged.
  std::unordered_set<const Constant*> read_elsewhere;

 private:
  std::span<Graph> graphs_;
  RewriteOptions options_;
  std::unordered_set<WorkRef> verified_;
  std::map<std::string, std::shared_ptr<const te::Computation>> computations_;  // by text
  std::map<std::pair<const te::Computation*, std::vector<const Constant*>>, ConstantRef> made_;
};

/// The readers of a program's constants.
class ConstantReaders {
 public:
  explicit ConstantReaders(Rewriting& program);
  /// Inputs of works.
  using Readers = std::set<std::pair<const Work*, size_t>>;
  /// For each input of a node, true if it is a constant of several elements that another form may
  /// replace: a large one only if nobody else reads it, so that it is not kept twice. With
  /// `shared`, also constants with several readers, all of which would have to change.
  std::vector<bool> replaceable(const Graph& graph, const Node& node, bool shared = false) const;
  /// The inputs that read a constant.
  const Readers& of(const Constant& constant) const { return readers_.at(&constant); }

 private:
  bool may_replace(const Graph& graph, const Node& node, size_t input, bool shared) const;

  std::unordered_map<const Constant*, Readers> readers_;
  const std::unordered_set<const Constant*>& elsewhere_;
};

struct Rewrite {
  std::string_view name;
  std::string_view doc;
  /// Returns true if it changed anything.
  bool (*apply)(Rewriting&);
};

/// Drops outputs of works that nothing reads (rewrites/drop_outputs.cpp).
bool drop_outputs(Rewriting& program);
/// Splits parts that depend on constants alone off the works of nodes
/// (rewrites/prepare_constants.cpp).
bool prepare_constants(Rewriting& program);
/// Makes one work of two products and what stands between them, where that runs block by block
/// (rewrites/join_products.cpp).
bool join_products(Rewriting& program);
/// Makes works of results that have nothing in common (rewrites/split_outputs.cpp).
bool split_outputs(Rewriting& program);
/// Makes one work of works that go through the same rows, where one kernel keeps a row near
/// (rewrites/join_rows.cpp).
bool join_rows(Rewriting& program);
/// Makes one work of works that compute point by point over the same points
/// (rewrites/join_points.cpp).
bool join_points(Rewriting& program);
/// Computes convolutions in tiles if that costs less (rewrites/winograd.cpp).
bool winograd(Rewriting& program);
/// Lays constant operands out as kernels read them (rewrites/pack_operands.cpp).
bool pack_operands(Rewriting& program);

/// Computes operands of concatenations at their places in the result (rewrites/place_parts.cpp).
bool place_parts(Rewriting& program);

/// Runs what frees large tensors as soon as it can (rewrites/free_early.cpp).
bool free_early(Rewriting& program);

/// All rewrites, in the order in which they run.
std::span<const Rewrite> all_rewrites();

/// Sees the graphs before the first rewrite ("composed") and after each.
using RewriteObserver =
    std::function<void(std::string_view stage, std::span<const Graph> graphs, bool changed)>;

/// Runs all rewrites.
void rewrite(Rewriting& program, const RewriteObserver& observer = {});

}  // namespace relay::graph
