// Expensive values that a fold over a row and a later stage both need become a stage of their own,
// which stays in the cache as long as the row is worked on (the exponentials of a softmax).
#include <algorithm>

#include <relay/lower/prepare.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Computation;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

constexpr int64_t kMaxRow = 1 << 15;

bool is_expensive(const ScalarRef& root) {
  std::vector<ScalarRef> roots{root};
  for (const ScalarNode* node : te::post_order(roots)) {
    if (node->kind == ScalarKind::kFold) return false;
  }
  for (const ScalarNode* node : te::post_order(roots)) {
    if (node->kind == ScalarKind::kUnary && scalar_op(node->unary).cost == ScalarCost::kFunction)
      return true;
    if (node->kind == ScalarKind::kBinary && scalar_op(node->binary).cost == ScalarCost::kFunction)
      return true;
  }
  return false;
}

/// A fold over one contiguous row that is evaluated in any case; null for any other stage.
const ScalarNode* row_fold(const te::Map& map) {
  const ScalarNode* fold = nullptr;
  const std::vector<const ScalarNode*> nodes = te::post_order(map.values);
  for (const ScalarNode* node : nodes) {
    if (node->kind == ScalarKind::kFail) return nullptr;
    if (node->kind != ScalarKind::kFold) continue;
    if (fold != nullptr) return nullptr;
    fold = node;
  }
  if (fold == nullptr || fold->axes.size() != 1 || fold->args.size() != 1) return nullptr;
  // A select around the fold may leave it out; one among its elements, as of a mask, does not.
  const std::vector<const ScalarNode*> elements = te::post_order(fold->args);
  for (const ScalarNode* node : nodes) {
    if (node->kind == ScalarKind::kSelect &&
        std::find(elements.begin(), elements.end(), node) == elements.end())
      return nullptr;
  }
  const Axis& axis = fold->axes[0];
  if (axis.extent.is_int() && (axis.extent.as_int() < 2 || axis.extent.as_int() > kMaxRow)) {
    return nullptr;
  }
  for (const ScalarNode* node : elements) {
    if (node->kind != ScalarKind::kLoad || node->args.empty()) continue;
    const ScalarNode& last = *node->args.back();
    if (last.kind == ScalarKind::kIndex && last.axis == axis.id) return fold;
  }
  return nullptr;
}

/// A node of a later stage that computes the fold's value again, and its axis along the row.
struct Again {
  const ScalarNode* node = nullptr;
  std::vector<ScalarRef> row;  // its indices for the fold's stage
  Axis along;
};

std::optional<Again> find_again(const te::Map& user, TensorId folded, const te::Map& map,
                                const ScalarNode& fold) {
  for (const ScalarNode* load : te::post_order(user.values)) {
    if (load->kind != ScalarKind::kLoad || load->tensor != folded ||
        load->bounds != te::Bounds::kProven) {
      continue;
    }
    std::unordered_map<uint32_t, ScalarRef> names;
    std::vector<uint32_t> used;
    for (size_t d = 0; d < load->args.size(); ++d) {
      if (load->args[d]->kind == ScalarKind::kIndex) used.push_back(load->args[d]->axis);
      names.emplace(map.axes[d].id, load->args[d]);
    }
    for (const Axis& axis : user.axes) {
      if (axis.extent != fold.axes[0].extent ||
          std::find(used.begin(), used.end(), axis.id) != used.end()) {
        continue;
      }
      names[fold.axes[0].id] = te::index_of(axis).ref();
      ScalarRef wanted = substitute(fold.args[0], names);
      std::string text = te::to_string(*wanted);
      for (const ScalarNode* node : te::post_order(user.values)) {
        if (node->kind == wanted->kind && node->dtype == wanted->dtype &&
            node->unary == wanted->unary && node->binary == wanted->binary &&
            te::to_string(*node) == text) {
          return Again{node, load->args, axis};
        }
      }
    }
  }
  return std::nullopt;
}

