// Vector loops: how many lanes, whole vectors, and the rest.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include <relay/codegen/llvm/nest_emitter.h>
#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

using lower::For;
using te::BinaryOp;
using te::ScalarKind;
using RegionKind = ScalarEmitter::RegionKind;

namespace {

unsigned register_bytes(DType dtype) {
  if (dtype.is_float() && dtype.bits == 16) return 4;
  return static_cast<unsigned>(dtype.size());
}

bool is_affine(const te::ScalarNode& node) {
  switch (node.kind) {
    case ScalarKind::kConst:
    case ScalarKind::kIndex:
    case ScalarKind::kFromDim:
    case ScalarKind::kVar:
      return true;
    case ScalarKind::kBinary:
      return node.binary == BinaryOp::kAdd || node.binary == BinaryOp::kSub ||
             node.binary == BinaryOp::kMul || compares(node.binary);
    default:
      return false;
  }
}

bool meet(const Dependences& a, const Dependences& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](uint32_t id) { return std::binary_search(b.begin(), b.end(), id); });
}

/// The values that the statements of a vector loop evaluate.
struct Evaluated {
  std::vector<te::ScalarRef> roots;
  std::vector<DType> sums;  // of accumulators
  std::vector<const lower::Store*> stores;
};

Evaluated evaluated_in(const lower::Block& body) {
  Evaluated in;
  std::vector<const lower::Block*> stack{&body};
  while (!stack.empty()) {
    const lower::Block& block = *stack.back();
    stack.pop_back();
    for (const lower::Stmt& stmt : block) {
      if (const auto* inner = std::get_if<For>(&stmt.node)) stack.push_back(&inner->body);
      if (const auto* branch = std::get_if<lower::If>(&stmt.node)) {
        in.roots.push_back(branch->condition);
        stack.push_back(&branch->then_block);
        stack.push_back(&branch->else_block);
      }
      if (const auto* let = std::get_if<lower::Let>(&stmt.node)) in.roots.push_back(let->value);
      if (const auto* set = std::get_if<lower::Set>(&stmt.node)) in.roots.push_back(set->value);
      if (const auto* check = std::get_if<lower::Check>(&stmt.node)) {
        in.roots.push_back(check->condition);
      }
      if (const auto* sum = std::get_if<lower::Accumulate>(&stmt.node)) {
        for (const te::ScalarRef& value : sum->values) {
          in.roots.push_back(value);
          in.sums.push_back(value->dtype);
        }
        if (sum->where) in.roots.push_back(sum->where);
      }
      if (const auto* store = std::get_if<lower::Store>(&stmt.node)) {
        in.roots.push_back(store->value);
        in.roots.insert(in.roots.end(), store->indices.begin(), store->indices.end());
        in.stores.push_back(store);
      }
    }
  }
  return in;
}

}  // namespace

/// As many lanes as a vector register has of the widest type that varies in the body; index
/// arithmetic does not count, it stays scalar for the most part.
NestEmitter::Lanes NestEmitter::lanes_for(const For& loop, std::optional<int64_t> extent) {
  const Dependences& in = survey_.in.at(&loop);
  unsigned widest = 1;
  bool irregular = false;
  bool masked = true;
  auto count = [&](DType dtype) { widest = std::max(widest, register_bytes(dtype)); };
  auto touch = [&](DType dtype) {
    count(dtype);
    masked &= ScalarEmitter::has_masked_access(frame_.target, dtype.size());
  };
  const Evaluated body = evaluated_in(loop.body);
  for (DType dtype : body.sums) count(dtype);
  for (const lower::Store* store : body.stores)
    touch(nest_.buffers[static_cast<size_t>(store->buffer)].dtype);
  // A node that is evaluated for the message of a failure only does not count.
  std::vector<const te::ScalarNode*> nodes;
  std::unordered_set<const te::ScalarNode*> seen;
  auto visit = [&](const te::ScalarRef& node) {
    if (seen.insert(node.get()).second) nodes.push_back(node.get());
  };
  auto visit_below = [&](bool positions) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->kind == ScalarKind::kLoad && !positions) continue;
      for (const te::ScalarRef& arg : ScalarEmitter::value_args(nodes[i])) visit(arg);
    }
  };
  for (const te::ScalarRef& node : body.roots) visit(node);
  visit_below(false);
  const size_t values = nodes.size();  // from here on: what only positions are made of
  visit_below(true);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const te::ScalarNode* node = nodes[i];
    if (!meet(scalars_.dependences(node), in)) continue;
    if (node->kind == ScalarKind::kLoad && node->dtype == kInt64 && i >= values) {
      masked &= ScalarEmitter::has_masked_access(frame_.target, node->dtype.size());
      irregular = true;
    } else if (node->kind == ScalarKind::kLoad) {
      touch(node->dtype);
    } else if (node->dtype != kInt64 && !node->dtype.is_bool()) {
      count(node->dtype);
    } else if (!is_affine(*node)) {
      irregular = true;
    }
  }
  // Where indices are vectors of their own, or memory is gathered, more lanes only cost more code.
  if (irregular) widest = std::max(widest, 4u);
  Lanes lanes;
  lanes.count = std::max(1u, static_cast<unsigned>(frame_.target.vector_bytes()) / widest);
  lanes.masked_tail = masked;
  if (extent && *extent > 0 && *extent < lanes.count) {
    auto n = static_cast<unsigned>(*extent);
    lanes.count = masked ? std::bit_ceil(n) : std::bit_floor(n);
  }
  return lanes;
}

