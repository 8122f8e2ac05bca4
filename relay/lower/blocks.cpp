#include <relay/lower/blocks.h>

#include <algorithm>
#include <unordered_map>

#include <relay/ir/numbered_symbol.h>
#include <relay/lower/contraction.h>
#include <relay/lower/packing.h>
#include <relay/lower/prepare.h>
#include <relay/lower/stage_copier.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Axis;
using te::Computation;
using te::Map;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;
using Names = std::unordered_map<uint32_t, ScalarRef>;

/// A block has as many rows as tiles of a product need to read its factors seldom, but no more than
/// give every worker some.
constexpr int64_t kLeastRows = 24, kMostRows = 96;
/// Rows beside the cut that a block has at most.
constexpr int64_t kMostTogether = 16;

const Map* map_of(const Computation& c, size_t stage) {
  return std::get_if<Map>(&c.stages[stage].body);
}

bool has(const std::vector<size_t>& list, size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class Chains {
 public:
  Chains(const Computation& computation, const Processor& processor, BlocksIf blocks_if)
      : c_(computation), processor_(processor), small_(blocks_if == BlocksIf::kPossible) {
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      const Map* map = map_of(c_, s);
      products_.push_back(map != nullptr && is_contraction(*map, c_.num_axes, c_.num_vars));
    }
  }

  std::optional<BlockChain> find() {
    for (size_t last = 0; last < c_.stages.size(); ++last) {
      if (!products_[last]) continue;
      std::optional<BlockChain> chain = chain_to(last);
      if (chain && give_rows(*chain) && is_private(*chain) && choose_cut(*chain)) return chain;
    }
    return std::nullopt;
  }

 private:
  /// The stages from the only product that `last` depends on.
  std::optional<BlockChain> chain_to(size_t last) const {
    std::vector<bool> below(c_.stages.size());
    below[last] = true;
    std::optional<size_t> first;
    for (size_t s = last + 1; s-- > 0;) {
      if (!below[s]) continue;
      if (s != last && products_[s]) {
        if (first) return std::nullopt;
        first = s;
        continue;  // what it reads stays outside
      }
      for (TensorId id : te::stage_reads(c_.stages[s])) {
        if (!id.is_input()) below[static_cast<size_t>(id.stage)] = true;
      }
    }
    if (!first) return std::nullopt;
    BlockChain chain;
    chain.stages.push_back(*first);
    for (size_t s = *first + 1; s <= last; ++s) {
      if (!below[s]) continue;
      std::vector<TensorId> reads = te::stage_reads(c_.stages[s]);
      if (std::any_of(reads.begin(), reads.end(), [&](TensorId id) {
            return !id.is_input() && has(chain.stages, static_cast<size_t>(id.stage));
          })) {
        chain.stages.push_back(s);
      }
    }
    const bool maps = std::all_of(chain.stages.begin(), chain.stages.end(),
                                  [&](size_t s) { return map_of(c_, s) != nullptr; });
    return maps && chain.stages.size() > 1 ? std::optional(std::move(chain)) : std::nullopt;
  }

  /// Finds the rows: axes that only the left factor of the first product has, or both, and that
  /// every stage goes along.
  bool give_rows(BlockChain& chain) const {
    std::optional<Contraction> first = contraction_of(c_, chain.stages[0]);
    if (!first) return false;
    const Map& map = *map_of(c_, chain.stages[0]);
    chain.row_of.resize(chain.stages.size());
    chain.row_of[0].resize(map.axes.size());
    auto among = [](const std::vector<Axis>& axes, const Axis& axis) {
      return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.id == axis.id; });
    };
    bool has_columns = false;
    for (size_t a = 0; a < map.axes.size(); ++a) {
      if (map.axes[a].extent.is_int(1)) continue;
      if (among(first->columns, map.axes[a])) {
        has_columns = true;
      } else if (among(first->rows, map.axes[a]) || among(first->batch, map.axes[a])) {
        chain.row_of[0][a] = chain.rows.size();
        chain.rows.push_back(map.axes[a].extent);
      } else {
        return false;
      }
    }
    if (!has_columns || chain.rows.empty()) return false;
    for (size_t k = 1; k < chain.stages.size(); ++k) {
      if (!follow_rows(chain, k)) return false;
    }
    return true;
  }

  bool follow_rows(BlockChain& chain, size_t k) const {
    const Map& map = *map_of(c_, chain.stages[k]);
    std::vector<std::optional<size_t>>& row_of = chain.row_of[k];
    row_of.resize(map.axes.size());
    std::vector<bool> found(chain.rows.size());
    for (const ScalarNode* node : te::post_order(map.values)) {
      if (node->kind != ScalarKind::kLoad || node->tensor.is_input()) continue;
      auto from = std::find(chain.stages.begin(), chain.stages.end(),
                            static_cast<size_t>(node->tensor.stage));
      if (from == chain.stages.end()) continue;
      if (node->bounds != te::Bounds::kProven) return false;
      const auto& rows = chain.row_of[static_cast<size_t>(from - chain.stages.begin())];
      for (size_t d = 0; d < node->args.size(); ++d) {
        if (!rows[d]) continue;
        const ScalarNode& index = *node->args[d];
        size_t a = 0;
        while (a < map.axes.size() &&
               !(index.kind == ScalarKind::kIndex && index.axis == map.axes[a].id))
          ++a;
        if (a == map.axes.size() || !(map.axes[a].extent == chain.rows[*rows[d]])) return false;
        if (row_of[a] && *row_of[a] != *rows[d]) return false;
        row_of[a] = rows[d];
        found[*rows[d]] = true;
      }
    }
    // Each row is one axis.
    std::vector<size_t> count(chain.rows.size());
    for (const auto& row : row_of) {
      if (row) ++count[*row];
    }
    return std::all_of(count.begin(), count.end(), [](size_t n) { return n == 1; });
  }

  /// True if no other stage reads tensors of stages before the last, nor are they results.
  bool is_private(const BlockChain& chain) const {
    auto inner = [&](TensorId id) {
      return !id.is_input() && has(chain.stages, static_cast<size_t>(id.stage)) &&
             static_cast<size_t>(id.stage) != chain.stages.back();
    };
    for (size_t s = 0; s < c_.stages.size(); ++s) {
      if (has(chain.stages, s)) continue;
      std::vector<TensorId> reads = te::stage_reads(c_.stages[s]);
      if (std::any_of(reads.begin(), reads.end(), inner)) return false;
    }
    return std::none_of(c_.outputs.begin(), c_.outputs.end(),
                        [&](const te::Output& output) { return inner(output.tensor); });
  }

  /// True if a row is one that the right factors of both products do not depend on.
  bool is_row(const BlockChain& chain, size_t row) const {
    for (size_t k : {size_t{0}, chain.stages.size() - 1}) {
      std::optional<Contraction> product = contraction_of(c_, chain.stages[k]);
      if (!product) return false;
      const Map& map = *map_of(c_, chain.stages[k]);
      const bool found =
          std::any_of(product->rows.begin(), product->rows.end(), [&](const Axis& axis) {
            for (size_t a = 0; a < map.axes.size(); ++a)
              if (map.axes[a].id == axis.id) return chain.row_of[k][a] == row;
            return false;
          });
      if (!found) return false;
    }
    return true;
  }

  /// Cuts the longest row; short ones beside it, such as heads that share their keys, stay whole.
  bool choose_cut(BlockChain& chain) const {
    std::optional<size_t> cut;
    chain.whole.resize(chain.rows.size());
    for (size_t r = 0; r < chain.rows.size(); ++r) {
      if (!is_row(chain, r)) continue;
      chain.whole[r] = chain.rows[r].is_int() && chain.rows[r].as_int() <= kMostTogether;
      auto is_longer = [](Dim a, Dim b) {
        return !a.is_int() || (b.is_int() && a.as_int() > b.as_int());
      };
      if (!cut || is_longer(chain.rows[r], chain.rows[*cut])) cut = r;
    }
    if (!cut) return false;
    chain.cut = *cut;
    chain.whole[*cut] = false;
    return choose_size(chain);
  }

  bool choose_size(BlockChain& chain) const {
    Dim others = 1, bytes = 0;  // of one index of the cut, outer rows at one index
    int64_t together = 1;
    for (size_t r = 0; r < chain.rows.size(); ++r) {
      if (r != chain.cut && !chain.whole[r]) others = others * chain.rows[r];
      if (chain.whole[r]) together *= chain.rows[r].as_int();
    }
    if (together > kMostTogether) return false;
    // The tensors of products; what is between is kept for a row at a time.
    const std::vector<TensorId> factors = te::stage_reads(c_.stages[chain.stages.back()]);
    for (size_t k = 0; k + 1 < chain.stages.size(); ++k) {
      const TensorId made{static_cast<int32_t>(chain.stages[k]), 0};
      if (k > 0 && std::find(factors.begin(), factors.end(), made) == factors.end()) continue;
      for (const te::TensorInfo& info : c_.stages[chain.stages[k]].outputs) {
        Dim row = static_cast<int64_t>(info.dtype.size());
        for (size_t d = 0; d < info.dims.size(); ++d) {
          if (!chain.row_of[k][d] || chain.whole[*chain.row_of[k][d]]) row = row * info.dims[d];
        }
        bytes = bytes + row;
      }
    }
    const Dim rows = chain.rows[chain.cut];
    if (small_) {
      constexpr int64_t kFew = 5;
      chain.size = min(rows, Dim(kFew));
      chain.count = ceil_div(rows, Dim(kFew));
      return true;
    }
    if (rows.is_int() && rows.as_int() * together < kLeastRows) return false;
    const Dim all = bytes * rows * others;
    // Smaller tensors between products stay in a cache as they are.
    if (all.is_int() && all.as_int() < 4 * processor_.second_bytes) return false;
    // A block's part of them stays in the second cache.
    const int64_t room = processor_.second_bytes / 2;
    if (!bytes.is_int()) {
      const Dim open = shared_by_workers(open_size(bytes, room, together), rows, others);
      chain.size = min(rows, open);
      chain.count = ceil_div(rows, open);
      return true;
    }
    int64_t size =
        std::clamp(together * (room / std::max<int64_t>(bytes.as_int(), 1)), kLeastRows, kMostRows);
    // In whole tiles of a product's rows.
    constexpr int64_t kStep = 8;
    auto in_steps = [&](int64_t n) {
      return together > 1 ? n : std::max(n / kStep, int64_t{1}) * kStep;
    };
    size = in_steps(std::max(size / together, int64_t{1}));
    if (rows.is_int()) {
      const int64_t count = (rows.as_int() + size - 1) / size;
      size = std::min(rows.as_int(), in_steps((rows.as_int() + count - 1) / count +
                                              (together > 1 ? 0 : kStep - 1)));
    }
    chain.size = min(rows, Dim(size));
    chain.count = ceil_div(rows, Dim(size));
    return true;
  }

  // So few indices that there are blocks for several workers, if there are rows for them.
  static Dim shared_by_workers(Dim size, Dim rows, Dim others) {
    constexpr int64_t kLeastBlocks = 8;
    return min(size, max(Dim(1), ceil_div(rows * others, Dim(kLeastBlocks))));
  }

  // The indices of a block whose columns a run decides: as many as leave the tensors between the
  // products in so many bytes, but enough for tiles unless that takes too much scratch.
  static Dim open_size(Dim bytes, int64_t room, int64_t together) {
    constexpr int64_t kStep = 8, kMostScratch = 64 << 20;
    const Dim row = max(bytes, Dim(1));
    const int64_t step = together > 1 ? 1 : kStep;
    const Dim near = floor_div(Dim(room), row * step) * Dim(step);
    const Dim few = min(Dim(std::max<int64_t>(kLeastRows / together, 1)),
                        max(Dim(1), floor_div(Dim(kMostScratch), row)));
    return min(Dim(std::max<int64_t>(kMostRows / together, 1)), max(near, few));
  }

  const Computation& c_;
  const Processor& processor_;
  const bool small_;
  std::vector<bool> products_;
};

