#include <relay/vm/compiler/code.h>

#include <algorithm>
#include <queue>

#include <relay/support/error.h>

namespace relay::vm {

Instruction& CodeWriter::emit(Op op, std::span<const uint32_t> args) {
  Instruction instruction;
  instruction.op = op;
  instruction.first = static_cast<uint32_t>(function_.args.size());
  instruction.count = static_cast<uint32_t>(args.size());
  function_.args.insert(function_.args.end(), args.begin(), args.end());
  function_.code.push_back(instruction);
  function_.positions.push_back(position_);
  return function_.code.back();
}

uint32_t CodeWriter::emit_value(Op op, uint32_t a, uint32_t b, uint32_t c) {
  Instruction& instruction = emit(op);
  instruction.a = a;
  instruction.b = b;
  instruction.c = c;
  instruction.dst = fresh();
  return instruction.dst;
}

namespace {

// Which fields of an instruction are registers.
struct Shape {
  bool dst = false, a = false, b = false, c = false;
  enum Args { kNoArgs, kRead, kWritten, kGraph } args = kNoArgs;
};

Shape shape_of(Op op) {
  switch (op) {
    case Op::kMove:
    case Op::kTake:
    case Op::kUnary:
    case Op::kCast:
    case Op::kBitcast:
    case Op::kField:
    case Op::kRefCreate:
    case Op::kRefRead:
      return {true, true, false, false, Shape::kNoArgs};
    case Op::kConst:
    case Op::kGlobal:
    case Op::kSelf:
    case Op::kCapture:
      return {true, false, false, false, Shape::kNoArgs};
    case Op::kDrop:
    case Op::kCheckShapes:
      return {false, false, false, false, Shape::kRead};
    case Op::kBinary:
    case Op::kRefWrite:
      return {true, true, true, false, Shape::kNoArgs};
    case Op::kSelect:
      return {true, true, true, true, Shape::kNoArgs};
    case Op::kTuple:
    case Op::kConstruct:
    case Op::kClosure:
    case Op::kCall:
    case Op::kCallClosure:
    case Op::kRefAdd:
      return {true, false, false, false, Shape::kRead};
    case Op::kTailCall:
    case Op::kTailCallClosure:
      return {false, false, false, false, Shape::kRead};
    case Op::kUnpack:
      return {false, true, false, false, Shape::kWritten};
    case Op::kSwitch:
    case Op::kReturn:
    case Op::kBranch:
    case Op::kFailUnless:
    case Op::kNoMatch:
      return {false, true, false, false, Shape::kNoArgs};
    case Op::kRunGraph:
      return {false, false, false, false, Shape::kGraph};
    case Op::kJump:
    case Op::kFail:
    case Op::kCount:
      break;
  }
  return {};
}

// Calls `visit` on every target of an instruction.
template <class Visit>
void for_each_target(Function& function, Instruction& instruction, Visit visit) {
  if (instruction.op == Op::kJump) visit(instruction.a);
  if (instruction.op == Op::kBranch) visit(instruction.b);
  if (instruction.op != Op::kSwitch) return;
  for (uint32_t k = 0; k < instruction.count; ++k) visit(function.args[instruction.first + k]);
}

// Keeps some of the instructions.
void keep(Function& function, const std::vector<char>& kept) {
  std::vector<uint32_t> place(function.code.size() + 1);
  uint32_t count = 0;
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    place[i] = count;
    if (kept[i] == 0) continue;
    function.positions[count] = function.positions[i];
    function.code[count++] = function.code[i];
  }
  place[function.code.size()] = count;
  function.code.resize(count);
  function.positions.resize(count);
  for (Instruction& instruction : function.code)
    for_each_target(function, instruction, [&](uint32_t& target) { target = place[target]; });
}

bool leaves(Op op) {
  return op == Op::kReturn || op == Op::kTailCall || op == Op::kTailCallClosure ||
         op == Op::kFail || op == Op::kNoMatch;
}

// Removes instructions without effect: moves of a register to itself, jumps to jumps and to the
// next instruction, unreachable code.
void tidy(Function& function) {
  std::vector<char> kept(function.code.size(), 1);
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    const Instruction& instruction = function.code[i];
    bool move = instruction.op == Op::kMove || instruction.op == Op::kTake;
    kept[i] = !(move && instruction.dst == instruction.a) &&
              !(instruction.op == Op::kDrop && instruction.count == 0);
  }
  keep(function, kept);

