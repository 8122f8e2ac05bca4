#include <relay/op/registry/signature.h>

#include <relay/op/op.h>

namespace relay {

namespace {

struct NamedSet {
  std::string_view name;
  std::string_view described;
  DTypes set;
};
constexpr NamedSet kNamed[] = {
    {"any", "any dtype", kAnyDType},
    {"number", "a number dtype", kNumbers},
    {"float", "a floating-point dtype", kFloats},
    {"integer", "an integer dtype", kIntegers},
    {"integer|bool", "an integer dtype or bool", kBits},
};

DTypes member(std::string_view word) {
  for (const NamedSet& named : kNamed) {
    if (named.name == word) return named.set;
  }
  std::optional<DType> dtype = DType::parse(word);
  return dtype && dtype->valid() ? DTypes(*dtype) : DTypes();
}

// The dtype of the first input with a variable, for the others to agree with.
struct Shared {
  char variable;
  DType dtype;
  size_t input;
};

class Checker {
 public:
  Checker(const Operator& op, std::span<const TypeRef> inputs) : op_(op), inputs_(inputs) {}

  void run() {
    for (size_t i = 0; i < inputs_.size() && i < op_.num_inputs(); ++i) {
      if (inputs_[i]) input(i, op_.inputs()[i].spec);
    }
  }

 private:
  [[noreturn]] void fail(size_t i, const std::string& what) const {
    throw Error(op_.name().str() + ": " + op_.inputs()[i].name.str() + " " + what + ", found " +
                inputs_[i]->str());
  }
  static bool is_open(const Type* type) {
    return type->is<IncompleteType>() || type->is<TypeVar>();
  }

  void input(size_t i, const ValueSpec& spec) {
    const Type* type = inputs_[i].get();
    if (spec.role() == ValueSpec::Role::kUnstated || spec.role() == ValueSpec::Role::kValue) return;
    if (is_open(type)) return;
    if (spec.is_tensor()) return tensor(i, spec, type, "must be a tensor");
    const auto* tuple = type->as<TupleType>();
    if (tuple == nullptr) fail(i, "must be a tuple of tensors");
    for (const TypeRef& field : tuple->fields()) {
      if (!is_open(field.get())) tensor(i, spec, field.get(), "must be a tuple of tensors");
    }
  }

  void tensor(size_t i, const ValueSpec& spec, const Type* type, const char* must) {
    const auto* tensor = type->as<TensorType>();
    if (tensor == nullptr) fail(i, must);
    bool field = spec.role() == ValueSpec::Role::kTuple;
    if (tensor->has_rank()) {
      auto rank = static_cast<int64_t>(tensor->dims().size());
      if (rank < spec.min_rank() || rank > spec.max_rank()) {
        fail(i, (field ? "must have tensors of " : "must have ") + spec.rank_str());
      }
    }
    if (!tensor->has_dtype()) return;
    DType dtype = tensor->dtype();
    DTypes allowed = spec.dtypes();
    if (spec.variable() != 0) allowed = allowed & dtypes_of(op_, spec.variable());
    if (!allowed.contains(dtype)) fail(i, "needs " + allowed.described());
    if (spec.variable() == 0) return;
    for (const Shared& shared : shared_) {
      if (shared.variable != spec.variable()) continue;
      if (shared.dtype != dtype) differ(shared, i, dtype);
      return;
    }
    shared_.push_back({spec.variable(), dtype, i});
  }

  [[noreturn]] void differ(const Shared& first, size_t i, DType dtype) const {
    std::string dtypes =
        "dtypes " + std::string(first.dtype.name()) + " and " + std::string(dtype.name());
    std::string where = op_.inputs()[i].name.str() + " " + inputs_[i]->str();
    if (first.input != i) {
      const OpInput& other = op_.inputs()[first.input];
      where = other.name.str() + " " + inputs_[first.input]->str() + " and " + where;
    }
    throw Error(op_.name().str() + ": " + dtypes + " differ, in " + where);
  }

  const Operator& op_;
  std::span<const TypeRef> inputs_;
  std::vector<Shared> shared_;
};

}  // namespace

std::string DTypes::str() const {
  for (const NamedSet& named : kNamed) {
    if (named.set == *this) return std::string(named.name);
  }
  std::string text;
  for (DType dtype : kAllDTypes) {
    if (!contains(dtype)) continue;
    if (!text.empty()) text += '|';
    text += dtype.name();
  }
  return text;
}

DTypes DTypes::parse(std::string_view text) {
  DTypes set;
  while (!text.empty()) {
    size_t end = std::min(text.find('|'), text.size());
    DTypes one = member(text.substr(0, end));
    if (one.empty()) return {};
    set = set | one;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return set;
}

std::string DTypes::described() const {
  for (const NamedSet& named : kNamed) {
    if (named.set == *this) return std::string(named.described);
  }
  std::vector<std::string_view> names;
  for (DType dtype : kAllDTypes) {
    if (contains(dtype)) names.push_back(dtype.name());
  }
  std::string text = "dtype ";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string ValueSpec::rank_str() const {
  std::string text = "rank " + std::to_string(min_rank_);
  if (max_rank_ == kAnyRank) return text + " or more";
  return max_rank_ == min_rank_ ? text : text + " to " + std::to_string(max_rank_);
}

std::string ValueSpec::str() const {
  if (role_ == Role::kUnstated) return "";
  if (role_ == Role::kValue) return "any value";
  std::string text = role_ == Role::kTuple      ? "tuple of tensors"
                     : role_ == Role::kConstant ? "constant tensor"
                                                : "tensor";
  if (variable_ != 0) text += std::string(" of ") + variable_;
  if (dtypes_ != kAnyDType) text += std::string(variable_ != 0 ? ": " : " of ") + dtypes_.str();
  if (min_rank_ != 0 || max_rank_ != kAnyRank) text += ", " + rank_str();
  return text;
}

DTypes dtypes_of(const Operator& op, char variable) {
  DTypes all = kAnyDType;
  for (const OpInput& input : op.inputs()) {
    if (input.spec.variable() == variable) all = all & input.spec.dtypes();
  }
  for (const OpOutput& output : op.outputs()) {
    if (output.spec.variable() == variable) all = all & output.spec.dtypes();
  }
  return all;
}

void check_signature(const Operator& op, std::span<const TypeRef> inputs) {
  Checker(op, inputs).run();
}

}  // namespace relay
