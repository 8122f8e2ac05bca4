// Extents by name: what they are called, what is known of them, how a program reads them.
#include <algorithm>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/importer.h>
#include <relay/op/op.h>

namespace relay::onnx {
namespace {

// As dimension names are written in programs.
std::string plain_word(std::string_view text, std::string_view otherwise) {
  constexpr size_t kMost = 40;
  std::string word;
  for (char c : text.substr(0, kMost)) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool digit = c >= '0' && c <= '9';
    if (letter || (digit && !word.empty())) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  for (const char* taken :
       {"min", "max", "floordiv", "floormod", "ceildiv", "broadcast", "Tensor"}) {
    if (word == taken) word += "_dim";
  }
  if (word.empty() || DType::parse(word)) word = std::string(otherwise) + word;
  return word;
}

// Exporters write these for "any", so that two of them need not be one extent.
bool says_nothing(std::string_view name) {
  bool letters = std::any_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  });
  if (!letters) return true;
  for (const char* word : {"None", "none", "unk", "unknown", "dynamic", "any"}) {
    if (name == word) return true;
  }
  return false;
}

}  // namespace

std::string unique_name(std::unordered_map<std::string, size_t>& taken, std::string name) {
  size_t count = taken[name]++;
  if (count == 0) return name;
  std::string result = name + "_" + std::to_string(count);
  while (taken.contains(result)) result = name + "_" + std::to_string(count = taken[name]++);
  taken[result] = 1;
  return result;
}

Dim DimNames::get(const std::string& name) {
  TypeVarRef& var = names_[name];
  if (!var) {
    var = TypeVar::make(name, Kind::kShapeVar, true);
    declared_.insert(var.get());
  }
  auto known = known_.find(var.get());
  return known == known_.end() ? Dim::symbol(var.get()) : known->second;
}

bool DimNames::declares(Dim term) const {
  bool all = true;
  for_each_atom(term, [&](Dim atom) {
    if (const TypeVar* name = atom.as_symbol()) all &= declared_.contains(name);
  });
  return all;
}

Dim DimNames::without_common_names(Dim difference) const {
  auto is_sum = [](const Dim& dim) { return dim.is_term() && dim.term().op == DimOp::kLinear; };
  // One product is 0 if any of its names is.
  if (!is_sum(difference) || difference.term().parts.size() < 2) return difference;
  Dim rest = difference;
  for_each_atom(difference, [&](Dim atom) {
    if (atom.as_symbol() == nullptr || !declared_.contains(atom.as_symbol())) return;
    const Dim quotient = floor_div(rest, atom);
    if (quotient * atom == rest) rest = quotient;
  });
  if (rest == difference || !is_sum(rest)) return difference;
  const std::vector<DimTerm::Part>& parts = rest.term().parts;
  const int64_t constant = rest.term().constant, factor = parts[0].coefficient;
  const bool number = parts.size() == 1 && constant % factor == 0 && -(constant / factor) >= 0;
  const bool equal = parts.size() == 2 && constant == 0 && parts[1].coefficient == -factor;
  return number || equal ? rest : difference;
}

bool DimNames::learn(Dim a, Dim b) {
  Dim difference = a - b;
  if (difference.is_int()) return difference.is_int(0);
  std::vector<DimTerm::Part> parts{{1, difference}};
  int64_t constant = 0;
  if (difference.term().op == DimOp::kLinear) {
    parts = difference.term().parts;
    constant = difference.term().constant;
  }
  auto conclude = [&](const TypeVar* name, Dim is) {
    for (auto& [other, term] : known_) {
      term = substitute(term, [&](Dim atom) { return atom.as_symbol() == name ? is : atom; });
    }
    known_[name] = is;
  };
  // Among several names, the one that is a sum of the others, else the last one in the alphabet.
  const TypeVar* chosen = nullptr;
  Dim value;
  bool is_sum = false;
  for (const DimTerm::Part& part : parts) {
    bool whole = constant % part.coefficient == 0;
    Dim is = -(constant / part.coefficient);
    bool sum = is.is_natural();
    for (const DimTerm::Part& other : parts) {
      if (other.atom == part.atom) continue;
      whole &= other.coefficient % part.coefficient == 0;
      int64_t factor = -(other.coefficient / part.coefficient);
      is = is + Dim(factor) * other.atom;
      sum &= factor >= 0;
    }
    const TypeVar* name = part.atom.as_symbol();
    bool better =
        chosen == nullptr || (sum && !is_sum) || (sum == is_sum && chosen->name() < name->name());
    if (!whole || !better) continue;
    chosen = name;
    value = is;
    is_sum = sum;
  }
  if (chosen != nullptr) {
    if (value.is_int() && value.as_int() < 0) return false;
    conclude(chosen, value);
    return true;
  }
  if (parts.size() == 1) return false;  // 2 · n = 3
  for (const DimTerm::Part& part : parts) conclude(part.atom.as_symbol(), Dim::any());
  return true;
}

