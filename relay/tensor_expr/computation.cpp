#include <relay/tensor_expr/computation.h>

#include <algorithm>
#include <unordered_set>

#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

class Verifier {
 public:
  explicit Verifier(const Computation& computation) : computation_(computation) {}

  void run() {
    for (const TensorInfo& info : computation_.inputs) check_info(info);
    for (size_t i = 0; i < computation_.stages.size(); ++i) {
      stage_ = i;
      const Stage& stage = computation_.stages[i];
      check(!stage.outputs.empty(), "a stage without outputs");
      for (const TensorInfo& info : stage.outputs) check_info(info);
      std::visit([&](const auto& body) { check_stage(body, stage); }, stage.body);
    }
    stage_ = computation_.stages.size();
    for (const Output& output : computation_.outputs) {
      check_tensor(output.tensor);
      check(output.dims.size() == computation_.info(output.tensor).rank(), "rank of an output");
      if (!output.counted()) continue;
      check(output.dims == computation_.info(output.tensor).dims, "counted extents of an output");
    }
  }

 private:
  void check(bool condition, const char* message) const {
    RELAY_CHECK(condition,
                "ill-formed computation, stage " + std::to_string(stage_) + ": " + message);
  }

  void check_info(const TensorInfo& info) const {
    check(info.dtype.valid(), "no dtype");
    for (Dim dim : info.dims) check(!dim.is_int() || dim.as_int() >= 0, "negative extent");
  }

  void check_tensor(TensorId id) const {
    if (id.is_input()) {
      check(id.index >= 0 && static_cast<size_t>(id.index) < computation_.inputs.size(),
            "no such input");
      return;
    }
    check(static_cast<size_t>(id.stage) < stage_, "reference to a later stage");
    check(id.index >= 0 && static_cast<size_t>(id.index) <
                               computation_.stages[static_cast<size_t>(id.stage)].outputs.size(),
          "no such output of a stage");
  }

  void check_axes(std::span<const Axis> axes) {
    for (const Axis& axis : axes) {
      check(axis.id < computation_.num_axes, "axis id out of range");
      check(!axis.extent.is_variable(), "extent of an axis is an inference variable");
      check(bound_axes_.insert(axis.id).second, "an axis is bound twice");
    }
  }

  void check_domain(std::span<const Axis> axes, const Stage& stage) {
    check_axes(axes);
    for (const TensorInfo& info : stage.outputs) {
      check(info.rank() == axes.size(), "rank of an output and of the domain");
      for (size_t i = 0; i < axes.size(); ++i) {
        check(dims_equal(info.dims[i], axes[i].extent) != Truth::kNo,
              "extents of an output and of the domain");
      }
    }
  }

  void check_stage(const Map& map, const Stage& stage) {
    check_domain(map.axes, stage);
    check(map.values.size() == stage.outputs.size(), "number of outputs");
    for (size_t k = 0; k < map.values.size(); ++k) {
      check(map.values[k]->dtype == stage.outputs[k].dtype, "dtype of an output");
    }
    check_expressions(map.values, allowed(map.axes));
  }

  void check_stage(const Scan& scan, const Stage& stage) {
    check_domain(scan.axes, stage);
    check(scan.along < scan.axes.size(), "no such axis to scan along");
    size_t k = scan.carries.size();
    check(k > 0 && scan.init.size() == k && scan.step.size() == k && stage.outputs.size() == k,
          "number of carries");
    FreeSet axes = allowed(scan.axes);
    FreeSet before = axes;
    std::erase(before, scan.axes[scan.along].id);
    for (size_t j = 0; j < k; ++j) {
      DType dtype = scan.carries[j]->dtype;
      check(scan.carries[j]->kind == ScalarKind::kVar, "a carry is a placeholder");
      check(scan.init[j]->dtype == dtype && scan.step[j]->dtype == dtype &&
                stage.outputs[j].dtype == dtype,
            "dtype of a carry");
      axes.push_back(scan.carries[j]->id | kVarFlag);
    }
    std::sort(axes.begin(), axes.end());
    check_expressions(scan.init, before);
    check_expressions(scan.step, axes);
  }

