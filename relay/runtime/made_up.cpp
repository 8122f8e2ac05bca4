#include <relay/runtime/made_up.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include <relay/runtime/dim_code.h>
#include <relay/runtime/dim_equations.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>

namespace relay {

namespace {

// As many bits as a dtype of floats holds exactly in [0, 1).
template <class T>
constexpr int unit_digits() {
  return std::is_same_v<T, BFloat16> ? 8 : sizeof(T) == 2 ? 11 : sizeof(T) == 4 ? 24 : 53;
}

double unit(uint64_t bits, int digits) {
  return std::ldexp(static_cast<double>(bits >> (64 - digits)), -digits);
}

// A normal number by the method of Box and Muller, which gives the same on every machine.
double normal(std::mt19937_64& generator) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(generator(), 53)));
  return radius * std::cos(2 * M_PI * unit(generator(), 53));
}

// The nearest number of an integer type.
template <class T>
T clamped(double value) {
  const double rounded = std::nearbyint(value);
  if (!(rounded > static_cast<double>(std::numeric_limits<T>::min())))
    return std::numeric_limits<T>::min();
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

template <class T>
T random_element(const Distribution& how, std::mt19937_64& generator) {
  using Kind = Distribution::Kind;
  if constexpr (std::is_same_v<T, Bool>) {
    if (how.kind != Kind::kUsual) throw Error("bools are true or false with equal chance");
    return Bool(generator() >> 63 != 0);
  } else if constexpr (std::is_integral_v<T>) {
    if (how.kind == Kind::kNormal) return clamped<T>(how.a + how.b * normal(generator));
    const uint64_t bits = generator();
    if (how.kind == Kind::kUsual)
      return static_cast<T>(static_cast<unsigned __int128>(bits) * 100 >> 64);
    // floor(b) - ceil(a) + 1 numbers, which the caller has checked.
    const double low = std::ceil(how.a);
    const auto count = static_cast<uint64_t>(std::floor(how.b) - low) + 1;
    return static_cast<T>(static_cast<int64_t>(low) +
                          static_cast<int64_t>(static_cast<uint64_t>(
                              static_cast<unsigned __int128>(bits) * count >> 64)));
  } else {
    if (how.kind == Kind::kNormal) return static_cast<T>(how.a + how.b * normal(generator));
    const double u = unit(generator(), unit_digits<T>());
    return static_cast<T>(how.kind == Kind::kUsual ? u : how.a + (how.b - how.a) * u);
  }
}

// Refuses bounds that no number of the dtype lies between.
template <class T>
void check_bounds(const Distribution& how, DType dtype) {
  if (!std::isfinite(how.a) || !std::isfinite(how.b))
    throw Error("a distribution has finite parameters");
  if (how.kind == Distribution::Kind::kNormal && how.b < 0)
    throw Error("a deviation is not negative");
  if (how.kind != Distribution::Kind::kUniform) return;
  if (how.b < how.a) throw Error("the upper bound is below the lower one");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, Bool>) {
    const double low = std::ceil(how.a), high = std::floor(how.b);
    if (high < low) throw Error("no whole number lies between the bounds");
    const double least = std::max(static_cast<double>(std::numeric_limits<T>::min()), -0x1p62);
    const double most = std::min(static_cast<double>(std::numeric_limits<T>::max()), 0x1p62);
    if (low < least || high > most)
      throw Error("the bounds do not fit " + std::string(dtype.name()));
  }
}

}  // namespace

void fill_random(NDArray& array, const Distribution& distribution, std::mt19937_64& generator) {
  dispatch(array.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    check_bounds<T>(distribution, array.dtype());
    auto* bytes = static_cast<char*>(array.raw());
    for (int64_t i = 0; i < array.size(); ++i) {
      const T value = random_element<T>(distribution, generator);
      std::memcpy(bytes + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
    }
  });
}

NDArray small_numbers(ShapeView shape, DType dtype, uint64_t seed) {
  NDArray numbers = NDArray::empty(shape, kFloat64);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    uint64_t random = hash_combine(seed, static_cast<uint64_t>(i)) >> 16;
    double number = dtype.is_float()  ? static_cast<double>(random % 33) / 8 - 2
                    : dtype.is_bool() ? static_cast<double>(random % 2)
                                      : static_cast<double>(random % 5);
    numbers.data<double>()[i] = number;
  }
  return numbers.cast(dtype);
}

// ---- Extents ------------------------------------------------------------------------------------

