// Contractions: tiles of the processor's matrix unit (Intel's Advanced Matrix Extensions, "AMX",
// in the architecture's programming reference).
//
// A register of the unit holds 16 rows of 64 bytes. One instruction adds to a register of 16 × 16
// sums the products of 16 rows of the left factor with 16 columns of the right one, over 16 groups
// of k. Panels and rows are as for other instructions that take groups; so a tile is at most two
// strips of 16 rows by pairs of vectors, and its sums go through scratch to the epilogue.
#include <array>

#include <llvm/IR/IntrinsicsX86.h>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

using lower::kMatrixRows;

constexpr int64_t kLineBytes = 64;
/// Numbers of registers: for two strips by two vectors of sums, and for the factors.
constexpr int64_t kSumRegisters = 0, kLeftRegisters = 4, kRightRegisters = 6, kRegisters = 8;
constexpr int64_t kStrips = 2, kVectors = 2;

}  // namespace

int64_t ContractionEmitter::matrix_strip() const {
  const Dim rows = plan_.rows.extent;
  return rows.is_int() ? std::min(rows.as_int(), kMatrixRows) : kMatrixRows;
}

ContractionEmitter::MatrixSteps ContractionEmitter::matrix_steps() const {
  // A step takes the same time however many groups it has; vectors do what is left.
  constexpr int64_t kStepCost = 2, kGroupCost = 1;
  const int64_t groups = plan_.folded.extent.as_int() / plan_.group;
  auto cost = [&](int64_t each) { return groups / each * kStepCost + groups % each * kGroupCost; };
  int64_t best = kMatrixRows;
  for (int64_t each = kMatrixRows; each > 0; --each) {
    if (cost(each) < cost(best)) best = each;
  }
  return {best, groups / best * best};
}

void ContractionEmitter::configure_matrix() {
  // The form of the registers in memory: the palette, and from byte 16 and 48 on the bytes of each
  // register's rows and their number.
  constexpr size_t kBytesAt = 16, kRowsAt = 48;
  std::array<uint8_t, 64> form{};
  form[0] = 1;
  const int64_t groups = matrix_steps().groups, strip = matrix_strip();
  for (int64_t i = 0; i < kRegisters; ++i) {
    const bool left = i >= kLeftRegisters && i < kRightRegisters, right = i >= kRightRegisters;
    const int64_t bytes = left ? groups * 4 : kLineBytes, rows = right ? groups : strip;
    form[kBytesAt + static_cast<size_t>(2 * i)] = static_cast<uint8_t>(bytes);
    form[kRowsAt + static_cast<size_t>(i)] = static_cast<uint8_t>(rows);
  }
  llvm::Constant* value = llvm::ConstantDataArray::get(f_.context, form);
  auto* constant =
      new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), value->getType(), true,
                               llvm::GlobalValue::PrivateLinkage, value, "matrix_form");
  constant->setAlignment(llvm::Align(kLineBytes));
  b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {constant});
}

void ContractionEmitter::release_matrix() {
  b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

void ContractionEmitter::emit_matrix_rows(Value* left, Value* row, int64_t vectors, Value* panel,
                                          Value* first_column) {
  auto tile = [&] {
    emit_matrix_tile({least(left, n(plan_.row_tiles.size)), row}, vectors, panel, first_column);
  };
  if (plan_.copies_lhs()) return tile();
  // A strip that begins before a tensor's first row would leave it.
  Value* enough = b_.CreateICmpSGE(dim(plan_.rows.extent), n(kMatrixRows));
  f_.emit_if(enough, tile);
  f_.emit_if(b_.CreateNot(enough),
             [&] { emit_part_tiles(kMatrixRows, left, row, vectors, panel, first_column); });
}

void ContractionEmitter::emit_matrix_tile(const MatrixRows& rows, int64_t vectors, Value* panel,
                                          Value* first_column) {
  const std::vector<Value*> masks = column_masks(vectors, first_column);
  const RightLine right = right_line(panel, vectors, first_column);
  const int64_t strip = matrix_strip();
  // The last strip ends with the last row, so that none is read behind it; copied rows have room.
  Value* last = plan_.copies_lhs() ? nullptr : b_.CreateSub(rows.count, n(strip));
  auto one = [&] { multiply_strips(rows, {last != nullptr ? last : n(0)}, right, vectors); };
  auto two = [&] {
    multiply_strips(rows, {n(0), last != nullptr ? last : n(strip)}, right, vectors);
  };
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(rows.count)) {
    known->getSExtValue() <= strip ? one() : two();
  } else {
    Value* few = b_.CreateICmpSLE(rows.count, n(strip));
    f_.emit_if(few, one);
    f_.emit_if(b_.CreateNot(few), two);
  }
  finish_matrix_rows(rows, right, masks, first_column);
}

llvm::Value* ContractionEmitter::matrix_line(Value* row, int64_t vectors) {
  // A strip may begin before the tile's first row.
  return element(tile_, c_.accumulator, mul(add(row, n(kMatrixRows)), n(vectors * plan_.lanes)));
}