  void check_stage(const Update& update, const Stage& stage) {
    check_axes(update.axes);
    check_tensor(update.base);
    const TensorInfo& base = computation_.info(update.base);
    check(stage.outputs.size() == 1 && stage.outputs[0].dtype == base.dtype &&
              stage.outputs[0].rank() == base.rank(),
          "an update's output is like its base");
    check(update.at.size() == base.rank(), "one index for each dimension");
    check(update.value->dtype == base.dtype, "dtype of an update");
    check(update.bounds == Bounds::kFail || update.bounds == Bounds::kFill, "bounds of an update");
    check(!update.combiner || update.combiner->kind != Combiner::Kind::kCustom,
          "updates have simple combiners");
    for (const ScalarRef& index : update.at) check(index->dtype == kInt64, "an index is not int64");
    std::vector<ScalarRef> roots = update.at;
    roots.push_back(update.value);
    check_expressions(roots, allowed(update.axes));
  }

  void check_stage(const View& view, const Stage& stage) {
    check_tensor(view.source);
    check(view.extents.size() == view.strides.size(), "extents and strides of a view");
    check(stage.outputs.size() == 1 && stage.outputs[0].rank() == view.extents.size() &&
              stage.outputs[0].dtype == computation_.info(view.source).dtype,
          "a view's output");
  }

  void check_stage(const Library& library, const Stage& stage) {
    for (TensorId id : library.inputs) check_tensor(id);
    const LibraryEntry* kernel = find_library_kernel(library.kernel);
    check(kernel != nullptr, "there is no such library kernel");
    std::string wrong =
        kernel->mismatch(library.inputs.size(), stage.outputs.size(), library.params);
    check(wrong.empty(), ("kernel " + library.kernel + " is given " + wrong).c_str());
  }

  FreeSet allowed(std::span<const Axis> axes) const {
    FreeSet set;
    for (const Axis& axis : axes) set.push_back(axis.id);
    std::sort(set.begin(), set.end());
    return set;
  }

  void check_expressions(std::span<const ScalarRef> roots, const FreeSet& allowed) {
    for (const ScalarRef& root : roots) check(static_cast<bool>(root), "a null expression");
    std::vector<const ScalarNode*> nodes = post_order(roots);
    NodeNumbers numbers = number_nodes(nodes);
    std::vector<FreeSet> free = free_sets(nodes, numbers);
    for (const ScalarRef& root : roots) {
      const FreeSet& set = free[numbers.at(root.get())];
      check(std::includes(allowed.begin(), allowed.end(), set.begin(), set.end()),
            "an axis or placeholder out of scope");
    }
    for (const ScalarNode* node : nodes) {
      if (checked_.insert(node).second) check_node(*node);
    }
  }

  void check_args(const ScalarNode& node, size_t count) const {
    check(node.args.size() == count, "number of operands");
  }

