#include <relay/lower/packing.h>

#include <algorithm>
#include <unordered_map>

#include <relay/lower/contraction.h>
#include <relay/lower/contraction_plan.h>
#include <relay/lower/index_math.h>
#include <relay/lower/prepare.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;
using Names = std::unordered_map<uint32_t, ScalarRef>;

bool reads(const ScalarRef& value, TensorId tensor) {
  const std::vector<const ScalarNode*> nodes = te::post_order({&value, 1});
  return std::any_of(nodes.begin(), nodes.end(), [&](const ScalarNode* node) {
    return node->kind == ScalarKind::kLoad && node->tensor == tensor;
  });
}

/// The axes of a contraction in terms of those of its stage: some of these were split.
Names axes_of_stage(const Contraction& contraction, std::span<const Axis> axes) {
  Names names;
  for (size_t d = 0; d < axes.size(); ++d) {
    Affine sum = te::affine(contraction.out_index[d]);
    if (sum.terms.size() == 1 && sum.terms[0].axis == axes[d].id) continue;
    for (const Affine::Term& term : sum.terms) {
      const bool outer = !term.coefficient.is_int(1);
      Dim by = 1;
      for (const Affine::Term& other : sum.terms) by = by * other.coefficient;
      Scalar axis = te::index_of(axes[d]), divisor = te::from_dim(by);
      names[term.axis] =
          (outer ? te::floor_div(axis, divisor) : te::floor_mod(axis, divisor)).ref();
    }
  }
  return names;
}

/// The facts about an operand that is to be packed.
struct Operand {
  PackedOperand::Side side;
  const ScalarNode* load;     // over the axes of the contraction
  AxisGroup group;            // rows or columns
  std::vector<Axis> batch{};  // those that the load depends on
  Names single{};             // axes of extent 1: 0
  std::vector<Axis> folded{};
  int64_t width = 1;
  int64_t together = 1;  // steps of k that lie side by side

  Dim steps() const { return AxisGroup(folded).extent; }
};

bool depends_on(const ScalarNode& load, uint32_t axis) {
  for (const ScalarNode* node : te::post_order(load.args)) {
    if (node->kind == ScalarKind::kIndex && node->axis == axis) return true;
  }
  return false;
}

/// Folded axes in the order in which the other factor lies in memory: it is read along them, too.
std::vector<Axis> order_of(const std::vector<Axis>& folded, const ScalarNode* other,
                           const std::vector<Buffer>& buffers) {
  if (other == nullptr) return folded;
  const Buffer& buffer = buffers[static_cast<size_t>(other->tensor.index)];
  Affine offset = te::affine_offset(other->args, buffer.dims);
  auto distance = [&](const Axis& axis) {
    Dim c = offset.coefficient(axis.id);
    return c.is_int() ? c.as_int() : -1;
  };
  if (std::any_of(folded.begin(), folded.end(), [&](const Axis& a) { return distance(a) < 0; })) {
    return folded;
  }
  std::vector<Axis> result = folded;
  std::stable_sort(result.begin(), result.end(),
                   [&](const Axis& a, const Axis& b) { return distance(a) > distance(b); });
  return result;
}

/// True if a factor reads nothing but one constant input.
bool is_constant(const ScalarRef& factor, const std::function<bool(size_t input)>& constant,
                 size_t num_inputs) {
  const ScalarNode* load = only_load(factor);
  return load != nullptr && static_cast<size_t>(load->tensor.index) < num_inputs &&
         constant(static_cast<size_t>(load->tensor.index));
}

/// True if a copy holds what a load gives: elements, or a number in place of those that are not
/// there, as beside the taps of a transposed convolution whose step does not divide them.
bool can_be_copied(const ScalarNode& load) {
  return load.bounds == te::Bounds::kProven ||
         (load.bounds == te::Bounds::kFill && load.fill->kind == ScalarKind::kConst);
}

/// True if the copy is little larger than the constant: one of windows that overlap has each
/// element once for each tap.
bool is_small_copy(const Operand& operand, const Contraction& contraction) {
  constexpr int64_t kMostCopies = 4;
  Dim copied = operand.group.extent * AxisGroup(contraction.folded).extent;
  for (const Axis& axis : operand.batch) copied = copied * axis.extent;
  const auto input = static_cast<size_t>(operand.load->tensor.index);
  const Dim given = product(contraction.buffers[input].dims);
  if (!copied.is_int() || !given.is_int()) return operand.load->bounds == te::Bounds::kProven;
  return copied.as_int() <= kMostCopies * given.as_int();
}

