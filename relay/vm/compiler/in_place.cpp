#include <relay/vm/compiler/in_place.h>

#include <string>

#include <relay/tensor_expr/walk.h>

namespace relay::vm {
namespace {

// The statements of a nest, as far as they count here.
struct Contents {
  std::vector<const lower::Store*> stores;
  std::vector<te::ScalarRef> expressions;
  bool plain = true;  // nothing is written but by stores, and no store runs again
};

// Loops nest no deeper than a kernel has axes.
void collect(const lower::Block& block, Contents& contents) {
  auto add = [&](const te::ScalarRef& expression) {
    if (expression) contents.expressions.push_back(expression);
  };
  for (const lower::Stmt& statement : block) {
    if (const auto* loop = std::get_if<lower::For>(&statement.node)) {
      add(loop->begin);
      add(loop->end);
      collect(loop->body, contents);
    } else if (const auto* let = std::get_if<lower::Let>(&statement.node)) {
      add(let->value);
    } else if (const auto* store = std::get_if<lower::Store>(&statement.node)) {
      contents.stores.push_back(store);
      for (const te::ScalarRef& index : store->indices) add(index);
      add(store->value);
    } else if (const auto* choice = std::get_if<lower::If>(&statement.node)) {
      add(choice->condition);
      collect(choice->then_block, contents);
      collect(choice->else_block, contents);
    } else if (const auto* check = std::get_if<lower::Check>(&statement.node)) {
      add(check->condition);
      if (check->index.get() != nullptr) add(check->index);
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

}  // namespace

std::vector<std::pair<int32_t, int32_t>> in_place_buffers(const lower::Kernel& kernel) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto* nest = std::get_if<lower::Nest>(&kernel.body);
  if (nest == nullptr || kernel.implementation != "pointwise") return pairs;
  Contents contents;
  collect(nest->body, contents);
  if (!contents.plain || contents.stores.size() != 1) return pairs;
  const lower::Store& store = *contents.stores[0];
  const lower::Buffer& out = nest->buffers[static_cast<size_t>(store.buffer)];
  if (out.role != lower::Buffer::Role::kOutput) return pairs;

  std::vector<char> fits(nest->buffers.size(), 0);
  for (size_t k = 0; k < nest->buffers.size(); ++k) {
    const lower::Buffer& buffer = nest->buffers[k];
    fits[k] = buffer.role == lower::Buffer::Role::kInput && buffer.dtype == out.dtype &&
              buffer.dims == out.dims && !buffer.dims.empty();
  }
  std::vector<char> read(nest->buffers.size(), 0);
  for (const te::ScalarNode* node : te::post_order(contents.expressions)) {
    if (node->kind != te::ScalarKind::kLoad) continue;
    auto k = static_cast<size_t>(node->tensor.index);
    read[k] = 1;
    if (node->bounds != te::Bounds::kProven || !same_indices(node->args, store.indices))
      fits[k] = 0;
  }
  for (size_t k = 0; k < fits.size(); ++k) {
    if (fits[k] != 0 && read[k] != 0) pairs.emplace_back(store.buffer, static_cast<int32_t>(k));
  }
  return pairs;
}

}  // namespace relay::vm
