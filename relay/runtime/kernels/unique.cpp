// The different elements of a vector. Elements are equal as in sorting: -0 and 0 are, and so are
// all not-a-numbers, which come last.
#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/positions.h>
#include <relay/runtime/kernels/radix.h>
#include <relay/runtime/library_operands.h>

#include <vector>

namespace relay {
namespace {

constexpr int64_t kChunk = 1 << 14;  // items of a task

/// Equal elements side by side, each kind once: a run.
template <class Item, class P>
class Unique {
 public:
  Unique(LibraryCall& call, const NDArray& input)
      : call_(call),
        input_(input),
        n_(input.size()),
        chunks_((n_ + kChunk - 1) / kChunk),
        items_(2 * n_),
        first_run_(static_cast<size_t>(chunks_) + 1) {}

  void run(bool sorted) {
    FillItems<Item> fill = items_of<Item>(input_.dtype(), false);
    each([&](int64_t, int64_t begin, int64_t end) {
      fill(input_.raw(), 1, begin, end, items_.data() + begin);
    });
    order_ = sort_items(call_, items_.data(), items_.data() + n_, n_, input_.dtype().size());
    each([&](int64_t chunk, int64_t begin, int64_t end) {
      int64_t runs = 0;
      for (int64_t i = begin; i < end; ++i) runs += begins(i) ? 1 : 0;
      first_run_[static_cast<size_t>(chunk) + 1] = runs;
    });
    for (size_t chunk = 1; chunk < first_run_.size(); ++chunk)
      first_run_[chunk] += first_run_[chunk - 1];
    runs_ = first_run_.back();
    starts_ = Scratch<int64_t>(runs_ + 1);
    starts_[runs_] = n_;
    each([&](int64_t chunk, int64_t begin, int64_t end) {
      int64_t run = first_run_[static_cast<size_t>(chunk)];
      for (int64_t i = begin; i < end; ++i) {
        if (begins(i)) starts_[run++] = i;
      }
    });
    if (!sorted) rank_by_appearance();
    write();
  }

 private:
  template <class F>
  void each(F&& body) {
    call_.parallel(chunks_, [&](int64_t chunk) {
      body(chunk, chunk * kChunk, std::min(n_, (chunk + 1) * kChunk));
    });
  }

  bool begins(int64_t i) const { return i == 0 || item_key(order_[i]) != item_key(order_[i - 1]); }

  /// The number that a run gets: its own, or its place among the first appearances.
  int64_t number(int64_t run) const { return ranks_.data() == nullptr ? run : ranks_[run]; }

  void rank_by_appearance() {
    ranks_ = Scratch<int64_t>(runs_);
    // The number of a run at the place of its first element; elsewhere -1.
    Scratch<int64_t> appears(n_);
    std::fill_n(appears.data(), n_, int64_t{-1});
    for (int64_t run = 0; run < runs_; ++run) appears[item_position(order_[starts_[run]])] = run;
    int64_t rank = 0;
    for (int64_t i = 0; i < n_; ++i) {
      if (appears[i] >= 0) ranks_[appears[i]] = rank++;
    }
  }

  void write() {
    const NDArray& values = call_.make(0, {runs_});
    P* first = call_.make(1, {runs_}).template data<P>();
    P* inverse = call_.outputs[2].template data<P>();
    *call_.outputs[3].template data<P>() = static_cast<P>(runs_);
    P* counts = call_.outputs.size() < 5 ? nullptr : call_.make(4, {runs_}).template data<P>();
    int64_t tasks = (runs_ + kChunk - 1) / kChunk;
    call_.parallel(tasks, [&](int64_t task) {
      int64_t end = std::min(runs_, (task + 1) * kChunk);
      for (int64_t run = task * kChunk; run < end; ++run) {
        int64_t to = number(run);
        first[to] = static_cast<P>(item_position(order_[starts_[run]]));
        if (counts != nullptr) counts[to] = static_cast<P>(starts_[run + 1] - starts_[run]);
      }
    });
    copy_values(values, first);
    each([&](int64_t chunk, int64_t begin, int64_t end) {
      int64_t run = first_run_[static_cast<size_t>(chunk)] - 1;
      for (int64_t i = begin; i < end; ++i) {
        if (begins(i)) ++run;
        inverse[item_position(order_[i])] = static_cast<P>(number(run));
      }
    });
  }

  void copy_values(const NDArray& values, const P* first) {
    auto copy = [&](auto zero) {
      using Bits = decltype(zero);
      const auto* from = static_cast<const Bits*>(input_.raw());
      auto* to = static_cast<Bits*>(values.raw());
      for (int64_t i = 0; i < runs_; ++i) to[i] = from[first[i]];
    };
    switch (input_.dtype().size()) {
      case 1:
        return copy(uint8_t{});
      case 2:
        return copy(uint16_t{});
      case 4:
        return copy(uint32_t{});
      default:
        return copy(uint64_t{});
    }
  }

  LibraryCall& call_;
  const NDArray& input_;
  int64_t n_;
  int64_t chunks_;
  Scratch<Item> items_;
  const Item* order_ = nullptr;
  std::vector<int64_t> first_run_;  // of each chunk: runs that begin before it
  int64_t runs_ = 0;
  Scratch<int64_t> starts_;  // of each run in `order_`
  Scratch<int64_t> ranks_;
};

void unique_kernel(LibraryCall& call) {
  NDArray input = call.inputs[0].contiguous();
  DType dtype = call.outputs[2].dtype();
  // A count may be the extent itself.
  if (input.size() >= most_positions(dtype))
    throw RuntimeError(positions_text(input.size(), dtype));
  with_items(input.dtype(), input.size(), [&](auto item) {
    using Item = decltype(item);
    if (dtype == kInt32) {
      Unique<Item, int32_t>(call, input).run(call.flag("sorted"));
    } else {
      Unique<Item, int64_t>(call, input).run(call.flag("sorted"));
    }
  });
}

void unique_rule(const LibraryOperands& of) {
  const LibraryOperand& input = of.inputs[0];
  of.rank(input, 1);
  of.want(of.outputs.size() == 4 || of.outputs.size() == 5, "four or five outputs");
  of.same_dtype(of.outputs[0], input);
  of.dtype(of.outputs[2], {kInt32, kInt64});
  for (size_t k = 0; k < of.outputs.size(); ++k) {
    const LibraryOperand& output = of.outputs[k];
    if (k > 0) of.same_dtype(output, of.outputs[2]);
    if (k == 2) {
      of.shape(output, input.shape);
    } else if (k == 3) {
      of.elements(output, 1);
    } else {
      of.shape(output, {LibraryOperands::kCounted});
    }
  }
}

RELAY_LIBRARY_RULE("unique", unique_rule);
RELAY_LIBRARY_KERNEL("unique", unique_kernel,
                     {1, LibrarySignature::kAny, {{"sorted", ParamKind::kFlag}}});

}  // namespace
}  // namespace relay