  // Code only runs forwards.
  auto size = static_cast<uint32_t>(function.code.size());
  std::vector<uint32_t> end(size);
  for (uint32_t i = size; i-- > 0;) {
    end[i] = i;
    for_each_target(function, function.code[i], [&](uint32_t& target) { target = end[target]; });
    if (function.code[i].op == Op::kJump) end[i] = function.code[i].a;
  }
  kept.assign(size, 0);
  if (size > 0) kept[0] = 1;
  for (uint32_t i = 0; i < size; ++i) {
    if (kept[i] == 0) continue;
    Instruction& instruction = function.code[i];
    for_each_target(function, instruction, [&](uint32_t& target) { kept[target] = 1; });
    bool falls =
        instruction.op != Op::kJump && instruction.op != Op::kSwitch && !leaves(instruction.op);
    if (falls && i + 1 < size) kept[i + 1] = 1;
  }
  uint32_t next = size;
  for (uint32_t i = size; i-- > 0;) {
    if (kept[i] == 0) continue;
    if (function.code[i].op == Op::kJump && function.code[i].a == next) {
      kept[i] = 0;
    } else {
      next = i;
    }
  }
  keep(function, kept);
}

// True if args are operands, which mark the last read of a register.
bool has_operands(Op op) { return op != Op::kDrop && op != Op::kCheckShapes; }

}  // namespace

void for_each_register(Function& function, Instruction& instruction,
                       const std::function<void(uint32_t& reg, bool written)>& visit) {
  Shape shape = shape_of(instruction.op);
  if (shape.a) visit(instruction.a, false);
  if (shape.b) visit(instruction.b, false);
  if (shape.c) visit(instruction.c, false);
  for (uint32_t k = 0; k < instruction.count && shape.args != Shape::kNoArgs; ++k) {
    uint32_t& reg = function.args[instruction.first + k];
    // Reads as many as the graph has inputs (in c until registers are assigned).
    bool written =
        shape.args == Shape::kWritten || (shape.args == Shape::kGraph && k >= instruction.c);
    if (reg != kNone) visit(reg, written);
  }
  if (shape.dst) visit(instruction.dst, true);
}

namespace {

constexpr uint32_t kNever = ~uint32_t{0};

// The last instruction that names each register.
std::vector<uint32_t> last_uses(Function& function) {
  std::vector<uint32_t> last(function.num_registers, kNever);
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    for_each_register(function, function.code[i], [&](uint32_t& reg, bool) { last[reg] = i; });
  }
  return last;
}

// Which reads are the last of their register on every path from there on: of each instruction, and
// of each entry of its args. Another branch may read the register later in the code.
struct LastReads {
  std::vector<char> of_instruction, of_arg;
};

class RegisterSet {
 public:
  explicit RegisterSet(size_t registers) : words_((registers + 63) / 64) {}
  bool has(uint32_t reg) const { return (words_[reg / 64] >> reg % 64 & 1) != 0; }
  void add(uint32_t reg) { words_[reg / 64] |= uint64_t{1} << reg % 64; }
  void remove(uint32_t reg) { words_[reg / 64] &= ~(uint64_t{1} << reg % 64); }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  void add(const RegisterSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  std::vector<uint64_t> words_;
};

LastReads last_reads(Function& function, const std::vector<uint32_t>& last) {
  const auto size = static_cast<uint32_t>(function.code.size());
  std::vector<uint32_t> slot(size + 1, kNone);  // of each target
  uint32_t targets = 0;
  for (Instruction& instruction : function.code) {
    for_each_target(function, instruction, [&](uint32_t& target) {
      if (slot[target] == kNone) slot[target] = targets++;
    });
  }
  constexpr size_t kMostBits = size_t{1} << 28;
  const bool by_path = size_t{targets} * function.num_registers <= kMostBits;
  RegisterSet live(by_path ? function.num_registers : 0);
  std::vector<RegisterSet> live_at(by_path ? targets : 0, live);
  LastReads reads{std::vector<char>(size, 0), std::vector<char>(function.args.size(), 0)};
  for (uint32_t i = size; i-- > 0;) {
    Instruction& instruction = function.code[i];
    auto is_last = [&](uint32_t reg) { return by_path ? !live.has(reg) : last[reg] == i; };
    if (by_path) {
      bool falls =
          instruction.op != Op::kJump && instruction.op != Op::kSwitch && !leaves(instruction.op);
      if (!falls) live.clear();
      for_each_target(function, instruction,
                      [&](uint32_t& target) { live.add(live_at[slot[target]]); });
    }
    if (instruction.op == Op::kMove || instruction.op == Op::kField)
      reads.of_instruction[i] = is_last(instruction.a);
    for (uint32_t k = 0; k < instruction.count; ++k) {
      const uint32_t reg = function.args[instruction.first + k];
      if (reg < last.size()) reads.of_arg[instruction.first + k] = is_last(reg);
    }
    if (!by_path) continue;
    for_each_register(function, instruction, [&](uint32_t& reg, bool written) {
      if (written) live.remove(reg);
    });
    // An instruction that drops a value does not need it.
    for_each_register(function, instruction, [&](uint32_t& reg, bool written) {
      if (!written && instruction.op != Op::kDrop) live.add(reg);
    });
    if (slot[i] != kNone) live_at[slot[i]] = live;
  }
  return reads;
}

// A few fields far behind in a wide tuple are cheaper to copy than to take out with all others.
constexpr uint32_t kFewFields = 64;
bool pays_unpacking(uint32_t fields, size_t read) {
  return fields <= kFewFields || fields / 2 <= read;
}

// Tuples of which fields alone are read become registers where they are made, so that each field
// has no other holder when it is used: a function that is given the caches of all layers then calls
// one for each layer with a cache that this may write to.
class TuplesTakenApart {
 public:
  explicit TuplesTakenApart(Function& function)
      : function_(function), uses_(function.num_registers) {}

