#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/program.h>

namespace relay::te {
namespace {

constexpr int64_t kChunk = 1024;

}  // namespace

Lanes::Lanes(std::vector<LoopAxis> lane_axes)
    : axes(std::move(lane_axes)),
      steps(axes.size()),
      first(axes.size()),
      low(axes.size()),
      high(axes.size()) {
  for (size_t a = axes.size(); a-- > 0;) {
    steps[a] = total;
    total *= axes[a].extent;
  }
  capacity = std::clamp<int64_t>(total, 1, kChunk);
}

void Lanes::move_to(int64_t new_begin, int64_t count) {
  begin = new_begin;
  n = count;
  ++serial;
  int64_t last = begin + n - 1;
  bool same = true;  // whether all axes so far have one index throughout
  for (size_t a = 0; a < axes.size(); ++a) {
    int64_t from = begin / steps[a] % axes[a].extent;
    int64_t to = last / steps[a] % axes[a].extent;
    first[a] = from;
    low[a] = same ? from : 0;
    high[a] = same ? to : axes[a].extent - 1;
    same &= from == to;
  }
}

void Lanes::linear(std::span<const int64_t> coefficients, int64_t constant, int64_t* out) const {
  if (axes.empty()) {
    out[0] = constant;
    return;
  }
  // Axes through which the sum grows evenly are one: runs along the last one shall be long.
  struct Joined {
    int64_t extent, index;
    uint64_t coefficient;
  };
  std::vector<Joined> joined;
  joined.reserve(axes.size());
  for (size_t a = 0; a < axes.size(); ++a) {
    const auto coefficient = static_cast<uint64_t>(coefficients[a]);
    const int64_t extent = axes[a].extent;
    if (extent == 1 && !joined.empty()) continue;
    bool even =
        !joined.empty() && joined.back().coefficient == coefficient * static_cast<uint64_t>(extent);
    if (even || (!joined.empty() && joined.back().extent == 1)) {
      Joined& last = joined.back();
      last = {last.extent * extent, last.index * extent + first[a], coefficient};
    } else {
      joined.push_back({extent, first[a], coefficient});
    }
  }
  const size_t inner = joined.size() - 1;
  int64_t done = 0;
  while (done < n) {
    auto value = static_cast<uint64_t>(constant);
    for (const Joined& axis : joined) {
      value += axis.coefficient * static_cast<uint64_t>(axis.index);
    }
    Joined& last = joined[inner];
    int64_t run = std::min(n - done, last.extent - last.index);
    for (int64_t i = 0; i < run; ++i) {
      out[done + i] = static_cast<int64_t>(value + last.coefficient * static_cast<uint64_t>(i));
    }
    done += run;
    last.index += run;
    for (size_t a = inner; a > 0 && joined[a].index == joined[a].extent; --a) {
      joined[a].index = 0;
      ++joined[a - 1].index;
    }
  }
}

Reg Program::var_reg(uint32_t id) const {
  for (const auto& [var, reg] : var_regs_) {
    if (var == id) return reg;
  }
  RELAY_UNREACHABLE("a placeholder without register");
}

void Program::set_index(uint32_t axis, int64_t value) {
  for (const auto& [id, reg] : index_regs_) {
    if (id == axis) {
      *data<int64_t>(reg) = value;
      return;
    }
  }
}

}  // namespace relay::te
