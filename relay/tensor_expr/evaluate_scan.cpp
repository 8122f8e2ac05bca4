#include <cstring>
#include <optional>

#include <relay/tensor_expr/evaluate_stages.h>
#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

std::vector<NDArray> allocate(const Environment& env, const Stage& stage) {
  std::vector<NDArray> arrays;
  for (const TensorInfo& info : stage.outputs) {
    Shape shape = shape_of(env, info.dims);
    take_tensor(shape, info.dtype);
    arrays.push_back(NDArray::empty(shape, info.dtype, env.device));
  }
  return arrays;
}

/// A scan whose step joins the carry and a value that does not depend on it, by a simple combiner.
struct PrefixScan {
  Combiner::Kind kind;
  ScalarRef value;
};

std::optional<PrefixScan> as_prefix(const Scan& scan) {
  if (scan.carries.size() != 1) return std::nullopt;
  const ScalarNode& step = *scan.step[0];
  if (step.kind != ScalarKind::kBinary) return std::nullopt;
  Combiner::Kind kind;
  switch (step.binary) {
    case BinaryOp::kAdd:
      kind = Combiner::Kind::kSum;
      break;
    case BinaryOp::kMul:
      kind = Combiner::Kind::kProd;
      break;
    case BinaryOp::kMax:
      kind = Combiner::Kind::kMax;
      break;
    case BinaryOp::kMin:
      kind = Combiner::Kind::kMin;
      break;
    default:
      return std::nullopt;
  }
  uint32_t carry = scan.carries[0]->id;
  auto is_carry = [&](const ScalarRef& x) { return x->kind == ScalarKind::kVar && x->id == carry; };
  for (int side = 0; side < 2; ++side) {
    const ScalarRef& value = step.args[static_cast<size_t>(1 - side)];
    if (!is_carry(step.args[static_cast<size_t>(side)])) continue;
    std::vector<const ScalarNode*> nodes = post_order(std::span(&value, 1));
    std::vector<FreeSet> free = free_sets(nodes, number_nodes(nodes));
    if (!free.back().empty() && free.back().back() >= kVarFlag) return std::nullopt;
    return PrefixScan{kind, value};
  }
  return std::nullopt;
}

struct ScanLayout {
  std::vector<LoopAxis> others;
  std::vector<int64_t> strides;  // of the others, in the outputs
  LoopAxis along{};
  int64_t stride = 1;  // of `along`
  int64_t points = 1;  // of the others
};

ScanLayout scan_layout(const Environment& env, const Scan& scan) {
  std::vector<LoopAxis> axes = loop_axes(env, scan.axes);
  ScanLayout layout;
  int64_t step = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    if (a == scan.along) {
      layout.along = axes[a];
      layout.stride = step;
    } else {
      layout.others.insert(layout.others.begin(), axes[a]);
      layout.strides.insert(layout.strides.begin(), step);
      layout.points *= axes[a].extent;
    }
    step *= axes[a].extent;
  }
  return layout;
}

void run_prefix(const Environment& env, const Scan& scan, const PrefixScan& prefix,
                const ScanLayout& layout, const NDArray& output) {
  Level points, along;
  points.uniform = layout.others;
  along.lanes = {layout.along};
  Program program(env, {points, along}, {{scan.init[0], 1}, {prefix.value, 2}});
  Lanes& lanes = program.lanes();
  DType dtype = output.dtype();
  auto capacity = static_cast<size_t>(lanes.capacity);
  std::vector<std::byte> row(capacity * rows::lane_size(dtype));
  std::vector<int64_t> offsets(capacity);
  alignas(8) std::byte carry[8];
  program.run(0);
  for_each_point(program, layout.others, [&](std::span<const int64_t> index) {
    int64_t base = 0;
    for (size_t a = 0; a < index.size(); ++a) base += index[a] * layout.strides[a];
    program.run(1);
    std::memcpy(carry, program.root(0), rows::lane_size(dtype));
    for (int64_t done = 0; done < layout.along.extent;) {
      int64_t n = std::min(layout.along.extent - done, lanes.capacity);
      int64_t begin = scan.reverse ? layout.along.extent - done - n : done;
      lanes.move_to(begin, n);
      program.run(2);
      rows::prefix(prefix.kind, dtype, carry, row.data(), program.root(1), n, scan.reverse,
                   scan.exclusive);
      if (layout.stride == 1) {
        rows::store(dtype, element(output, base + begin), row.data(), n);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          offsets[static_cast<size_t>(i)] = base + (begin + i) * layout.stride;
        }
        rows::store_scattered(dtype, output.raw(), offsets.data(), row.data(), n);
      }
      done += n;
    }
  });
}

void run_steps(const Environment& env, const Scan& scan, const ScanLayout& layout,
               std::span<const NDArray> outputs) {
  size_t k = scan.carries.size();
  Level points, along;
  points.lanes = layout.others;
  along.uniform = {layout.along};
  along.vars = scan.carries;
  std::vector<Root> roots;
  for (const ScalarRef& init : scan.init) roots.push_back({init, 1});
  for (const ScalarRef& step : scan.step) roots.push_back({step, 2});
  Program program(env, {points, along}, std::move(roots));
  Lanes& lanes = program.lanes();
  auto capacity = static_cast<size_t>(lanes.capacity);
  std::vector<int64_t> offsets(capacity);
  std::vector<std::vector<std::byte>> next(k);
  for (size_t j = 0; j < k; ++j) next[j].resize(capacity * rows::lane_size(outputs[j].dtype()));
  program.run(0);
  for (int64_t begin = 0; begin < layout.points;) {
    int64_t n = std::min(layout.points - begin, lanes.capacity);
    lanes.move_to(begin, n);
    lanes.linear(layout.strides, 0, offsets.data());
    auto bytes = [&](size_t j) {
      return static_cast<size_t>(n) * rows::lane_size(outputs[j].dtype());
    };
    auto store = [&](int64_t at) {
      for (size_t j = 0; j < k; ++j) {
        rows::store_scattered(outputs[j].dtype(), element(outputs[j], at * layout.stride),
                              offsets.data(), program.var(scan.carries[j]->id), n);
      }
    };
    program.run(1);
    for (size_t j = 0; j < k; ++j) {
      std::memcpy(program.var(scan.carries[j]->id), program.root(j), bytes(j));
    }
    for (int64_t t = 0; t < layout.along.extent; ++t) {
      stop_if_asked();
      int64_t at = scan.reverse ? layout.along.extent - 1 - t : t;
      program.set_index(layout.along.id, at);
      if (scan.exclusive) store(at);
      program.run(2);
      // A carry may be another one's step: all results are saved before any is overwritten.
      for (size_t j = 0; j < k; ++j) std::memcpy(next[j].data(), program.root(k + j), bytes(j));
      for (size_t j = 0; j < k; ++j) {
        std::memcpy(program.var(scan.carries[j]->id), next[j].data(), bytes(j));
      }
      if (!scan.exclusive) store(at);
    }
    begin += n;
  }
}

}  // namespace

std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Scan& scan) {
  std::vector<NDArray> outputs = allocate(env, stage);
  if (outputs[0].size() == 0) return outputs;
  ScanLayout layout = scan_layout(env, scan);
  std::optional<PrefixScan> prefix = as_prefix(scan);
  if (prefix && layout.along.extent > 4 * layout.points) {
    run_prefix(env, scan, *prefix, layout, outputs[0]);
  } else {
    run_steps(env, scan, layout, outputs);
  }
  return outputs;
}

}  // namespace relay::te