Dim Importer::fresh_dim(std::string_view base) {
  std::string name = unique_name(dim_names_, plain_word(base, "d"));
  return names_.get(name);
}

Dim Importer::named_dim(std::string_view name) {
  if (says_nothing(name)) return fresh_dim(name);
  auto found = named_dims_.find(name);
  if (found != named_dims_.end()) return found->second;
  return named_dims_[name] = fresh_dim(name);
}

void Importer::declare_dims(const VarRef& param) {
  const auto* tensor = param->annotation()->as<TensorType>();
  if (tensor == nullptr) return;
  GraphValue value = GraphValue::of(ExprRef(param), param->annotation());
  for (size_t axis = 0; axis < tensor->dims().size(); ++axis) {
    if (const TypeVar* symbol = tensor->dims()[axis].as_symbol()) {
      dim_places_.try_emplace(symbol, DimPlace{value, axis, loops_.size()});
    }
  }
}

ExprRef Importer::extent(Dim dim) {
  RELAY_CHECK(!dim.is_any(), "an extent that nobody knows is asked for");
  if (dim.is_int()) return make_constant(NDArray::scalar<int64_t>(dim.as_int()));
  auto found = extents_.find(dim);
  if (found != extents_.end()) return found->second;
  // Terms nest no deeper than DimTerm::kMaxDepth.
  const DimTerm& term = dim.term();
  ExprRef result;
  switch (term.op) {
    case DimOp::kSymbol: {
      auto place = dim_places_.find(term.symbol);
      RELAY_CHECK(place != dim_places_.end(), "no parameter has the extent " + dim.str());
      const auto& [value, axis, level] = place->second;
      ExprRef index = make_constant(NDArray::scalar<int64_t>(static_cast<int64_t>(axis)));
      result = call("take", {call("shape_of", {expr(value)}, {{"dtype", kInt64}}), index},
                    {{"axis", 0}});
      break;
    }
    case DimOp::kLinear: {
      for (const DimTerm::Part& part : term.parts) {
        ExprRef atom = extent(part.atom);
        if (part.coefficient != 1) atom = call("multiply", {extent(part.coefficient), atom});
        result = result ? call("add", {result, atom}) : atom;
      }
      if (term.constant != 0) result = call("add", {result, extent(term.constant)});
      break;
    }
    case DimOp::kBroadcast: {
      ExprRef one = call("equal", {extent(term.lhs), extent(1)});
      result = call("where", {one, extent(term.rhs), extent(term.lhs)});
      break;
    }
    case DimOp::kCeilDiv: {
      ExprRef less = call("add", {extent(term.rhs), extent(-1)});
      result = call("floor_divide", {call("add", {extent(term.lhs), less}), extent(term.rhs)});
      break;
    }
    case DimOp::kMul:
    case DimOp::kFloorDiv:
    case DimOp::kFloorMod:
    case DimOp::kMin:
    case DimOp::kMax: {
      const char* op = term.op == DimOp::kMul        ? "multiply"
                       : term.op == DimOp::kFloorDiv ? "floor_divide"
                       : term.op == DimOp::kFloorMod ? "floor_mod"
                       : term.op == DimOp::kMin      ? "minimum"
                                                     : "maximum";
      result = call(op, {extent(term.lhs), extent(term.rhs)});
      break;
    }
    case DimOp::kValue:
      RELAY_UNREACHABLE("an element of an argument outside of its call");
  }
  // Inside of a loop the place may be a variable that is bound just before that loop.
  if (loops_.empty() || !decided_by_run(dim)) extents_.emplace(dim, result);
  return result;
}

ExprRef Importer::element_expr(Dim dim, DType dtype) {
  if (dim.is_int()) return make_constant(NDArray::scalar_int(dtype, dim.as_int()));
  ExprRef result = extent(dim);
  return dtype == kInt64 ? result : call("cast", {result}, {{"dtype", dtype}});
}

}  // namespace relay::onnx