std::optional<Operand> operand_of(const Contraction& contraction,
                                  const std::function<bool(size_t input)>& constant,
                                  size_t num_inputs, const Processor& processor) {
  for (auto side : {PackedOperand::Side::kColumns, PackedOperand::Side::kRows}) {
    const bool columns = side == PackedOperand::Side::kColumns;
    const ScalarNode* load = only_load(columns ? contraction.rhs : contraction.lhs);
    const ScalarRef& other = columns ? contraction.lhs : contraction.rhs;
    if (load == nullptr || !can_be_copied(*load)) continue;
    const auto input = static_cast<size_t>(load->tensor.index);
    if (input >= num_inputs || !constant(input)) continue;
    if (reads(other, load->tensor)) continue;
    Operand operand{side, load, AxisGroup(columns ? contraction.columns : contraction.rows)};
    std::optional<int64_t> width = packed_width(contraction, columns, processor);
    if (!width) continue;
    operand.width = *width;
    for (const Axis& axis : contraction.batch) {
      if (axis.extent.is_int(1)) operand.single[axis.id] = te::index_constant(0).ref();
      if (!axis.extent.is_int(1) && depends_on(*load, axis.id)) operand.batch.push_back(axis);
    }
    if (!is_small_copy(operand, contraction)) continue;
    operand.folded = order_of(contraction.folded, only_load(other), contraction.buffers);
    const AxisGroup folded(contraction.folded);
    if (folded.extent.is_int() || contraction.accumulator.is_float())
      operand.together =
          group_of(contraction.lhs, contraction.rhs, contraction.accumulator, processor);
    if (operand.together > 1) {
      // One axis of some groups: others are counted through by divisions that move when indices are
      // written anew.
      std::erase_if(operand.folded, [](const Axis& axis) { return axis.extent.is_int(1); });
      if (operand.folded.size() != 1 ||
          (folded.extent.is_int() && folded.extent.as_int() <= operand.together))
        continue;
      for (const Axis& axis : contraction.folded)
        if (axis.extent.is_int(1)) operand.single[axis.id] = te::index_constant(0).ref();
    }
    return operand;
  }
  return std::nullopt;
}

/// The number of a group's element, counted through as one.
Scalar flat_index(const AxisGroup& group) {
  Scalar flat = te::index_constant(0);
  for (const Axis& axis : group.axes) {
    if (axis.extent.is_int(1)) continue;
    flat = flat * te::from_dim(axis.extent) + te::index_of(axis);
  }
  return flat;
}

te::Computation packing(const Operand& operand, const te::TensorInfo& source) {
  te::Builder builder({source});
  Dim count = operand.group.extent;
  Dim width = operand.width;
  std::vector<Dim> dims;
  for (const Axis& axis : operand.batch) dims.push_back(axis.extent);
  dims.push_back(ceil_div(count, width));
  const bool grouped = operand.together > 1;
  if (grouped) dims.push_back(ceil_div(operand.steps(), operand.together));
  for (const Axis& axis : operand.folded)
    if (!grouped) dims.push_back(axis.extent);
  dims.push_back(width);
  if (grouped) dims.emplace_back(operand.together);
  te::Tensor packed = builder.map(dims, [&](te::Indices at) {
    Names names = operand.single;
    size_t d = 0;
    for (const Axis& axis : operand.batch) names[axis.id] = at[d++].ref();
    Scalar flat = at[d++] * te::from_dim(width) + at[dims.size() - (grouped ? 2 : 1)];
    Scalar step = grouped ? at[d++] * operand.together + at.back() : te::index_constant(0);
    for (const Axis& axis : operand.folded) names[axis.id] = grouped ? step.ref() : at[d++].ref();
    // The group's axes from the place in it, the outermost one whole: it alone goes past its end.
    Scalar rest = flat;
    const std::vector<Axis>& axes = operand.group.axes;
    for (size_t i = axes.size(); i-- > 0;) {
      if (axes[i].extent.is_int(1)) {
        names[axes[i].id] = te::index_constant(0).ref();
        continue;
      }
      const bool outermost =
          std::all_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const Axis& a) { return a.extent.is_int(1); });
      Scalar extent = te::from_dim(axes[i].extent);
      names[axes[i].id] = (outermost ? rest : te::floor_mod(rest, extent)).ref();
      if (!outermost) rest = te::floor_div(rest, extent);
    }
    Ref<ScalarNode> load = te::copy_node(*operand.load);
    load->tensor = {-1, 0};
    for (ScalarRef& index : load->args) index = substitute(index, names);
    const bool steps_end = grouped && !floor_mod(operand.steps(), operand.together).is_int(0);
    if (floor_mod(count, width).is_int(0) && !steps_end) return Scalar(ScalarRef(load));
    Scalar zero = te::constant(0, source.dtype);
    const bool fills = load->bounds == te::Bounds::kFill;
    if (!fills) {
      load->bounds = te::Bounds::kFill;
      load->fill = zero.ref();
    }
    // Does the fill begin where the group ends?
    bool ends = false;
    for (size_t i = 0; !fills && i < load->args.size(); ++i) {
      const ScalarNode& index = *operand.load->args[i];
      ends |= index.kind == ScalarKind::kIndex && operand.group.has(index.axis) &&
              count == source.dims[i];
    }
    Scalar value{ScalarRef(load)};
    if (steps_end) value = te::select(step < te::from_dim(operand.steps()), value, zero);
    return ends ? value : te::select(flat < te::from_dim(count), value, zero);
  });
  builder.output(packed);
  return builder.finish();
}