/// True if a map's elements are those of the tensor that it reads, in the same order.
bool is_same_order(const Map& map, const te::TensorInfo& source, const te::TensorInfo& result) {
  const ScalarNode& load = *map.values[0];
  if (load.kind != ScalarKind::kLoad || load.bounds != te::Bounds::kProven ||
      !(product(source.dims) == product(result.dims)))
    return false;
  std::vector<ScalarRef> index;
  for (const Axis& axis : map.axes) index.push_back(te::index_of(axis).ref());
  const te::Affine distance =
      te::affine_offset(load.args, source.dims) + te::affine_offset(index, result.dims) * Dim(-1);
  if (!distance.others.empty() || !distance.constant.is_int(0)) return false;
  return std::all_of(distance.terms.begin(), distance.terms.end(),
                     [&](const te::Affine::Term& term) {
                       return std::any_of(map.axes.begin(), map.axes.end(), [&](const Axis& axis) {
                         return axis.id == term.axis && axis.extent.is_int(1);
                       });
                     });
}

/// The tensor in that shape, without a copy.
te::Stage same_memory(TensorId source, const te::TensorInfo& shape) {
  te::View view{source, 0, shape.dims, std::vector<Dim>(shape.dims.size(), 1)};
  for (size_t d = shape.dims.size(); d-- > 1;)
    view.strides[d - 1] = view.strides[d] * shape.dims[d];
  te::Stage stage;
  stage.body = std::move(view);
  stage.outputs.push_back(shape);
  return stage;
}