/// Makes room for a stage.
void insert_stage(Computation& c, size_t at, te::Stage stage) {
  auto moved = [&](TensorId id) {
    if (!id.is_input() && id.stage >= static_cast<int32_t>(at)) ++id.stage;
    return id;
  };
  for (size_t s = at; s < c.stages.size(); ++s) {
    ScalarRewriter rewrite = moved_loads(moved);
    rewrite_roots(c.stages[s], [&](const ScalarRef& root) { return rewrite(root); });
    if (auto* view = std::get_if<te::View>(&c.stages[s].body)) view->source = moved(view->source);
    if (auto* update = std::get_if<te::Update>(&c.stages[s].body)) {
      update->base = moved(update->base);
    }
    if (auto* library = std::get_if<te::Library>(&c.stages[s].body)) {
      for (TensorId& id : library->inputs) id = moved(id);
    }
  }
  for (te::Output& output : c.outputs) output.tensor = moved(output.tensor);
  c.stages.insert(c.stages.begin() + static_cast<std::ptrdiff_t>(at), std::move(stage));
}

ScalarRef replaced(const ScalarRef& root, const ScalarNode* what, const ScalarRef& by) {
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == what ? by : ScalarRef();
  });
  return rewrite(root);
}

}  // namespace

std::optional<SharedRow> share_row(const Computation& computation) {
  for (size_t s = 0; s < computation.stages.size(); ++s) {
    const auto* map = std::get_if<te::Map>(&computation.stages[s].body);
    if (map == nullptr || map->values.size() != 1) continue;
    const ScalarNode* fold = row_fold(*map);
    if (fold == nullptr || !is_expensive(fold->args[0])) continue;
    for (size_t t = s + 1; t < computation.stages.size(); ++t) {
      const auto* user = std::get_if<te::Map>(&computation.stages[t].body);
      if (user == nullptr) continue;
      std::optional<Again> again = find_again(*user, {static_cast<int32_t>(s), 0}, *map, *fold);
      if (!again) continue;

      Computation c = computation;
      te::Map row;
      te::TensorInfo info{{}, fold->args[0]->dtype};
      std::unordered_map<uint32_t, ScalarRef> names;
      std::vector<ScalarRef> here, there = again->row;
      auto add = [&](const Axis& axis) {
        row.axes.push_back({c.num_axes++, axis.extent});
        info.dims.push_back(axis.extent);
        names.emplace(axis.id, te::index_of(row.axes.back()).ref());
        here.push_back(te::index_of(axis).ref());
      };
      for (const Axis& axis : map->axes) add(axis);
      add(fold->axes[0]);
      there.push_back(te::index_of(again->along).ref());
      row.values.push_back(substitute(fold->args[0], names));
      auto load = [&](std::vector<ScalarRef> index) {
        auto node = new_node(ScalarKind::kLoad, info.dtype);
        node->tensor = {static_cast<int32_t>(s), 0};
        node->bounds = te::Bounds::kProven;
        node->args = std::move(index);
        return ScalarRef(node);
      };
      // The new loads name the new stage, so they come after the others have been renamed.
      ScalarRef mark_here = te::placeholder(c.num_vars++, info.dtype).ref();
      ScalarRef mark_there = te::placeholder(c.num_vars++, info.dtype).ref();
      Ref<ScalarNode> shorter = copy_node(*fold);
      shorter->args[0] = mark_here;
      auto& first = std::get<te::Map>(c.stages[s].body);
      first.values[0] = replaced(first.values[0], fold, shorter);
      for (ScalarRef& value : std::get<te::Map>(c.stages[t].body).values) {
        value = replaced(value, again->node, mark_there);
      }
      te::Stage stage;
      stage.outputs.push_back(info);
      stage.body = std::move(row);
      insert_stage(c, s, std::move(stage));
      std::unordered_map<uint32_t, ScalarRef> loads{{mark_here->id, load(here)},
                                                    {mark_there->id, load(there)}};
      for (size_t stage_of : {s + 1, t + 1}) {
        for (ScalarRef& value : std::get<te::Map>(c.stages[stage_of].body).values) {
          value = substitute(value, {}, loads);
        }
      }
      return SharedRow{std::move(c), s, s + 1, t + 1};
    }
  }
  return std::nullopt;
}

}  // namespace relay::lower