  void run() {
    count_uses();
    for (uint32_t reg = 0; reg < uses_.size(); ++reg) {
      Uses& uses = uses_[reg];
      const bool once = reg < function_.num_params ? uses.written == 0 : uses.written == 1;
      uses.apart = once && !uses.whole && uses.reads > 1 &&
                   pays_unpacking(static_cast<uint32_t>(uses.fields.size()), uses.reads);
      any_ |= uses.apart;
    }
    if (any_) rebuild();
  }

 private:
  struct Uses {
    uint32_t written = 0;
    size_t reads = 0;              // of fields
    bool whole = false;            // read otherwise
    bool apart = false;            // becomes registers
    std::vector<uint32_t> fields;  // their registers; kNone: never read
  };

  void count_uses() {
    for (uint32_t i = 0; i < function_.code.size(); ++i) {
      Instruction& instruction = function_.code[i];
      if (i == 0 && instruction.op == Op::kCheckShapes) continue;
      for_each_register(function_, instruction, [&](uint32_t& reg, bool written) {
        Uses& uses = uses_[reg];
        if (written) {
          ++uses.written;
        } else if (instruction.op != Op::kField) {
          uses.whole = true;
        } else {
          ++uses.reads;
          if (uses.fields.size() <= instruction.b) uses.fields.resize(instruction.b + 1, kNone);
          uses.fields[instruction.b] = 0;
        }
      });
    }
  }

  void take_apart(uint32_t reg, uint32_t position) {
    Uses& uses = uses_[reg];
    if (!uses.apart) return;
    Instruction unpack;
    unpack.op = Op::kUnpack;
    unpack.a = reg;
    unpack.first = static_cast<uint32_t>(function_.args.size());
    unpack.count = static_cast<uint32_t>(uses.fields.size());
    for (uint32_t& field : uses.fields) {
      if (field != kNone) field = function_.num_registers++;
      function_.args.push_back(field);
    }
    code_.push_back(unpack);
    positions_.push_back(position);
  }

  void rebuild() {
    const auto size = static_cast<uint32_t>(function_.code.size());
    std::vector<uint32_t> place(size + 1);
    auto take_params = [&](uint32_t position) {
      for (uint32_t p = 0; p < function_.num_params; ++p) take_apart(p, position);
    };
    for (uint32_t i = 0; i < size; ++i) {
      Instruction instruction = function_.code[i];
      const bool checks = i == 0 && instruction.op == Op::kCheckShapes;
      if (i == 0 && !checks) take_params(function_.positions[i]);
      place[i] = static_cast<uint32_t>(code_.size());
      if (instruction.op == Op::kField && uses_[instruction.a].apart) {
        instruction.op = Op::kMove;
        instruction.a = uses_[instruction.a].fields[instruction.b];
        instruction.b = 0;
      }
      code_.push_back(instruction);
      positions_.push_back(function_.positions[i]);
      if (checks) take_params(function_.positions[i]);
      std::vector<uint32_t> made;
      for_each_register(function_, instruction, [&](uint32_t& reg, bool written) {
        if (written && reg < uses_.size()) made.push_back(reg);
      });
      for (uint32_t reg : made) take_apart(reg, function_.positions[i]);
    }
    place[size] = static_cast<uint32_t>(code_.size());
    function_.code = std::move(code_);
    function_.positions = std::move(positions_);
    for (Instruction& instruction : function_.code)
      for_each_target(function_, instruction, [&](uint32_t& target) { target = place[target]; });
  }

