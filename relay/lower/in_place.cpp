#include <relay/lower/in_place.h>

#include <span>
#include <string>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

// The statements of a nest, as far as they count here.
struct Contents {
  std::vector<const Store*> stores;
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
      contents.stores.push_back(store);
      for (const te::ScalarRef& index : store->indices) add(index);
      add(store->value);
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

// The buffers that are read at `index` alone, as large as the one that is written there.
std::vector<InPlace> read_where_written(const std::vector<Buffer>& buffers, int32_t written,
                                        const std::vector<te::ScalarRef>& index,
                                        std::span<const te::ScalarRef> expressions) {
  const Buffer& out = buffers[static_cast<size_t>(written)];
  std::vector<char> fits(buffers.size(), 0), read(buffers.size(), 0);
  for (size_t k = 0; k < buffers.size(); ++k) {
    fits[k] = buffers[k].role == Buffer::Role::kInput && buffers[k].dtype == out.dtype &&
              buffers[k].dims == out.dims && !out.dims.empty();
  }
  for (const te::ScalarNode* node : te::post_order(expressions)) {
    if (node->kind != te::ScalarKind::kLoad) continue;
    auto k = static_cast<size_t>(node->tensor.index);
    read[k] = 1;
    if (node->bounds != te::Bounds::kProven || !same_indices(node->args, index)) fits[k] = 0;
  }
  std::vector<InPlace> pairs;
  for (size_t k = 0; k < fits.size(); ++k) {
    if (fits[k] != 0 && read[k] != 0) pairs.push_back({written, static_cast<int32_t>(k), false});
  }
  return pairs;
}

std::vector<InPlace> of_nest(const Nest& nest) {
  if (!nest.stores_apart) return {};
  Contents contents;
  collect(nest.body, contents);
  if (!contents.plain || contents.stores.size() != 1) return {};
  const Store& store = *contents.stores[0];
  if (nest.buffers[static_cast<size_t>(store.buffer)].role != Buffer::Role::kOutput) return {};
  std::vector<InPlace> pairs =
      read_where_written(nest.buffers, store.buffer, store.indices, contents.expressions);
  for (InPlace& pair : pairs) {
    pair.copy = !contents.checks && store.value->kind == te::ScalarKind::kLoad &&
                store.value->tensor.index == pair.read;
  }
  return pairs;
}

// The sums are complete before anything is stored, in registers or in scratch memory, and each
// element is stored once.
std::vector<InPlace> of_contraction(const Contraction& contraction) {
  std::vector<te::ScalarRef> expressions{contraction.lhs, contraction.rhs, contraction.epilogue};
  return read_where_written(contraction.buffers, contraction.out, contraction.out_index,
                            expressions);
}

}  // namespace

std::vector<InPlace> in_place_buffers(const Kernel& kernel) {
  if (const auto* nest = std::get_if<Nest>(&kernel.body)) return of_nest(*nest);
  if (const auto* contraction = std::get_if<Contraction>(&kernel.body))
    return of_contraction(*contraction);
  return {};  // blocks read what others may have written
}

}  // namespace relay::lower