void ContractionEmitter::multiply_strips(const MatrixRows& rows, const std::vector<Value*>& strips,
                                         const RightLine& right, int64_t vectors) {
  llvm::Intrinsic::ID multiply = llvm::Intrinsic::x86_tdpbf16ps;
  if (plan_.group == 4) {
    const bool left = plan_.lhs_type.is_signed(), columns = plan_.rhs_type.is_signed();
    multiply = left ? (columns ? llvm::Intrinsic::x86_tdpbssd : llvm::Intrinsic::x86_tdpbsud)
                    : (columns ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbuud);
  }
  auto number = [&](int64_t i) { return b_.getInt8(static_cast<uint8_t>(i)); };
  Value* row_pitch =
      plan_.lhs_direct ? dim(*plan_.rows.stride_of(plan_.lhs.load->offset)) : row_pitch_;
  row_pitch = mul(row_pitch, n(plan_.lhs_bytes()));
  Value* group_pitch = mul(right.step, n(plan_.rhs_bytes()));
  Value* vector_pitch = right.pitch != nullptr ? right.pitch : n(plan_.lanes * plan_.group);
  std::vector<Value*> lines;
  for (Value* strip : strips) lines.push_back(left_lines(1, add(rows.first, strip)).at[0]);
  const MatrixSteps steps = matrix_steps();
  for (int64_t from = 0; from < vectors; from += kVectors) {
    const int64_t count = std::min(kVectors, vectors - from);
    auto each_sum = [&](const std::function<void(int64_t sum, int64_t strip, int64_t v)>& body) {
      for (int64_t strip = 0; strip < static_cast<int64_t>(strips.size()); ++strip) {
        for (int64_t v = 0; v < count; ++v) body(kSumRegisters + strip * kVectors + v, strip, v);
      }
    };
    each_sum([&](int64_t sum, int64_t, int64_t) {
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {number(sum)});
    });
    f_.emit_loop(n(0), n(steps.all), n(steps.groups), [&](Value* group) {
      for (int64_t v = 0; v < count; ++v) {
        Value* at = element(right.at, right.dtype,
                            add(mul(group, right.step), mul(n(from + v), vector_pitch)));
        b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                           {number(kRightRegisters + v), at, group_pitch});
      }
      for (size_t strip = 0; strip < strips.size(); ++strip) {
        Value* at = element(lines[strip], plan_.lhs_type, mul(group, n(plan_.group)));
        b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                           {number(kLeftRegisters + static_cast<int64_t>(strip)), at, row_pitch});
      }
      each_sum([&](int64_t sum, int64_t strip, int64_t v) {
        b_.CreateIntrinsic(
            multiply, {},
            {number(sum), number(kLeftRegisters + strip), number(kRightRegisters + v)});
      });
    });
    Value* pitch = n(vectors * plan_.lanes * plan_.element_bytes);
    each_sum([&](int64_t sum, int64_t strip, int64_t v) {
      Value* at = element(matrix_line(strips[static_cast<size_t>(strip)], vectors), c_.accumulator,
                          n((from + v) * plan_.lanes));
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {number(sum), at, pitch});
    });
  }
}

void ContractionEmitter::finish_matrix_rows(const MatrixRows& rows, const RightLine& right,
                                            const std::vector<Value*>& masks, Value* first_column) {
  // A few rows together share the columns' groups and what the epilogue loads for columns.
  constexpr int64_t kTogether = 4;
  const auto vectors = static_cast<int64_t>(masks.size());
  const int64_t k = plan_.folded.extent.as_int(), groups = k / plan_.group;
  auto finish = [&](Value* from, int64_t count) {
    Value* first = add(rows.first, from);
    const LeftLines left = left_lines(count, first);
    Sums sums{count, vectors, {}};
    for (int64_t i = 0; i < count * vectors; ++i) {
      Value* at = element(matrix_line(add(from, n(i / vectors)), vectors), c_.accumulator,
                          n(i % vectors * plan_.lanes));
      auto* load = b_.CreateAlignedLoad(accumulator(lanes_), at, vector_alignment());
      sums.slots.push_back(f_.alloca_register(accumulator(lanes_), "sum"));
      b_.CreateStore(f_.annotate_scratch(load, kTile), sums.slots.back());
    }
    auto step = [&](Value* group, int64_t steps) {
      add_products(sums, left, load_right(right, group, masks), group, steps);
    };
    const int64_t begin = matrix_steps().all, rest = k % plan_.group;
    if (begin < groups)
      f_.emit_loop(n(begin), n(groups), n(1), [&](Value* group) { step(group, plan_.group); });
    if (rest > 0) step(n(groups), rest);
    std::vector<std::vector<Value*>> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count * vectors; ++i) {
      values[static_cast<size_t>(i / vectors)].push_back(
          b_.CreateLoad(accumulator(lanes_), sums.slots[static_cast<size_t>(i)]));
    }
    finish_rows(values, first, first_column, masks, {});
  };
  Value* whole = n(0);
  if (!plan_.heavy_epilogue) {
    whole = b_.CreateAnd(rows.count, n(-kTogether));
    f_.emit_loop(n(0), whole, n(kTogether), [&](Value* from) { finish(from, kTogether); });
  }
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(rows.count);
  if (!plan_.heavy_epilogue && known != nullptr && known->getSExtValue() % kTogether == 0) return;
  f_.emit_loop(whole, rows.count, n(1), [&](Value* from) { finish(from, 1); });
}

}  // namespace relay::codegen
