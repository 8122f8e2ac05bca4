#include <malloc.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>
#include <relay/runtime/value.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace relay {

namespace {

struct Constructors {
  using Key = std::tuple<Name, Name, int32_t, uint32_t>;
  ForkMutex mutex;
  std::map<Key, std::unique_ptr<const ConstructorInfo>> table;

  static Constructors& instance() {
    // Never destroyed: values may still be alive when the process ends.
    static auto* all = new Constructors;
    return *all;
  }
};
// As the library is loaded: a child must not wait for a thread that was making it.
[[maybe_unused]] Constructors& constructors_made_early = Constructors::instance();

}  // namespace

const ConstructorInfo* ConstructorInfo::intern(Name name, Name type_name, int32_t tag,
                                               uint32_t arity) {
  Constructors& all = Constructors::instance();
  std::lock_guard lock(all.mutex);
  auto& entry = all.table[Constructors::Key(name, type_name, tag, arity)];
  if (entry == nullptr) entry.reset(new ConstructorInfo{name, type_name, tag, arity});
  return entry.get();
}

// Objects.

namespace {
thread_local const Object* dead = nullptr;
thread_local bool draining = false;
}  // namespace

void* Object::allocate(size_t size) {
  void* memory = pool_allocate(size);
  if (memory == nullptr) throw Error("no memory left for a value");
  size_t got = malloc_usable_size(memory);
  if (!try_charge_memory(got)) [[unlikely]] {
    pool_free_usable(memory, got);
    throw_out_of_memory("a value", got);
  }
  return memory;
}

void Object::deallocate(void* memory) noexcept {
  const size_t usable = malloc_usable_size(memory);
  refund_memory(usable);
  pool_free_usable(memory, usable);
}

void Object::destroy() const noexcept {
  if (draining) {
    const_cast<Object*>(this)->next_dead_ = dead;
    dead = this;
    return;
  }
  draining = true;
  const Object* object = this;
  while (true) {
    delete object;
    if (dead == nullptr) break;
    object = dead;
    dead = object->next_dead_;
  }
  draining = false;
}

struct Value::FieldsObject final : Object {
  FieldsObject(const ConstructorInfo* constructor, std::span<Value> from) noexcept {
    constructor_ = constructor;
    count_ = static_cast<uint32_t>(from.size());
    Value* to = fields();
    for (Value& field : from) new (to++) Value(std::move(field));
  }
  ~FieldsObject() override { std::destroy_n(fields(), count_); }

  Value* fields() { return reinterpret_cast<Value*>(this + 1); }
  uint32_t count() const { return count_; }
  const ConstructorInfo* constructor() const { return constructor_; }
};

struct Value::CellObject final : Object {
  explicit CellObject(Value initial) noexcept : value(std::move(initial)) {}
  Value value;
};

// Values.

void Value::swap(Value& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(counted_, other.counted_);
  std::swap(dtype_, other.dtype_);
  std::swap(tag_, other.tag_);
  std::swap(payload_, other.payload_);
}

Value Value::scalar_of(DType dtype, double value) {
  return dispatch(dtype, [&](auto tag) {
    return scalar(convert_element<typename decltype(tag)::type>(value));
  });
}

Value Value::scalar_of(DType dtype, int64_t value) {
  return dispatch(dtype, [&](auto tag) {
    return scalar(convert_element<typename decltype(tag)::type>(value));
  });
}

Value::Value(NDArray array) {
  RELAY_CHECK(static_cast<bool>(array), "a value needs a tensor");
  dtype_ = array.dtype();
  if (array.rank() == 0) {
    kind_ = Kind::kScalar;
    std::memcpy(&payload_.bits, array.raw(), dtype_.size());
    return;
  }
  kind_ = Kind::kTensor;
  counted_ = true;
  payload_.array = std::move(array).detach();
}

Value Value::with_fields(Kind kind, const ConstructorInfo* constructor, std::span<Value> fields) {
  Value value;
  value.kind_ = kind;
  if (fields.empty()) {
    value.payload_.constructor = constructor;
    return value;
  }
  if (fields.size() > UINT32_MAX) throw Error("a value has too many fields");
  value.payload_.object = new (fields.size() * sizeof(Value)) FieldsObject(constructor, fields);
  value.counted_ = true;
  return value;
}

Value Value::tuple(std::span<Value> fields) { return with_fields(Kind::kTuple, nullptr, fields); }

Value Value::data(const ConstructorInfo* constructor, std::span<Value> fields) {
  RELAY_CHECK(constructor->arity == fields.size(), "a constructor has a value for each field");
  Value value = with_fields(Kind::kData, constructor, fields);
  value.tag_ = constructor->tag;
  return value;
}

Value Value::closure(Ref<Closure> closure) {
  RELAY_CHECK(static_cast<bool>(closure), "a value needs a closure");
  Value value;
  value.kind_ = Kind::kClosure;
  value.payload_.object = closure.detach();
  value.counted_ = true;
  return value;
}