void NestEmitter::write_vector(const For& loop) {
  llvm::Value* begin = scalars_.emit_uniform(loop.begin);
  llvm::Value* end = scalars_.emit_uniform(loop.end);
  std::optional<int64_t> first = constant_of(begin);
  std::optional<int64_t> past = constant_of(end);
  std::optional<int64_t> extent;
  if (first && past) extent = std::max<int64_t>(*past - *first, 0);
  if (extent == 0) return;
  VectorLoop vector{loop, begin, end, lanes_for(loop, extent)};
  const int64_t width = vector.width();
  if (width == 1) return write_range(loop, begin, end, 1);
  size_t copies = std::max<uint32_t>(loop.interleave, 1);
  if (extent) copies = std::clamp<size_t>(static_cast<size_t>(*extent / width), 1, copies);
  vector.copies = copies;
  frame_.emit_if(b.CreateICmpSLT(begin, end), [&] {
    open_preheader(extent.has_value());
    vector.sums = sums_of(loop);
    for (size_t copy = 0; copy < copies; ++copy) add_copy(vector.sums, vector.lanes.count);
    vector.counter = frame_.alloca_register(b.getInt64Ty(), "counter");
    b.CreateStore(begin, vector.counter);
    auto reached = [&]() -> llvm::Value* { return b.CreateLoad(b.getInt64Ty(), vector.counter); };
    // Known extents: no code for what does not happen.
    int64_t block = static_cast<int64_t>(copies) * width;
    if (copies > 1) write_whole(vector, begin, copies);
    if (!extent) {
      // Where nothing ran before, `begin` itself: what is known of its alignment counts.
      write_whole(vector, copies > 1 ? reached() : begin, 1);
    } else if (int64_t left = copies > 1 ? *extent % block : *extent; left >= width) {
      write_whole(vector, frame_.int64(*past - left), 1);
    }
    const bool rest = !extent || *extent % width != 0;
    // Counted from `begin`, so that what is known of its lowest bits is known here.
    auto after_whole = [&]() -> llvm::Value* {
      return b.CreateAdd(begin, b.CreateAnd(b.CreateSub(end, begin), frame_.int64(-width)));
    };
    if (rest) write_rest(vector, extent ? frame_.int64(*past - *extent % width) : after_whole());
    join_copies(vector.sums, copies);
    join_with_outer(vector.sums, 0);
    if (rest && vector.one_by_one()) join_with_outer(vector.sums, copies);
    scalars_.pop();
  });
}

void NestEmitter::write_vectors(const VectorLoop& vector, llvm::Value* i, size_t count,
                                llvm::Value* mask) {
  scalars_.set_lanes(vector.lanes.count, mask, mask != nullptr);
  for (size_t copy = 0; copy < count; ++copy) {
    llvm::Value* at =
        copy == 0 ? i : b.CreateAdd(i, frame_.int64(static_cast<int64_t>(copy) * vector.width()));
    write_copy(vector.loop, LaneValue::linear(at, frame_.int64(1)), vector.sums, copy);
    scalars_.invalidate(survey_.in.at(&vector.loop));
  }
}

void NestEmitter::write_whole(const VectorLoop& vector, llvm::Value* from, size_t count) {
  int64_t span = static_cast<int64_t>(count) * vector.width();
  const std::optional<int64_t> first = constant_of(from), past = constant_of(vector.end);
  if (first && past && *past - *first >= span && *past - *first < 2 * span) {
    // Once: no loop, and the first lane's index is known.
    ScalarEmitter::Scope scope(scalars_, RegionKind::kBody, survey_.in.at(&vector.loop));
    write_vectors(vector, from, count, nullptr);
    b.CreateStore(frame_.int64(*first + span), vector.counter);
    return;
  }
  auto fits = [&](llvm::Value* i) {
    return b.CreateICmpSLE(b.CreateAdd(i, frame_.int64(span)), vector.end);
  };
  frame_.emit_if(fits(from), [&] {
    // Counts vectors, so that the lowest bits of the first lane's index are seen to be those of
    // `from`.
    llvm::AllocaInst* turns = frame_.alloca_register(b.getInt64Ty(), "turns");
    b.CreateStore(frame_.int64(0), turns);
    auto first_lane = [&](llvm::Value* turn) {
      return b.CreateAdd(from, b.CreateMul(turn, frame_.int64(span)));
    };
    repeat(
        turns, frame_.int64(1), [&](llvm::Value* next) { return fits(first_lane(next)); },
        [&](llvm::Value* turn) {
          ScalarEmitter::Scope scope(scalars_, RegionKind::kBody, survey_.in.at(&vector.loop));
          write_vectors(vector, first_lane(turn), count, nullptr);
        });
    b.CreateStore(first_lane(b.CreateLoad(b.getInt64Ty(), turns)), vector.counter);
  });
}

void NestEmitter::write_rest(VectorLoop& vector, llvm::Value* from) {
  const Dependences& in = survey_.in.at(&vector.loop);
  if (vector.one_by_one()) add_copy(vector.sums, 1);
  frame_.emit_if(b.CreateICmpSLT(from, vector.end), [&] {
    if (!vector.one_by_one()) {
      ScalarEmitter::Scope scope(scalars_, RegionKind::kConditional, in);
      LaneNumbers numbers(frame_, vector.lanes.count);
      write_vectors(vector, from, 1, numbers.below(b.CreateSub(vector.end, from)));
      return;
    }
    b.CreateStore(from, vector.counter);
    repeat(
        vector.counter, frame_.int64(1),
        [&](llvm::Value* next) { return b.CreateICmpSLT(next, vector.end); },
        [&](llvm::Value* at) {
          ScalarEmitter::Scope scope(scalars_, RegionKind::kBody, in);
          write_copy(vector.loop, LaneValue::uniform(at), vector.sums, vector.copies);
        });
  });
}

}  // namespace relay::codegen
