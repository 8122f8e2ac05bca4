#include <relay/ir/module.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include <relay/ir/constructor_tags.h>
#include <relay/ir/type_table.h>
#include <relay/support/error.h>

namespace relay {

TypeDataRef TypeData::make(GlobalTypeVarRef name, std::vector<TypeVarRef> type_vars,
                           std::vector<ConstructorRef> constructors, bool is_extern, Span span) {
  const std::string type_name = name->name().str();
  std::unordered_set<const TypeVar*> declared;
  std::unordered_set<Name> names;
  for (const TypeVarRef& var : type_vars) {
    declared.insert(var.get());
    if (!names.insert(var->name()).second) {
      throw Error("data type " + type_name + " has two parameters named " + var->name().str(),
                  span);
    }
  }
  names.clear();
  auto* data = TypeTable::create<TypeData>({name});
  TypeDataRef result = TypeDataRef::adopt(data);
  for (const ConstructorRef& constructor : constructors) {
    if (!names.insert(constructor->name()).second) {
      throw Error(
          "data type " + type_name + " has two constructors named " + constructor->name().str(),
          constructor->span());
    }
    if (constructor->type_name() != name) {
      throw Error("constructor " + constructor->name().str() + " is of data type " +
                      constructor->type_name()->name().str() + ", not " + type_name,
                  constructor->span());
    }
    for (const TypeRef& input : constructor->inputs()) {
      for (const TypeVarRef& var : free_type_vars(input)) {
        if (declared.count(var.get()) != 0) continue;
        throw Error("constructor " + constructor->name().str() + " uses " + var->name().str() +
                        ", which is not a parameter of data type " + type_name,
                    constructor->span());
      }
      TypeTable::add_child(data, input.get());
    }
  }
  TypeTable::check_limits(data);
  if (is_extern && !constructors.empty()) {
    throw Error("extern type " + type_name + " cannot have constructors", span);
  }
  // Values carry the place of their constructor: executors index by it.
  for (size_t i = 0; i < constructors.size(); ++i) {
    uint32_t tag = constructors[i]->ctor_tag();
    if (tag != kUnnumbered && tag != i) {
      throw Error("constructor " + constructors[i]->name().str() + " has tag " +
                      std::to_string(tag) + ", but its place in data type " + type_name + " is " +
                      std::to_string(i),
                  constructors[i]->span());
    }
  }
  for (size_t i = 0; i < constructors.size(); ++i) {
    if (constructors[i]->ctor_tag() == kUnnumbered)
      number_constructor(*constructors[i], static_cast<uint32_t>(i));
  }
  data->hash_ = hash_combine(0xda7a, name->name().hash());
  data->type_vars_ = std::move(type_vars);
  data->constructors_ = std::move(constructors);
  data->is_extern_ = is_extern;
  data->span_ = span;
  return result;
}

TypeRef constructor_type(const TypeData& data, const Constructor& constructor) {
  std::vector<TypeRef> args(data.type_vars().begin(), data.type_vars().end());
  return FuncType::make(constructor.inputs(), TypeCall::make(data.name(), std::move(args)),
                        {data.type_vars().begin(), data.type_vars().end()});
}

namespace {

// `base` and N of a name `base_N`, as `fresh_name` makes them. N is so small that it can be counted
// on.
std::optional<std::pair<std::string_view, uint64_t>> numbered(std::string_view name) {
  constexpr size_t kMostDigits = 18;
  size_t line = name.rfind('_');
  if (line == std::string_view::npos || line + 1 == name.size()) return std::nullopt;
  std::string_view digits = name.substr(line + 1);
  if (digits.size() > kMostDigits || digits[0] == '0') return std::nullopt;
  uint64_t number = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return std::pair(name.substr(0, line), number);
}

}  // namespace

Module::Functions::Functions(const Functions& other) {
  if (other.has_gaps.load(std::memory_order_acquire)) other.close_gaps();
  entries = other.entries;
  index = other.index;
}

Module::Functions::Functions(Functions&& other) noexcept
    : entries(std::move(other.entries)),
      index(std::move(other.index)),
      has_gaps(other.has_gaps.exchange(false)) {
  other.entries.clear();
  other.index.clear();
}

Module::Functions& Module::Functions::operator=(Functions other) noexcept {
  entries.swap(other.entries);
  index.swap(other.index);
  has_gaps.store(other.has_gaps.load());
  return *this;
}

void Module::Functions::close_gaps() const {
  static std::mutex mutex;  // of all modules: it is held shortly, and seldom
  std::lock_guard lock(mutex);
  if (!has_gaps.load(std::memory_order_relaxed)) return;
  std::erase_if(entries, [](const FunctionEntry& entry) { return !entry.function; });
  for (size_t i = 0; i < entries.size(); ++i) index.find(entries[i].name)->second.place = i;
  has_gaps.store(false, std::memory_order_release);
}

void Module::add_function(const Name& name, FunctionRef function, bool replace) {
  RELAY_CHECK(function, "a global function is null");
  if (name.empty()) throw Error("a function of a module has a name", function->span());
  auto [entry, fresh] =
      functions_.index.try_emplace(name, Functions::Known{function, functions_.entries.size()});
  if (fresh) {
    functions_.entries.push_back({name, std::move(function)});
    if (auto parts = numbered(name.view())) {
      uint64_t& greatest = numbers_[Name(parts->first)];
      greatest = std::max(greatest, parts->second);
    }
    return;
  }
  FunctionRef& there = entry->second.function;
  if (!replace) {
    throw Error(Diagnostic::error("@" + name.str() + " is defined twice", function->span())
                    .note("it is first defined here", there->span()));
  }
  there = function;
  functions_.entries[entry->second.place].function = std::move(function);
}

void Module::remove_function(const Name& name) {
  auto found = functions_.index.find(name);
  if (found == functions_.index.end()) return;
  functions_.entries[found->second.place].function = {};
  functions_.index.erase(found);
  functions_.has_gaps.store(true, std::memory_order_release);
}

const Function* Module::function(const Name& name) const {
  auto found = functions_.index.find(name);
  return found == functions_.index.end() ? nullptr : found->second.function.get();
}

void Module::add_type(TypeDataRef data, bool replace) {
  RELAY_CHECK(data, "a data type is null");
  Name name = data->name()->name();
  if (name.empty()) throw Error("a data type of a module has a name", data->span());
  auto known = type_index_.find(name);
  if (known != type_index_.end() && !replace) {
    throw Error(Diagnostic::error("data type " + name.str() + " is defined twice", data->span())
                    .note("it is first defined here", types_[known->second]->span()));
  }
  for (const ConstructorRef& constructor : data->constructors()) {
    if (constructor->name().empty())
      throw Error("a constructor of data type " + name.str() + " has no name", data->span());
    auto other = constructors_.find(constructor->name());
    if (other == constructors_.end()) continue;
    if (other->second->type_name() == data->name()) continue;  // replaced with its type
    throw Error(Diagnostic::error("constructor " + constructor->name().str() + " is defined twice",
                                  constructor->span())
                    .note("it is first defined here, for data type " +
                              other->second->type_name()->name().str(),
                          other->second->span()));
  }
  if (known != type_index_.end()) {
    for (const ConstructorRef& constructor : types_[known->second]->constructors()) {
      constructors_.erase(constructor->name());
    }
  }
  for (const ConstructorRef& constructor : data->constructors()) {
    constructors_[constructor->name()] = constructor;
  }
  if (known != type_index_.end()) {
    types_[known->second] = std::move(data);
  } else {
    type_index_.emplace(name, types_.size());
    types_.push_back(std::move(data));
  }
}

const TypeData* Module::type_data(const Name& name) const {
  auto found = type_index_.find(name);
  return found == type_index_.end() ? nullptr : types_[found->second].get();
}

const Constructor* Module::constructor(const Name& name) const {
  auto found = constructors_.find(name);
  return found == constructors_.end() ? nullptr : found->second.get();
}

void Module::add_source(std::shared_ptr<const Source> source) {
  if (source == nullptr) return;
  // In order of place, so that a module with a source for each node adds one in constant time.
  auto before = [](const auto& a, const auto& b) { return a->base() < b->base(); };
  const bool last = sources_.empty() || before(sources_.back(), source);
  auto at =
      last ? sources_.end() : std::lower_bound(sources_.begin(), sources_.end(), source, before);
  if (at == sources_.end() || *at != source) sources_.insert(at, std::move(source));
}

const Module::FunctionEntry* Module::entry() const {
  const std::vector<FunctionEntry>& all = functions();
  auto main = functions_.index.find(Name("main"));
  if (main != functions_.index.end()) return &all[main->second.place];
  return all.size() == 1 ? all.data() : nullptr;
}

Name Module::fresh_name(std::string_view base) const {
  Name name(base);
  if (functions_.index.count(name) == 0) return name;
  auto greatest = numbers_.find(name);
  uint64_t number = greatest == numbers_.end() ? 0 : greatest->second;
  do {
    name = Name(std::string(base) + '_' + std::to_string(++number));
  } while (functions_.index.count(name) != 0);  // numbers too great to be counted on
  return name;
}

}  // namespace relay