/// The value with its load of the operand made one of the packed tensor.
ScalarRef read_packed(const ScalarRef& value, const Operand& operand, TensorId packed,
                      const Names& names) {
  std::vector<ScalarRef> index;
  for (const Axis& axis : operand.batch) index.push_back(te::index_of(axis).ref());
  Scalar flat = flat_index(operand.group), width = te::index_constant(operand.width);
  index.push_back(te::floor_div(flat, width).ref());
  if (operand.together > 1) {
    Scalar step = te::index_of(operand.folded[0]), by = te::index_constant(operand.together);
    index.push_back(te::floor_div(step, by).ref());
    index.push_back(te::floor_mod(flat, width).ref());
    index.push_back(te::floor_mod(step, by).ref());
  } else {
    for (const Axis& axis : operand.folded) index.push_back(te::index_of(axis).ref());
    index.push_back(te::floor_mod(flat, width).ref());
  }
  for (ScalarRef& at : index) at = substitute(at, names);
  const auto input = static_cast<int32_t>(operand.load->tensor.index);
  // Within the fold's factor alone: an epilogue may read the operand, too.
  const ScalarNode* fold = nullptr;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind == ScalarKind::kFold) fold = node;
  }
  ScalarRewriter in_fold([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    if (node->kind != ScalarKind::kLoad || !(node->tensor == TensorId{-1, input})) {
      return ScalarRef();
    }
    Ref<ScalarNode> load = te::copy_node(*node);
    load->tensor = packed;
    load->args = index;
    load->bounds = te::Bounds::kProven;
    load->fill = {};
    return ScalarRef(load);
  });
  ScalarRef moved = in_fold(ScalarRef(fold));
  ScalarRewriter around([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == fold ? moved : ScalarRef();
  });
  return around(value);
}

}  // namespace

std::optional<PackedOperand> packing_of(const te::Computation& computation,
                                        const std::function<bool(size_t input)>& constant,
                                        const Processor& processor, bool prepared) {
  if (!folds_read(computation, constant)) return std::nullopt;
  te::Computation c = prepared ? computation : prepare(computation);
  if (!prepared) {
    if (std::optional<te::Computation> cut = cut_phases(c, processor)) c = std::move(*cut);
    if (std::optional<te::Computation> cut = cut_windows(c, processor)) c = std::move(*cut);
  }
  for (size_t s = 0; s < c.stages.size(); ++s) {
    std::optional<Contraction> contraction = contraction_of(c, s);
    if (!contraction) continue;
    if (std::optional<Contraction> better = better_turned(*contraction))
      contraction = std::move(better);
    std::optional<Operand> operand;
    // The left factor as the right one, where it alone is constant.
    if (has_few_columns(*contraction, processor) &&
        is_constant(contraction->lhs, constant, c.inputs.size())) {
      Contraction other = turned(*contraction);
      operand = operand_of(other, constant, c.inputs.size(), processor);
      if (operand) contraction = std::move(other);
    }
    if (!operand) operand = operand_of(*contraction, constant, c.inputs.size(), processor);
    if (!operand) continue;
    auto& map = std::get<te::Map>(c.stages[s].body);
    PackedOperand result;
    result.input = static_cast<size_t>(operand->load->tensor.index);
    result.side = operand->side;
    result.width = operand->width;
    result.packing = packing(*operand, c.inputs[result.input]);
    Names names = axes_of_stage(*contraction, map.axes);
    TensorId packed{-1, static_cast<int32_t>(c.inputs.size())};
    map.values[0] = read_packed(map.values[0], *operand, packed, names);
    c.inputs.push_back(result.packing.stages.back().outputs[0]);
    c.verify();
    result.computation = std::move(c);
    return result;
  }
  return std::nullopt;
}

bool folds_read(const te::Computation& computation,
                const std::function<bool(size_t input)>& constant) {
  std::vector<bool> follows(computation.stages.size());  // from a constant input
  auto from_constant = [&](TensorId id) {
    return id.is_input() ? constant(static_cast<size_t>(id.index))
                         : follows[static_cast<size_t>(id.stage)];
  };
  for (size_t s = 0; s < computation.stages.size(); ++s) {
    const te::Stage& stage = computation.stages[s];
    for (TensorId id : te::stage_reads(stage)) follows[s] = follows[s] || from_constant(id);
    if (!follows[s]) continue;
    std::vector<ScalarRef> folds;
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      if (node->kind == te::ScalarKind::kFold) folds.emplace_back(node);
    }
    for (const te::ScalarNode* node : te::post_order(folds)) {
      if (node->kind == te::ScalarKind::kLoad && from_constant(node->tensor)) return true;
    }
  }
  return false;
}

bool reads_input(const te::Computation& computation, size_t input) {
  const TensorId id{-1, static_cast<int32_t>(input)};
  for (const te::Stage& stage : computation.stages) {
    std::vector<TensorId> reads = te::stage_reads(stage);
    if (std::find(reads.begin(), reads.end(), id) != reads.end()) return true;
  }
  return std::any_of(computation.outputs.begin(), computation.outputs.end(),
                     [&](const te::Output& output) { return output.tensor == id; });
}

}  // namespace relay::lower
