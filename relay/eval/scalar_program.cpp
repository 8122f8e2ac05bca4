#include <relay/eval/scalar_program.h>

#include <array>
#include <unordered_map>

#include <relay/support/error.h>
#include <relay/tensor_expr/rows.h>

namespace relay::eval {

namespace {

constexpr uint32_t kUnused = ~uint32_t{0};
constexpr size_t kMaxRegisters = 64;

}  // namespace

std::unique_ptr<ScalarProgram> ScalarProgram::make(const te::Computation& computation) {
  if (computation.stages.size() != 1 || computation.outputs.size() != 1) return nullptr;
  const auto* map = std::get_if<te::Map>(&computation.stages[0].body);
  if (map == nullptr || !map->axes.empty() || map->values.size() != 1) return nullptr;
  for (const te::TensorInfo& input : computation.inputs) {
    if (!input.dims.empty()) return nullptr;
  }
  auto program = std::make_unique<ScalarProgram>();
  program->inputs_.assign(computation.inputs.size(), {kUnused, DType()});
  program->dtype_ = map->values[0]->dtype;
  if (!program->add(map->values[0].get())) return nullptr;
  return program;
}

// The operation of a node without its registers; nothing if there is no step for it.
std::optional<ScalarProgram::Step> ScalarProgram::step_of(const te::ScalarNode& node) {
  using te::ScalarKind;
  if (node.args.empty()) return std::nullopt;
  Step step;
  step.dtype = node.dtype;
  step.round = te::rows::round_fn(node.dtype);
  const DType from = node.args[0]->dtype;
  switch (node.kind) {
    case ScalarKind::kUnary:
      step.kind = Step::Kind::kUnary;
      step.unary = te::rows::unary_fn(node.unary, from);
      return step;
    case ScalarKind::kCast:
      step.kind = Step::Kind::kUnary;
      step.unary = te::rows::cast_fn(from, node.dtype);
      return step;
    case ScalarKind::kBitcast:
      step.kind = Step::Kind::kUnary;
      step.unary = te::rows::bitcast_fn(from, node.dtype);
      step.round = nullptr;
      return step;
    case ScalarKind::kBinary:
      if (divides(node.binary) && !from.is_float()) {
        step.kind = Step::Kind::kDivide;
        step.divide = te::rows::divide_fn(node.binary, from);
      } else {
        step.kind = Step::Kind::kBinary;
        step.binary = te::rows::binary_fn(node.binary, from);
      }
      return step;
    case ScalarKind::kSelect:
      step.kind = Step::Kind::kSelect;
      return step;
    case ScalarKind::kFail:
      step.kind = Step::Kind::kFail;
      step.message = node.message;
      return step;
    default:
      return std::nullopt;
  }
}

bool ScalarProgram::add(const te::ScalarNode* root) {
  using te::ScalarKind;
  std::unordered_map<const te::ScalarNode*, uint32_t> registers;
  std::vector<std::pair<const te::ScalarNode*, bool>> stack{{root, false}};
  bool has_select = false;
  bool can_fail = false;
  while (!stack.empty()) {
    auto [node, ready] = stack.back();
    stack.pop_back();
    if (registers.count(node) > 0) continue;
    if (!ready) {
      stack.push_back({node, true});
      if (node->kind == ScalarKind::kLoad) continue;
      for (size_t i = node->args.size(); i-- > 0;) stack.push_back({node->args[i].get(), false});
      continue;
    }
    if (num_registers_ == kMaxRegisters) return false;
    auto dst = static_cast<uint32_t>(num_registers_++);
    auto arg = [&, node = node](size_t i) { return registers.at(node->args[i].get()); };
    registers[node] = dst;
    if (node->kind == ScalarKind::kConst) {
      uint64_t bits = 0;
      te::rows::write_constant(node->dtype, &bits, node->value);
      constants_.emplace_back(dst, bits);
      continue;
    }
    if (node->kind == ScalarKind::kLoad) {
      if (!node->tensor.is_input()) return false;
      auto& input = inputs_[node->tensor.index];
      if (input.first == kUnused) {
        input = {dst, node->dtype};
      } else {
        registers[node] = input.first;
      }
      continue;
    }
    std::optional<Step> step = step_of(*node);
    if (!step) return false;
    has_select = has_select || step->kind == Step::Kind::kSelect;
    can_fail = can_fail || step->kind == Step::Kind::kFail || step->kind == Step::Kind::kDivide;
    step->dst = dst;
    step->a = arg(0);
    if (node->args.size() > 1) step->b = arg(1);
    if (node->args.size() > 2) step->c = arg(2);
    steps_.push_back(std::move(*step));
  }
  // Arms of a choice are computed eagerly here, so they must not be able to fail.
  if (has_select && can_fail) return false;
  result_ = registers.at(root);
  return true;
}

Value ScalarProgram::run(std::span<const Value> arguments) const {
  std::array<uint64_t, kMaxRegisters> registers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (inputs_[i].first == kUnused) continue;
    te::rows::load_strided(inputs_[i].second, &registers[inputs_[i].first],
                           arguments[i].scalar_data(), 1, 1);
  }
  for (const auto& [target, bits] : constants_) registers[target] = bits;
  for (const Step& step : steps_) {
    void* dst = &registers[step.dst];
    const void* a = &registers[step.a];
    const void* b = &registers[step.b];
    switch (step.kind) {
      case Step::Kind::kUnary:
        step.unary(dst, a, 1);
        break;
      case Step::Kind::kBinary:
        step.binary(dst, a, b, 1);
        break;
      case Step::Kind::kDivide:
        if (!step.divide(dst, a, b, nullptr, 1)) throw RuntimeError("integer division by zero");
        break;
      case Step::Kind::kSelect:
        te::rows::select(step.dtype, dst, static_cast<const uint8_t*>(a), b, &registers[step.c], 1);
        break;
      case Step::Kind::kFail:
        if (*static_cast<const uint8_t*>(a) == 0) throw RuntimeError(step.message);
        registers[step.dst] = registers[step.b];
        break;
    }
    if (step.round != nullptr) step.round(dst, dst, 1);
  }
  uint64_t bits = 0;
  te::rows::store(dtype_, &bits, &registers[result_], 1);
  return Value::scalar_bytes(dtype_, &bits);
}

}  // namespace relay::eval
