#include <relay/vm/compiler/numbers.h>

#include <unordered_map>
#include <unordered_set>

#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::vm {
namespace {

using te::ScalarKind;
using te::ScalarNode;

constexpr size_t kMaxNodes = 400;
constexpr size_t kCheapArm = 4;  // instructions that are computed rather than jumped over

bool may_fail(const ScalarNode& node) {
  return node.kind == ScalarKind::kFail || te::is_integer_division(node);
}

Value constant_value(const ScalarNode& node) {
  if (node.dtype.is_float()) return Value::scalar_of(node.dtype, node.value.f);
  return Value::scalar_of(node.dtype, node.value.i);
}

// The nodes that are computed for certain when a root is: not in an arm of a choice, not behind a
// failure's condition. Operands first.
std::vector<const ScalarNode*> certain_nodes(const ScalarNode* root) {
  std::vector<const ScalarNode*> order;
  std::unordered_set<const ScalarNode*> seen;
  std::vector<std::pair<const ScalarNode*, size_t>> stack{{root, 0}};
  seen.insert(root);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    size_t count = node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail
                       ? 1
                       : node->args.size();
    if (next < count) {
      const ScalarNode* arg = node->args[next++].get();
      if (seen.insert(arg).second) stack.emplace_back(arg, 0);
      continue;
    }
    order.push_back(node);
    stack.pop_back();
  }
  return order;
}

class Writer {
 public:
  Writer(const te::Computation& computation, std::span<const uint32_t> inputs,
         std::span<const uint32_t> positions, ProgramBuilder& program, CodeWriter& code)
      : computation_(computation),
        inputs_(inputs),
        positions_(positions),
        program_(program),
        code_(code) {}