/// Puts a stage that computes a form of an input in front, in place of the last input.
Computation with_form(Computation changed, const Computation& form, size_t operand) {
  const TensorId given{-1, static_cast<int32_t>(changed.inputs.size()) - 1};
  changed.inputs.pop_back();
  StageCopier copier(changed);
  // A packing is one map without folds.
  te::Stage stage = te::moved_stage(form.stages[0], [&](TensorId) {
    return TensorId{-1, static_cast<int32_t>(operand)};
  });
  Map map = std::get<Map>(stage.body);
  Names names;
  for (Axis& axis : map.axes) {
    const Axis fresh = copier.new_axis(axis.extent);
    names.emplace(axis.id, te::index_of(fresh).ref());
    axis = fresh;
  }
  for (ScalarRef& value : map.values) value = substitute(value, names);
  const TensorId source{-1, static_cast<int32_t>(operand)};
  if (is_same_order(map, copier.info(source), stage.outputs[0]))
    stage = same_memory(source, stage.outputs[0]);
  else
    stage.body = std::move(map);
  const TensorId packed = copier.add(std::move(stage));
  for (const te::Stage& old : changed.stages) {
    copier.place(
        te::moved_stage(old, [&](TensorId id) { return id == given ? packed : copier.moved(id); }));
  }
  return copier.finish();
}

}  // namespace