Extents::Extents(const TypeCheck& check, std::map<std::string, int64_t> wanted)
    : check_(check), wanted_(std::move(wanted)) {}

// Types nest no deeper than the verifier allows. Data values are not looked into: their tensors
// have shapes of their own.
void Extents::learn(const TypeInfo& type, const Value& value) {
  if (type.kind == TypeInfo::Kind::kTuple && value.is_tuple()) {
    for (size_t i = 0; i < type.fields.size() && i < value.fields().size(); ++i)
      learn(type.fields[i], value.field(i));
    return;
  }
  if (type.kind != TypeInfo::Kind::kTensor || !value.is_tensor() || !type.has_rank ||
      value.shape().size() != type.dims.size())
    return;
  for (size_t i = 0; i < type.dims.size(); ++i) told_.emplace_back(&type.dims[i], value.shape()[i]);
}

// The terms, with `open` for each name that is not known. False if one has no value or a negative
// one.
bool Extents::compute(int64_t open) {
  slots_.assign(check_.terms.size(), 0);
  for (size_t i = 0; i < check_.terms.size(); ++i) {
    const DimInstruction& code = check_.terms[i];
    if (code.code == DimCode::kConst) {
      slots_[i] = code.value;
    } else if (code.code == DimCode::kSymbol) {
      slots_[i] = names_[code.a] < 0 ? open : names_[code.a];
    } else if (compute_dim(code.code, slots_[code.a], slots_[code.b], slots_[i]) != nullptr) {
      return false;
    }
  }
  bool fits = true;
  auto visit = [&](auto& self, const TypeInfo& type) -> void {
    for (const TypeInfo::Dim& dim : type.dims)
      fits = fits && (dim.kind != TypeInfo::Dim::Kind::kTerm ||
                      slots_[static_cast<size_t>(dim.value)] > (open > 1 ? 0 : -1));
    if (type.kind == TypeInfo::Kind::kFunction) return;
    for (const TypeInfo& field : type.fields) self(self, field);
  };
  for (const TypeCheck::Part& part : check_.parts) visit(visit, part.type);
  return fits;
}

void Extents::choose() {
  chosen_ = true;
  DimEquations equations(check_.terms, check_.symbols.size());
  for (size_t name = 0; name < check_.symbols.size(); ++name) {
    auto found = wanted_.find(check_.symbols[name]);
    if (found != wanted_.end()) equations.tell(name, found->second, 0);
  }
  for (const auto& [dim, extent] : told_) {
    if (dim->kind == TypeInfo::Dim::Kind::kSymbol) {
      const auto name = static_cast<size_t>(dim->value);
      if (!equations.value(name)) equations.tell(name, extent, 0);
    } else if (dim->kind == TypeInfo::Dim::Kind::kTerm) {
      equations.add(static_cast<uint32_t>(dim->value), extent, 0);
    }
  }
  equations.solve(false);
  for (size_t name = 0; name < check_.symbols.size(); ++name)
    names_.push_back(equations.value(name).value_or(-1));
  // Even numbers first, and powers of two: what programs divide extents by.
  constexpr std::array<int64_t, 14> kTried = {2, 4, 8, 16, 32, 64, 12, 24, 3, 9, 5, 10, 1, 0};
  for (int64_t open : kTried) {
    if (!compute(open)) continue;
    for (int64_t& name : names_) name = name < 0 ? open : name;
    return;
  }
  throw Error("no extents are found that the types of the arguments allow");
}

Shape Extents::shape(const TypeInfo& tensor) {
  if (!chosen_) choose();
  Shape shape;
  for (const TypeInfo::Dim& dim : tensor.dims) {
    switch (dim.kind) {
      case TypeInfo::Dim::Kind::kAny:
        shape.push_back(2);
        break;
      case TypeInfo::Dim::Kind::kInt:
        shape.push_back(dim.value);
        break;
      case TypeInfo::Dim::Kind::kSymbol:
        shape.push_back(names_[static_cast<size_t>(dim.value)]);
        break;
      case TypeInfo::Dim::Kind::kTerm:
        shape.push_back(slots_[static_cast<size_t>(dim.value)]);
        break;
    }
  }
  return shape;
}

// ---- Values of any type -------------------------------------------------------------------------

namespace {

class Maker {
 public:
  Maker(const TypeCheck& check, Extents& extents)
      : check_(check), extents_(extents), smallest_(check.data.size()) {}

