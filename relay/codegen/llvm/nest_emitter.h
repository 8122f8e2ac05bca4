// Loop nests as LLVM code: statements and loops around scalar expressions.
#pragma once

#include <relay/codegen/llvm/index_math.h>

namespace relay::codegen {

class NestEmitter {
 public:
  NestEmitter(const lower::Nest& nest, KernelFrame& frame);
  void run();

 private:
  /// Facts that the loops of a nest need, found before anything is written.
  struct Survey {
    std::vector<te::ScalarRef> roots;
    ScalarEmitter::Aliases aliases;
    IndexRanges ranges;
    std::vector<bool> changes;                        // by register: set or accumulated
    std::unordered_map<const void*, Dependences> in;  // by loop: bound or changed inside
    bool parallel = false;
    bool fails = false;  // the nest has loops of unknown length, and may fail
  };
  /// Registers that are accumulated in a loop, with how.
  struct Sum {
    const lower::Accumulate* how;
    std::vector<DType> dtypes;
    std::vector<llvm::AllocaInst*> outer;                // where the total goes
    std::vector<std::vector<llvm::AllocaInst*>> copies;  // accumulators of interleaved iterations
  };

  static Survey survey(const lower::Nest& nest);

  // nest.cpp
  void write(const lower::Block& block);
  void write(const lower::Stmt& stmt);
  void write_let(const lower::Let& let);
  void write_set(const lower::Set& set);
  void write_accumulate(const lower::Accumulate& accumulate);
  void write_if(const lower::If& branch);
  void write_either(llvm::Value* condition, const lower::If& branch);
  void write_repeat(const lower::Repeat& repeat);
  void write_again();
  void write_end(const lower::Check& check);
  void write_grow(const lower::Grow& grow);
  bool has_tape() const;
  /// Stores from `at` on that interleave lanes in scratch: lane l of the k-th of n at n·l + k. How
  /// many it has written; 0 if there are none such.
  size_t write_interleaved(const lower::Block& block, size_t at);
  void write_shared(const lower::Stmt& stmt);
  void store_to(llvm::AllocaInst* slot, LaneValue value);
  /// True if some lanes of a register must keep what they have: it was let where more were active.
  bool is_partial(llvm::AllocaInst* slot) const;

  // nest_loops.cpp
  void write_for(const lower::For& loop);
  void write_serial(const lower::For& loop);
  void write_parallel(const lower::For& loop);
  void write_unrolled(const lower::For& loop);
  /// Iterations begin, begin + stride … below end, in order or backwards.
  void write_range(const lower::For& loop, llvm::Value* begin, llvm::Value* end, int64_t stride);
  /// Opens the region of what is in front of a loop that runs at least once when it is reached.
  void open_preheader(bool always);
  /// From the counter's value on while `more(next)`, at least once; then the counter has the first
  /// value for which it does not hold.
  void repeat(llvm::AllocaInst* counter, llvm::Value* step,
              const std::function<llvm::Value*(llvm::Value* next)>& more,
              const std::function<void(llvm::Value* i)>& body);
  /// The body at one value of the axis, with accumulators of their own.
  void write_copy(const lower::For& loop, LaneValue axis, const std::vector<Sum>& sums,
                  size_t copy);

  // nest_vector.cpp
  struct Lanes {
    unsigned count = 1;
    bool masked_tail = false;  // else the rest is done one by one
  };
  Lanes lanes_for(const lower::For& loop, std::optional<int64_t> extent);
  /// A vector loop while it is written.
  struct VectorLoop {
    const lower::For& loop;
    llvm::Value* begin;
    llvm::Value* end;
    Lanes lanes;
    size_t copies = 1;                    // vectors side by side, each with its accumulators
    std::vector<Sum> sums = {};           // one more copy if the rest is done one by one
    llvm::AllocaInst* counter = nullptr;  // where the next vector begins

    int64_t width() const { return lanes.count; }
    bool one_by_one() const { return !lanes.masked_tail; }
  };
  void write_vector(const lower::For& loop);
  /// The body for `count` vectors from `i` on.
  void write_vectors(const VectorLoop& vector, llvm::Value* i, size_t count, llvm::Value* mask);
  /// From an index on, `count` vectors at a time as long as there are as many.
  void write_whole(const VectorLoop& vector, llvm::Value* from, size_t count);
  /// Writes the rest that is less than a vector.
  void write_rest(VectorLoop& vector, llvm::Value* from);

  // nest_turned.cpp
  void write_turned(const lower::For& rows);

  // sums.cpp
  std::vector<Sum> sums_of(const lower::For& loop);
  /// One more register for each accumulator, with the identity in it.
  void add_copy(std::vector<Sum>& sums, unsigned lanes);
  /// Copies [0, count) become one, in the first of them.
  void join_copies(std::vector<Sum>& sums, size_t count);
  /// outer ⊕= the copy, its lanes joined.
  void join_with_outer(std::vector<Sum>& sums, size_t copy);

  const lower::Nest& nest_;
  KernelFrame& frame_;
  llvm::IRBuilder<>& b;
  Survey survey_;
  ScalarEmitter scalars_;
  std::unordered_map<const llvm::AllocaInst*, const llvm::Value*> masks_;  // where they were let
  std::vector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>> repeats_;   // begin and end of each
};

}  // namespace relay::codegen
