#include <cstring>

#include <relay/support/error.h>
#include <relay/tensor_expr/program.h>

namespace relay::te {
namespace {

/// out[i] = a[i] in `mask`, inverted if asked; the number of lanes set.
int64_t make_mask(const uint8_t* a, uint8_t invert, const uint8_t* mask, uint8_t* out, int64_t n) {
  int64_t active = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint8_t on = (a[i] ^ invert) & (mask == nullptr ? 1 : mask[i]);
    out[i] = on;
    active += on;
  }
  return active;
}

}  // namespace

void Program::run_block(uint32_t number, const uint8_t* mask) {
  const Block& block = blocks_[number];
  for (const Instr& instr : block.code) {
    int64_t n = count(instr, block);
    switch (instr.code) {
      case Instr::Code::kUnary: {
        void* out = registers_[instr.out].data;
        instr.unary(out, registers_[instr.a].data, n);
        if (instr.round != nullptr) instr.round(out, out, n);
        break;
      }
      case Instr::Code::kBinary: {
        void* out = registers_[instr.out].data;
        instr.binary(out, registers_[instr.a].data, registers_[instr.b].data, n);
        if (instr.round != nullptr) instr.round(out, out, n);
        break;
      }
      case Instr::Code::kDivide:
        if (!instr.divide(registers_[instr.out].data, registers_[instr.a].data,
                          registers_[instr.b].data, instr.wide ? mask : nullptr, n)) {
          throw RuntimeError("integer division by zero");
        }
        break;
      case Instr::Code::kSplat:
        // For all chunks to come, whatever their length.
        rows::splat(registers_[instr.a].dtype, registers_[instr.out].data, registers_[instr.a].data,
                    contexts_[block.context].capacity);
        break;
      case Instr::Code::kIndexRow: {
        const Lanes& lanes = contexts_[block.context];
        std::vector<int64_t> coefficients(lanes.axes.size());
        coefficients[instr.extra] = 1;
        lanes.linear(coefficients, 0, data<int64_t>(instr.out));
        break;
      }
      case Instr::Code::kLoad:
        run_load(instr, block, mask);
        break;
      case Instr::Code::kSelect:
        run_select(instr, block, mask);
        break;
      case Instr::Code::kFail:
        run_fail(instr, block, mask);
        break;
      case Instr::Code::kFold:
        run_fold(instr, block, mask);
        break;
      case Instr::Code::kReset: {
        ThunkInfo& thunk = thunks_[instr.extra];
        thunk.forced = false;
        std::fill(thunk.valid.begin(), thunk.valid.end(), 0);
        break;
      }
      case Instr::Code::kForce:
        run_force(instr, block, mask);
        break;
    }
  }
}

void Program::run_select(const Instr& instr, const Block& block, const uint8_t* mask) {
  SelectInfo& info = selects_[instr.extra];
  const Register& condition = registers_[instr.c];
  DType dtype = registers_[instr.out].dtype;
  void* out = registers_[instr.out].data;
  int64_t n = count(instr, block);
  if (!condition.wide) {
    bool taken = *data<uint8_t>(instr.c) != 0;
    run_block(taken ? info.then_block : info.else_block, mask);
    std::memcpy(out, registers_[taken ? instr.a : instr.b].data,
                static_cast<size_t>(n) * rows::lane_size(dtype));
    return;
  }
  const auto* c = data<uint8_t>(instr.c);
  if (!blocks_[info.then_block].code.empty()) {
    int64_t active = make_mask(c, 0, mask, info.then_mask.data(), n);
    if (active > 0) run_block(info.then_block, active == n ? nullptr : info.then_mask.data());
  }
  if (!blocks_[info.else_block].code.empty()) {
    int64_t active = make_mask(c, 1, mask, info.else_mask.data(), n);
    if (active > 0) run_block(info.else_block, active == n ? nullptr : info.else_mask.data());
  }
  rows::select(dtype, out, c, registers_[instr.a].data, registers_[instr.b].data, n);
}

void Program::run_fail(const Instr& instr, const Block& block, const uint8_t* mask) {
  const FailInfo& info = fails_[instr.extra];
  const auto* c = data<uint8_t>(instr.c);
  int64_t n = registers_[instr.c].wide ? contexts_[block.context].n : 1;
  bool wide = registers_[instr.c].wide;
  for (int64_t i = 0; i < n; ++i) {
    if (c[i] == 0 && (!wide || mask == nullptr || mask[i] != 0)) throw RuntimeError(info.message);
  }
  run_block(info.block, mask);
}

void Program::run_force(const Instr& instr, const Block& block, const uint8_t* mask) {
  ThunkInfo& thunk = thunks_[instr.extra];
  if (!thunk.wide) {
    if (!thunk.forced) run_block(thunk.block, nullptr);
    thunk.forced = true;
    return;
  }
  // Valid lanes are computed again along with the new ones: they cannot fail.
  int64_t n = contexts_[block.context].n;
  int64_t fresh = 0, active = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint8_t want = mask == nullptr ? 1 : mask[i];
    fresh += want & (thunk.valid[i] ^ 1);
    thunk.valid[i] |= want;
    active += thunk.valid[i];
  }
  if (fresh > 0) run_block(thunk.block, active == n ? nullptr : thunk.valid.data());
}

}  // namespace relay::te