  Value make(const TypeInfo& type, uint64_t seed) {
    find_heights();
    return value(type, seed, 0);
  }

 private:
  using Kind = TypeInfo::Kind;
  static constexpr size_t kEndless = ~size_t{0};

  // How many constructors the smallest value of a type has above each other. Types nest no deeper
  // than the verifier allows.
  size_t height(const TypeInfo& type) const {
    if (type.kind == Kind::kData)
      return type.data == TypeInfo::kNoData ? kEndless : heights_[type.data];
    if (type.kind == Kind::kFunction || type.kind == Kind::kAny) return kEndless;
    size_t most = 0;
    for (const TypeInfo& field : type.fields) most = std::max(most, height(field));
    return most;
  }
  size_t height(const DataInfo::Constructor& constructor) const {
    size_t most = 0;
    for (const TypeInfo& field : constructor.fields) most = std::max(most, height(field));
    return most == kEndless ? kEndless : most + 1;
  }
  void find_heights() {
    heights_.assign(check_.data.size(), kEndless);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < heights_.size(); ++i) {
        for (const DataInfo::Constructor& constructor : check_.data[i].constructors) {
          const size_t found = height(constructor);
          if (found >= heights_[i]) continue;
          heights_[i] = found;
          changed = true;
        }
      }
    }
  }

  Value value(const TypeInfo& type, uint64_t seed, size_t depth) {
    switch (type.kind) {
      case Kind::kTensor: {
        const Shape shape = extents_.shape(type);
        return Value(small_numbers(shape, type.dtype == DType() ? kFloat32 : type.dtype, seed));
      }
      case Kind::kTuple:
        return Value::tuple(fields(type.fields, seed, depth));
      case Kind::kReference:
        return Value::reference(value(type.fields.at(0), seed, depth));
      case Kind::kData:
        return data(type, seed, depth);
      case Kind::kFunction:
        throw Error("a function cannot be made up");
      case Kind::kAny:
        break;
    }
    throw Error("no value can be made up for a type that is not known");
  }

  std::vector<Value> fields(const std::vector<TypeInfo>& types, uint64_t seed, size_t depth) {
    std::vector<Value> values;
    for (size_t i = 0; i < types.size(); ++i)
      values.push_back(value(types[i], hash_combine(seed, i), depth));
    return values;
  }

  // Random constructors near the root, as long as the value is small; then the lowest one, which is
  // made once for a type: values share it.
  Value data(const TypeInfo& type, uint64_t seed, size_t depth) {
    constexpr size_t kDeep = 4, kMost = 64;
    if (height(type) == kEndless)
      throw Error("no value of " + type.name + " can be made up: " +
                  (type.data == TypeInfo::kNoData || check_.data[type.data].constructors.empty()
                       ? "it has no constructors"
                       : "each one has a function, an unknown type or no end in it"));
    const std::vector<DataInfo::Constructor>& all = check_.data[type.data].constructors;
    const bool smallest = depth >= kDeep || made_ >= kMost;
    std::optional<Value>& known = smallest_[type.data];
    if (smallest && known) return *known;
    size_t chosen = 0;
    if (smallest) {
      for (size_t i = 1; i < all.size(); ++i) {
        if (height(all[i]) < height(all[chosen])) chosen = i;
      }
    } else {
      // Higher ones near the root, so that a list has elements.
      std::vector<size_t> finite;
      for (size_t i = 0; i < all.size(); ++i) {
        if (height(all[i]) != kEndless) finite.push_back(i);
      }
      std::stable_sort(finite.begin(), finite.end(),
                       [&](size_t a, size_t b) { return height(all[a]) > height(all[b]); });
      chosen = finite[depth < 2 ? 0 : (hash_combine(seed, depth) >> 16) % finite.size()];
    }
    ++made_;
    const auto* info = ConstructorInfo::intern(Name(all[chosen].name), Name(type.name),
                                               static_cast<int32_t>(chosen),
                                               static_cast<uint32_t>(all[chosen].fields.size()));
    Value made = Value::data(info, fields(all[chosen].fields, seed, depth + 1));
    if (smallest) known = made;
    return made;
  }

  const TypeCheck& check_;
  Extents& extents_;
  std::vector<size_t> heights_;
  std::vector<std::optional<Value>> smallest_;
  size_t made_ = 0;
};

}  // namespace

Value made_up(const TypeCheck& check, const TypeInfo& type, Extents& extents, uint64_t seed) {
  return Maker(check, extents).make(type, seed);
}

}  // namespace relay
