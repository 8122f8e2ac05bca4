#include <relay/lower/in_place.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

// The statements of a nest, as far as they count here, in the order of the text.
struct Contents {
  struct Written {
    const Store* store;
    size_t behind;  // the expressions before this one are evaluated when it takes place
  };
  std::vector<Written> stores;
  std::vector<te::ScalarRef> expressions;
  bool plain = true;    // nothing is written but by stores
  bool checks = false;  // it may fail
};

// Loops nest no deeper than a kernel has axes.
void collect(const Block& block, Contents& contents) {
  auto add = [&](const te::ScalarRef& expression) {
    if (expression) contents.expressions.push_back(expression);
  };
  for (const Stmt& statement : block) {
    if (const auto* loop = std::get_if<For>(&statement.node)) {
      add(loop->begin);
      add(loop->end);
      collect(loop->body, contents);
    } else if (const auto* let = std::get_if<Let>(&statement.node)) {
      add(let->value);
    } else if (const auto* store = std::get_if<Store>(&statement.node)) {
      for (const te::ScalarRef& index : store->indices) add(index);
      add(store->value);
      contents.stores.push_back({store, contents.expressions.size()});
    } else if (const auto* choice = std::get_if<If>(&statement.node)) {
      add(choice->condition);
      collect(choice->then_block, contents);
      collect(choice->else_block, contents);
    } else if (const auto* check = std::get_if<Check>(&statement.node)) {
      add(check->condition);
      add(check->index);
      add(check->extent);
      contents.checks = true;
    } else {
      contents.plain = false;  // folds and recurrences
    }
  }
}

bool same_indices(const std::vector<te::ScalarRef>& a, const std::vector<te::ScalarRef>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i]) && te::to_string(*a[i]) != te::to_string(*b[i])) return false;
  }
  return true;
}

// Where a buffer is read.
struct Reads {
  const std::vector<te::ScalarRef>* index = nullptr;  // of all loads; null: there are none
  bool one_place = true;                              // the indices are in range, and the same ones
  size_t behind = 0;  // the expressions that read it end before this one
};

std::vector<Reads> reads_of(const std::vector<Buffer>& buffers,
                            std::span<const te::ScalarRef> expressions) {
  std::vector<Reads> reads(buffers.size());
  for (size_t e = 0; e < expressions.size(); ++e) {
    for (const te::ScalarNode* node : te::post_order(expressions.subspan(e, 1))) {
      if (node->kind != te::ScalarKind::kLoad) continue;
      Reads& of = reads[static_cast<size_t>(node->tensor.index)];
      if (of.index == nullptr) of.index = &node->args;
      of.behind = e + 1;
      if (node->bounds != te::Bounds::kProven || !same_indices(node->args, *of.index))
        of.one_place = false;
    }
  }
  return reads;
}

// The buffers that are read at `index` alone, as large as the one that is written there, and not
// after the first `behind` expressions.
void add_read_where_written(const std::vector<Buffer>& buffers, const std::vector<Reads>& reads,
                            int32_t written, const std::vector<te::ScalarRef>& index, size_t behind,
                            std::vector<InPlace>& pairs) {
  const Buffer& out = buffers[static_cast<size_t>(written)];
  if (out.role != Buffer::Role::kOutput || out.dims.empty()) return;
  for (size_t k = 0; k < buffers.size(); ++k) {
    if (buffers[k].role != Buffer::Role::kInput || buffers[k].dtype != out.dtype) continue;
    if (reads[k].index == nullptr || !reads[k].one_place || reads[k].behind > behind) continue;
    if (buffers[k].dims != out.dims || !same_indices(*reads[k].index, index)) continue;
    pairs.push_back({written, static_cast<int32_t>(k), false});
  }
}

Contents contents_of(const Nest& nest) {
  Contents contents;
  if (nest.stores_apart) collect(nest.body, contents);
  return contents;
}

std::vector<InPlace> of_nest(const Nest& nest, const Contents& contents) {
  if (!contents.plain || contents.stores.empty()) return {};
  std::vector<size_t> times(nest.buffers.size(), 0);  // that a buffer is stored to in the text
  for (const Contents::Written& one : contents.stores)
    ++times[static_cast<size_t>(one.store->buffer)];
  const std::vector<Reads> reads = reads_of(nest.buffers, contents.expressions);
  std::vector<InPlace> pairs;
  // Stores that come first have the fewest to choose from, and so are the first to choose.
  for (const auto& [store, behind] : contents.stores) {
    if (times[static_cast<size_t>(store->buffer)] != 1) continue;
    add_read_where_written(nest.buffers, reads, store->buffer, store->indices, behind, pairs);
  }
  if (contents.stores.size() != 1 || contents.checks) return pairs;
  const te::ScalarNode& value = *contents.stores[0].store->value;
  for (InPlace& pair : pairs)
    pair.copy = value.kind == te::ScalarKind::kLoad && value.tensor.index == pair.read;
  return pairs;
}

// The sums are complete before anything is stored, in registers or in scratch memory, and each
// element is stored once.
std::vector<InPlace> of_contraction(const Contraction& contraction) {
  const std::vector<te::ScalarRef> expressions{contraction.lhs, contraction.rhs,
                                               contraction.epilogue};
  std::vector<InPlace> pairs;
  add_read_where_written(contraction.buffers, reads_of(contraction.buffers, expressions),
                         contraction.out, contraction.out_index, expressions.size(), pairs);
  return pairs;
}

}  // namespace

std::vector<InPlace> in_place_buffers(const Kernel& kernel) {
  if (const auto* nest = std::get_if<Nest>(&kernel.body)) return of_nest(*nest, contents_of(*nest));
  if (const auto* contraction = std::get_if<Contraction>(&kernel.body))
    return of_contraction(*contraction);
  return {};  // blocks read what others may have written
}

std::vector<int32_t> ordered_buffers(const Kernel& kernel) {
  std::vector<int32_t> first(kernel.buffers().size());
  std::iota(first.begin(), first.end(), 0);
  const auto* nest = std::get_if<Nest>(&kernel.body);
  if (nest == nullptr) return first;
  const Contents contents = contents_of(*nest);
  if (contents.stores.size() < 2) return first;
  for (const InPlace& pair : of_nest(*nest, contents)) {
    const int32_t a = first[static_cast<size_t>(pair.written)];
    const int32_t b = first[static_cast<size_t>(pair.read)];
    std::replace(first.begin(), first.end(), std::max(a, b), std::min(a, b));
  }
  return first;
}

}  // namespace relay::lower