  Function& function_;
  std::vector<Uses> uses_;
  bool any_ = false;
  std::vector<Instruction> code_;
  std::vector<uint32_t> positions_;
};

// Fields read one after the other from a value that is not used any more are taken out of it.
void unpack_fields(Function& function) {
  const LastReads reads = last_reads(function, last_uses(function));
  std::vector<char> target(function.code.size() + 1, 0);
  for (const Instruction& instruction : function.code) {
    if (instruction.op == Op::kJump) target[instruction.a] = 1;
    if (instruction.op == Op::kBranch) target[instruction.b] = 1;
    if (instruction.op != Op::kSwitch) continue;
    for (uint32_t k = 0; k < instruction.count; ++k)
      target[function.args[instruction.first + k]] = 1;
  }
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    if (function.code[i].op != Op::kField) continue;
    uint32_t from = function.code[i].a, end = i + 1, fields = function.code[i].b + 1;
    while (end < function.code.size() && function.code[end].op == Op::kField &&
           function.code[end].a == from && target[end] == 0) {
      fields = std::max(fields, function.code[end++].b + 1);
    }
    bool distinct = pays_unpacking(fields, end - i) && reads.of_instruction[end - 1] != 0;
    std::vector<uint32_t> to(distinct ? fields : 0, kNone);
    for (uint32_t k = i; distinct && k < end; ++k) {
      const Instruction& field = function.code[k];
      distinct &= to[field.b] == kNone && field.dst != from;
      to[field.b] = field.dst;
    }
    if (distinct) {
      for (uint32_t k = i; k < end; ++k) {
        function.code[k] = Instruction();
        function.code[k].op = Op::kDrop;  // of nothing: goes
      }
      Instruction& unpack = function.code[i];
      unpack.op = Op::kUnpack;
      unpack.a = from;
      unpack.first = static_cast<uint32_t>(function.args.size());
      unpack.count = fields;
      function.args.insert(function.args.end(), to.begin(), to.end());
    }
    i = end - 1;
  }
}

}  // namespace

void assign_registers(Function& function) {
  TuplesTakenApart(function).run();
  unpack_fields(function);
  uint32_t count = function.num_registers;
  std::vector<uint32_t> last = last_uses(function);
  const LastReads reads_last = last_reads(function, last);
  std::vector<uint32_t> home(count, kNone);
  // Values by the end of their lives; the value that a register holds; free registers, lowest
  // first.
  using Life = std::pair<uint32_t, uint32_t>;
  std::priority_queue<Life, std::vector<Life>, std::greater<>> live;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  std::vector<uint32_t> holds;
  for (uint32_t p = 0; p < function.num_params; ++p) {
    home[p] = p;
    holds.push_back(p);
    live.emplace(last[p] == kNever ? 0 : last[p], p);
  }
  for (uint32_t i = 0; i < function.code.size(); ++i) {
    Instruction& instruction = function.code[i];
    while (!live.empty() && live.top().first < i) {
      uint32_t value = live.top().second;
      if (holds[home[value]] == value) free.push(home[value]);
      live.pop();
    }
    if (instruction.op == Op::kMove && last[instruction.a] == i && home[instruction.dst] == kNone) {
      // The new name of a value that is not used under the old one.
      home[instruction.dst] = home[instruction.a];
      holds[home[instruction.dst]] = instruction.dst;
      live.emplace(last[instruction.dst], instruction.dst);
    }
    for_each_register(function, instruction, [&](uint32_t& reg, bool) {
      if (home[reg] != kNone) return;
      if (free.empty()) {
        home[reg] = static_cast<uint32_t>(holds.size());
        holds.push_back(reg);
      } else {
        home[reg] = free.top();
        holds[home[reg]] = reg;
        free.pop();
      }
      live.emplace(last[reg], reg);
    });
    // Operands, from the last on: the one that is the last use moves its value.
    bool operands = shape_of(instruction.op).args == Shape::kRead && has_operands(instruction.op);
    uint32_t reads = operands                          ? instruction.count
                     : instruction.op == Op::kRunGraph ? instruction.c
                                                       : 0;
    std::vector<char> moves(reads, 0);
    for (uint32_t k = reads; k-- > 0;) {
      uint32_t reg = function.args[instruction.first + k];
      if (reads_last.of_arg[instruction.first + k] == 0) continue;
      moves[k] = 1;
      for (uint32_t j = k + 1; j < reads; ++j) {
        if (function.args[instruction.first + j] == reg) moves[k] = 0;
      }
    }
    if (instruction.op == Op::kMove && reads_last.of_instruction[i] != 0) {
      instruction.op = Op::kTake;
    }
    for_each_register(function, instruction, [&](uint32_t& reg, bool) { reg = home[reg]; });
    if (instruction.op == Op::kRunGraph) instruction.c = 0;
    for (uint32_t k = 0; k < reads; ++k) {
      if (moves[k] != 0) function.args[instruction.first + k] |= kLast;
    }
  }
  function.num_registers = static_cast<uint32_t>(holds.size());
  tidy(function);
}

}  // namespace relay::vm