std::optional<BlockChain> find_blocks(const Computation& computation, const Processor& processor,
                                      BlocksIf blocks_if) {
  if (blocks_if == BlocksIf::kNever || computation.stages.size() < 2) return std::nullopt;
  return Chains(computation, processor, blocks_if).find();
}

bool runs_in_blocks(const Computation& computation, const Processor& processor) {
  return find_blocks(prepare(computation), processor).has_value();
}

Computation with_packed_factors(const Computation& computation, const BlockChain& chain,
                                const Processor& processor) {
  std::vector<size_t> factors;
  for (size_t stage : {chain.stages.front(), chain.stages.back()}) {
    std::optional<Contraction> product = contraction_of(computation, stage);
    const ScalarNode* load = product ? only_load(product->rhs) : nullptr;
    if (load == nullptr) continue;
    const auto buffer = static_cast<size_t>(load->tensor.index);
    if (buffer < computation.inputs.size() && !has(factors, buffer)) factors.push_back(buffer);
  }
  Computation result = computation;
  for (size_t factor : factors) {
    std::optional<PackedOperand> packed = packing_of(
        result, [&](size_t input) { return input == factor; }, processor, /*prepared=*/true);
    if (packed && packed->side == PackedOperand::Side::kColumns &&
        packed->packing.stages.size() == 1)
      result = with_form(std::move(packed->computation), packed->packing, factor);
  }
  return result;
}

namespace {

/// Makes the computation of one block from the stages of all.
class BlockMaker {
 public:
  BlockMaker(const Computation& computation, const BlockChain& chain)
      : computation_(computation), chain_(chain) {}

  OneBlock run() {
    count_rows();
    choose_columns();
    Computation& c = block_.computation;
    c.inputs = computation_.inputs;
    c.num_axes = computation_.num_axes;
    c.num_vars = computation_.num_vars;
    for (size_t k = 0; k < chain_.stages.size(); ++k) c.stages.push_back(stage(k));
    const auto last = static_cast<int32_t>(c.stages.size()) - 1;
    c.outputs.push_back({{last, 0}, c.stages.back().outputs[0].dims});
    for (const auto& row : chain_.row_of.back())
      block_.begin.push_back(row ? begin_[*row] : Dim(0));
    c.verify();
    return std::move(block_);
  }

 private:
  void count_rows() {
    for (size_t r = 0; r < chain_.rows.size(); ++r) {
      if (chain_.whole[r]) {
        begin_.emplace_back(0);
        continue;
      }
      const Dim symbol = numbered_symbol("c", block_.counters.size());
      const bool cut = r == chain_.cut;
      block_.counters.push_back({symbol, cut ? chain_.count : chain_.rows[r]});
      begin_.push_back(!cut ? symbol
                       : chain_.count.is_int(1)
                           ? Dim(0)
                           : min(symbol * chain_.size, chain_.rows[r] - chain_.size));
    }
  }