Value Value::reference(Value initial) {
  Value value;
  value.payload_.object = new CellObject(std::move(initial));
  value.kind_ = Kind::kReference;
  value.counted_ = true;
  return value;
}

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNone:
      return "nothing";
    case Value::Kind::kScalar:
      return "a number";
    case Value::Kind::kTensor:
      return "a tensor";
    case Value::Kind::kTuple:
      return "a tuple";
    case Value::Kind::kData:
      return "a data value";
    case Value::Kind::kClosure:
      return "a closure";
    case Value::Kind::kReference:
      return "a reference";
  }
  return "nothing";
}

void Value::throw_wrong_kind(const char* wanted) const {
  std::string is = kind_name(kind_);
  if (kind_ == Kind::kScalar) is += " of type " + std::string(dtype_.name());
  internal_error(__FILE__, __LINE__, "kind", is + " was used as " + wanted);
}

DType Value::dtype() const {
  if (!is_tensor()) throw_wrong_kind("a tensor");
  return dtype_;
}

ShapeView Value::shape() const {
  if (kind_ == Kind::kScalar) return {};
  if (kind_ != Kind::kTensor) throw_wrong_kind("a tensor");
  return {payload_.array->extents(), payload_.array->rank_};
}

double Value::as_double() const {
  if (kind_ != Kind::kScalar) return array().item_as_double();
  return dispatch(dtype_, [&](auto tag) {
    typename decltype(tag)::type value;
    std::memcpy(&value, &payload_.bits, sizeof value);
    return convert_element<double>(value);
  });
}

int64_t Value::as_int64() const {
  if (kind_ != Kind::kScalar) return array().item_as_int64();
  return dispatch(dtype_, [&](auto tag) {
    typename decltype(tag)::type value;
    std::memcpy(&value, &payload_.bits, sizeof value);
    return convert_element<int64_t>(value);
  });
}

bool Value::as_bool() const {
  if (kind_ != Kind::kScalar) throw_wrong_kind("a number");
  if (dtype_ == kBool) return payload_.bits != 0;
  return as_double() != 0;
}

NDArray Value::array() const {
  if (kind_ == Kind::kScalar) {
    NDArray result = NDArray::empty(ShapeView(), dtype_);
    std::memcpy(result.raw(), &payload_.bits, dtype_.size());
    return result;
  }
  if (kind_ != Kind::kTensor) throw_wrong_kind("a tensor");
  payload_.array->retain();
  return NDArray::adopt(payload_.array);
}

std::span<const Value> Value::fields() const {
  if (kind_ != Kind::kTuple && kind_ != Kind::kData) throw_wrong_kind("a tuple or data value");
  if (!counted_) return {};
  auto* object = static_cast<FieldsObject*>(payload_.object);
  return {object->fields(), object->count()};
}

std::span<Value> Value::unique_fields() {
  if (!counted_ || (kind_ != Kind::kTuple && kind_ != Kind::kData)) return {};
  auto* object = static_cast<FieldsObject*>(payload_.object);
  if (!object->unique()) return {};
  return {object->fields(), object->count()};
}

const ConstructorInfo* Value::constructor() const {
  if (kind_ != Kind::kData) throw_wrong_kind("a data value");
  return counted_ ? static_cast<FieldsObject*>(payload_.object)->constructor()
                  : payload_.constructor;
}

Closure* Value::closure() const {
  if (kind_ != Kind::kClosure) throw_wrong_kind("a closure");
  return static_cast<Closure*>(payload_.object);
}

const Value& Value::get() const {
  if (kind_ != Kind::kReference) throw_wrong_kind("a reference");
  return static_cast<CellObject*>(payload_.object)->value;
}

void Value::set(Value value) const {
  if (kind_ != Kind::kReference) throw_wrong_kind("a reference");
  // The old value is destroyed by the parameter, after the cell is whole again.
  static_cast<CellObject*>(payload_.object)->value.swap(value);
}

bool bit_equal(const Value& a, const Value& b) {
  std::vector<std::pair<const Value*, const Value*>> todo{{&a, &b}};
  // Pairs of composite values met before: keeps shared structure linear and cycles finite.
  std::set<std::pair<const void*, const void*>> seen;
  auto once = [&](const void* x, const void* y) { return seen.emplace(x, y).second; };
  while (!todo.empty()) {
    auto [x, y] = todo.back();
    todo.pop_back();
    if (x->kind() != y->kind()) return false;
    if (x->same(*y)) continue;
    switch (x->kind()) {
      case Value::Kind::kNone:
      case Value::Kind::kScalar:
      case Value::Kind::kClosure:
        return false;
      case Value::Kind::kTensor:
        if (!bit_equal(x->array(), y->array())) return false;
        break;
      case Value::Kind::kReference:
        if (once(&x->get(), &y->get())) todo.emplace_back(&x->get(), &y->get());
        break;
      case Value::Kind::kData:
        if (x->constructor() != y->constructor()) return false;
        [[fallthrough]];
      case Value::Kind::kTuple: {
        auto left = x->fields(), right = y->fields();
        if (left.size() != right.size()) return false;
        if (left.empty() || !once(left.data(), right.data())) break;
        for (size_t i = left.size(); i-- > 0;) todo.emplace_back(&left[i], &right[i]);
        break;
      }
    }
  }
  return true;
}

}  // namespace relay