  std::vector<uint32_t> run() {
    for (const te::Stage& stage : computation_.stages) {
      std::vector<uint32_t> outputs;
      for (const te::ScalarRef& value : std::get<te::Map>(stage.body).values)
        outputs.push_back(write(value.get()));
      stages_.push_back(std::move(outputs));
    }
    std::vector<uint32_t> results;
    for (const te::Output& output : computation_.outputs) {
      te::TensorId id = output.tensor;
      results.push_back(
          id.is_input() ? inputs_[static_cast<size_t>(id.index)]
                        : stages_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)]);
    }
    return results;
  }

 private:
  // Arms nest at most as deep as te allows (200).
  uint32_t write(const ScalarNode* root) {
    for (const ScalarNode* node : certain_nodes(root)) {
      if (known(node) != kNone) continue;
      uint32_t position = code_.position();
      const bool known_origin = node->origin != 0 && node->origin <= positions_.size();
      const uint32_t own = known_origin && te::can_fail(*node) ? positions_[node->origin - 1] : 0;
      if (own != 0) code_.set_position(own);
      remember(node, write_node(node));
      code_.set_position(position);
    }
    return known(root);
  }

  uint32_t known(const ScalarNode* node) const {
    auto found = registers_.find(node);
    return found == registers_.end() ? kNone : found->second;
  }
  void remember(const ScalarNode* node, uint32_t reg) {
    registers_[node] = reg;
    order_.push_back(node);
  }

  // Writes an arm: values computed there do not exist outside of it.
  uint32_t write_arm(const ScalarNode* root) {
    size_t before = order_.size();
    uint32_t result = write(root);
    for (size_t i = before; i < order_.size(); ++i) registers_.erase(order_[i]);
    order_.resize(before);
    return result;
  }

  uint32_t write_node(const ScalarNode* node) {
    auto reg = [&](size_t i) { return registers_.at(node->args[i].get()); };
    switch (node->kind) {
      case ScalarKind::kConst:
        return code_.emit_value(Op::kConst, program_.constant(constant_value(*node)));
      case ScalarKind::kFromDim:
        return code_.emit_value(Op::kConst,
                                program_.constant(Value::scalar<int64_t>(node->dim.as_int())));
      case ScalarKind::kLoad: {
        te::TensorId id = node->tensor;
        return id.is_input()
                   ? inputs_[static_cast<size_t>(id.index)]
                   : stages_[static_cast<size_t>(id.stage)][static_cast<size_t>(id.index)];
      }
      case ScalarKind::kUnary:
        return number(Op::kUnary, static_cast<uint8_t>(node->unary), node, reg(0));
      case ScalarKind::kBinary:
        return number(Op::kBinary, static_cast<uint8_t>(node->binary), node, reg(0), reg(1));
      case ScalarKind::kCast:
        return number(Op::kCast, 0, node, reg(0));
      case ScalarKind::kBitcast:
        return number(Op::kBitcast, 0, node, reg(0));
      case ScalarKind::kFail: {
        uint32_t condition = reg(0);
        Instruction& check = code_.emit(Op::kFailUnless);
        check.a = condition;
        check.b = program_.message(node->message);
        return write(node->args[1].get());
      }
      case ScalarKind::kSelect:
        return write_select(node);
      default:
        RELAY_UNREACHABLE("a scalar that is no instruction");
    }
  }

  uint32_t number(Op op, uint8_t sub, const ScalarNode* node, uint32_t a, uint32_t b = 0) {
    uint32_t dst = code_.emit_value(op, a, b);
    Instruction& made = code_.at(code_.here() - 1);
    made.sub = sub;
    made.dtype = node->args[0]->dtype;
    made.to = node->dtype;
    return dst;
  }

  uint32_t write_select(const ScalarNode* node) {
    const ScalarNode* condition = node->args[0].get();
    const ScalarNode* arms[] = {node->args[1].get(), node->args[2].get()};
    uint32_t test = registers_.at(condition);
    // Computes values that both arms need before.
    std::vector<const ScalarNode*> first = certain_nodes(arms[0]);
    std::vector<const ScalarNode*> second = certain_nodes(arms[1]);
    std::unordered_set<const ScalarNode*> in_second(second.begin(), second.end());
    for (const ScalarNode* shared : first) {
      if (in_second.count(shared) != 0 && known(shared) == kNone) write(shared);
    }
    if (cheap(arms[0]) && cheap(arms[1])) {
      uint32_t a = write(arms[0]);
      uint32_t b = write(arms[1]);
      return code_.emit_value(Op::kSelect, test, a, b);
    }
    uint32_t result = code_.fresh();
    uint32_t branch = code_.here();
    code_.emit(Op::kBranch).a = test;
    move(result, write_arm(arms[0]));
    uint32_t jump = code_.here();
    code_.emit(Op::kJump);
    code_.at(branch).b = code_.here();
    move(result, write_arm(arms[1]));
    code_.at(jump).a = code_.here();
    return result;
  }

  void move(uint32_t dst, uint32_t from) {
    Instruction& made = code_.emit(Op::kMove);
    made.dst = dst;
    made.a = from;
  }

  // True if an arm may as well be computed always.
  bool cheap(const ScalarNode* root) const {
    size_t count = 0;
    std::vector<const ScalarNode*> stack{root};
    std::unordered_set<const ScalarNode*> seen{root};
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      if (known(node) != kNone || node->kind == ScalarKind::kLoad) continue;
      if (may_fail(*node)) return false;
      if (node->kind != ScalarKind::kConst && ++count > kCheapArm) return false;
      for (const te::ScalarRef& arg : node->args) {
        if (seen.insert(arg.get()).second) stack.push_back(arg.get());
      }
    }
    return true;
  }

  const te::Computation& computation_;
  std::span<const uint32_t> inputs_;
  std::span<const uint32_t> positions_;  // by origin
  ProgramBuilder& program_;
  CodeWriter& code_;
  std::unordered_map<const ScalarNode*, uint32_t> registers_;
  std::vector<const ScalarNode*> order_;
  std::vector<std::vector<uint32_t>> stages_;
};

}  // namespace

std::vector<uint32_t> write_numbers(const te::Computation& computation,
                                    std::span<const uint32_t> inputs,
                                    std::span<const uint32_t> positions, ProgramBuilder& program,
                                    CodeWriter& code) {
  return Writer(computation, inputs, positions, program, code).run();
}

bool fits_numbers(const te::Computation& computation) {
  size_t count = 0, selects = 0;
  for (const te::Stage& stage : computation.stages) {
    for (const ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      ++count;
      if (node->kind == ScalarKind::kSelect) ++selects;
    }
  }
  return count <= kMaxNodes && selects <= 8;
}

}  // namespace relay::vm