  void choose_columns() {
    // A whole number of panels is as quick as a part.
    constexpr int64_t kColumns = 64;
    seen_ = seen_columns(computation_, chain_);
    if (!seen_) return;
    const Dim end = begin_[chain_.cut] + chain_.size + seen_->offset;
    columns_ = min(seen_->extent, max(Dim(1), ceil_div(end, kColumns) * Dim(kColumns)));
  }

  bool narrow(Axis& axis) const {
    const bool narrowed =
        seen_ && std::find(seen_->axes.begin(), seen_->axes.end(), axis.id) != seen_->axes.end();
    if (narrowed) axis.extent = columns_;
    return narrowed;
  }

  TensorId moved(TensorId id) {
    if (id.is_input()) return id;
    auto at = std::find(chain_.stages.begin(), chain_.stages.end(), static_cast<size_t>(id.stage));
    if (at != chain_.stages.end())
      return {static_cast<int32_t>(at - chain_.stages.begin()), id.index};
    auto known = std::find(block_.tensors.begin(), block_.tensors.end(), id);
    if (known == block_.tensors.end()) {
      known = block_.tensors.insert(known, id);
      block_.computation.inputs.push_back(computation_.info(id));
    }
    return {-1, static_cast<int32_t>(computation_.inputs.size() +
                                     static_cast<size_t>(known - block_.tensors.begin()))};
  }

  te::Stage stage(size_t k) {
    te::Stage stage = computation_.stages[chain_.stages[k]];
    auto& map = std::get<Map>(stage.body);
    Names shifted;
    for (size_t a = 0; a < map.axes.size(); ++a) {
      if (narrow(map.axes[a])) {
        for (te::TensorInfo& output : stage.outputs) output.dims[a] = columns_;
      }
      if (!chain_.row_of[k][a]) continue;
      const size_t row = *chain_.row_of[k][a];
      if (chain_.whole[row]) continue;
      map.axes[a].extent = row == chain_.cut ? chain_.size : Dim(1);
      for (te::TensorInfo& output : stage.outputs) output.dims[a] = map.axes[a].extent;
      const te::Scalar at = te::index_of(map.axes[a]);
      shifted.emplace(map.axes[a].id, row == chain_.cut ? (at + te::from_dim(begin_[row])).ref()
                                                        : te::from_dim(begin_[row]).ref());
    }
    te::ScalarRewriter place(
        [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
          return placed(*node, args, shifted);
        });
    for (ScalarRef& value : map.values) value = place(value);
    return stage;
  }

  // A node where the block is; null if it is the same there. Tensors of the block are read at its
  // own rows, others where the block is.
  ScalarRef placed(const te::ScalarNode& node, const std::vector<ScalarRef>& args,
                   const Names& shifted) {
    if (node.kind == ScalarKind::kIndex) {
      auto found = shifted.find(node.axis);
      return found == shifted.end() ? ScalarRef() : found->second;
    }
    if (node.kind == ScalarKind::kFold && seen_) {
      Ref<te::ScalarNode> fold = te::copy_node(node);
      fold->args = args;
      for (Axis& axis : fold->axes) narrow(axis);
      return fold;
    }
    if (node.kind != ScalarKind::kLoad) return {};
    Ref<te::ScalarNode> load = te::copy_node(node);
    load->tensor = moved(node.tensor);
    load->args = args;
    if (load->tensor.is_input()) return load;
    const auto& rows = chain_.row_of[static_cast<size_t>(load->tensor.stage)];
    for (size_t d = 0; d < rows.size(); ++d) {
      if (!rows[d]) continue;
      const bool inside = *rows[d] == chain_.cut || chain_.whole[*rows[d]];
      load->args[d] = inside ? node.args[d] : te::index_constant(0).ref();
    }
    return load;
  }

  const Computation& computation_;
  const BlockChain& chain_;
  OneBlock block_;
  std::vector<Dim> begin_;  // of rows
  std::optional<SeenColumns> seen_;
  Dim columns_ = 0;
};

}  // namespace

OneBlock one_block(const Computation& computation, const BlockChain& chain) {
  return BlockMaker(computation, chain).run();
}

}  // namespace relay::lower