  void check_node(const ScalarNode& node) {
    check(node.dtype.valid(), "a value without dtype");
    switch (node.kind) {
      case ScalarKind::kConst:
        return check_args(node, 0);
      case ScalarKind::kVar:
        check(node.id < computation_.num_vars, "placeholder id out of range");
        return check_args(node, 0);
      case ScalarKind::kIndex:
        check(node.axis < computation_.num_axes && node.dtype == kInt64, "an index");
        return check_args(node, 0);
      case ScalarKind::kFromDim:
        check(node.dtype == kInt64 && !node.dim.is_variable(), "a term of unknown value");
        return check_args(node, 0);
      case ScalarKind::kUnary:
      case ScalarKind::kCast:
        return check_args(node, 1);
      case ScalarKind::kBitcast:
        check_args(node, 1);
        return check(node.args[0]->dtype.size() == node.dtype.size(), "width of a bitcast");
      case ScalarKind::kBinary:
        check_args(node, 2);
        return check(node.args[0]->dtype == node.args[1]->dtype &&
                         node.dtype == scalar_op(node.binary).result(node.args[0]->dtype),
                     "dtypes of a binary operation");
      case ScalarKind::kLoad: {
        check_tensor(node.tensor);
        const TensorInfo& info = computation_.info(node.tensor);
        check_args(node, info.rank());
        check(node.dtype == info.dtype, "dtype of a load");
        for (const ScalarRef& index : node.args)
          check(index->dtype == kInt64, "an index is not int64");
        if (node.bounds != Bounds::kFill) return;
        return check(
            node.fill && node.fill->kind == ScalarKind::kConst && node.fill->dtype == node.dtype,
            "fill value of a load");
      }
      case ScalarKind::kSelect:
        check_args(node, 3);
        return check(node.args[0]->dtype.is_bool() && node.args[1]->dtype == node.dtype &&
                         node.args[2]->dtype == node.dtype,
                     "dtypes of a select");
      case ScalarKind::kFail:
        check_args(node, 2);
        return check(node.args[0]->dtype.is_bool() && node.args[1]->dtype == node.dtype,
                     "dtypes of a fail");
      case ScalarKind::kFold:
        return check_fold(node);
      case ScalarKind::kGet:
        check_args(node, 1);
        check(node.args[0]->kind == ScalarKind::kFold, "get of something else than a fold");
        return check(node.id < accumulators(*node.args[0]) &&
                         node.dtype == node.args[0]->args[node.id]->dtype,
                     "no such accumulator");
    }
  }

  static size_t accumulators(const ScalarNode& fold) {
    return fold.combiner->kind == Combiner::Kind::kCustom ? fold.combiner->lhs.size() : 1;
  }

  void check_fold(const ScalarNode& node) {
    check(node.combiner != nullptr, "a fold without combiner");
    check_axes(node.axes);
    const Combiner& combiner = *node.combiner;
    size_t k = accumulators(node);
    check(node.args.size() == k || node.args.size() == k + 1, "number of folded values");
    check(node.args[0]->dtype == node.dtype, "dtype of a fold");
    if (node.args.size() > k) check(node.args[k]->dtype.is_bool(), "where of a fold is not bool");
    if (combiner.kind != Combiner::Kind::kCustom) {
      bool logic = combiner.kind == Combiner::Kind::kAnd || combiner.kind == Combiner::Kind::kOr;
      bool extremum =
          combiner.kind == Combiner::Kind::kMax || combiner.kind == Combiner::Kind::kMin;
      return check(extremum || node.dtype.is_bool() == logic, "dtype and combiner of a fold");
    }
    check(combiner.rhs.size() == k && combiner.result.size() == k && combiner.identity.size() == k,
          "accumulators of a combiner");
    FreeSet placeholders;
    for (size_t j = 0; j < k; ++j) {
      DType dtype = node.args[j]->dtype;
      for (const auto* list :
           {&combiner.lhs, &combiner.rhs, &combiner.result, &combiner.identity}) {
        check((*list)[j]->dtype == dtype, "dtype of an accumulator");
      }
      check(combiner.lhs[j]->kind == ScalarKind::kVar && combiner.rhs[j]->kind == ScalarKind::kVar,
            "operands of a combiner are placeholders");
      placeholders.push_back(combiner.lhs[j]->id | kVarFlag);
      placeholders.push_back(combiner.rhs[j]->id | kVarFlag);
    }
    std::sort(placeholders.begin(), placeholders.end());
    check_expressions(combiner.identity, {});
    check_expressions(combiner.result, placeholders);
    for (const ScalarNode* inner : post_order(combiner.result)) {
      check(inner->kind != ScalarKind::kLoad && inner->kind != ScalarKind::kFold,
            "a combiner neither loads nor folds");
    }
  }

  const Computation& computation_;
  size_t stage_ = 0;
  std::unordered_set<uint32_t> bound_axes_;
  std::unordered_set<const ScalarNode*> checked_;
};

}  // namespace

bool Output::counted() const {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); });
}

void Computation::verify() const { Verifier(*this).run(); }

}  // namespace relay::te
