// Copies for devices: one for each chain of calls at first; those that prove to be on the same
// devices then become one again.
#include <relay/infer/devices/device_copies.h>

#include <map>
#include <unordered_map>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay {
namespace {

constexpr size_t kNone = ~size_t{0};
/// Expressions in all copies.
constexpr size_t kMaxNodes = size_t{1} << 20;

// A copy that shares no expression whose device may differ, in which each mention of a global
// function is what `named` gives for it. Mentions come in the same order for every copy.
class Copier final : public Rewriter {
 public:
  using Named = std::function<Name(Name)>;
  explicit Copier(const Named& named) : named_(named) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    switch (expr->kind()) {
      case ExprKind::kVar:
      case ExprKind::kGlobalVar:
      case ExprKind::kConstant:
      case ExprKind::kOp:
      case ExprKind::kConstructor:
        return ExprRef(expr);
      default:
        break;
    }
    std::vector<ExprRef> changed(operands.begin(), operands.end());
    for (ExprRef& operand : changed) {
      if (const auto* global = operand->as<GlobalVar>())
        operand = make_global_var(named_(global->name()), global->span());
    }
    ExprRef result = rebuild(expr, changed);
    return result.get() == expr ? clone_node(expr) : result;
  }

  const Named& named_;
};

FunctionRef copy(const FunctionRef& function, const Copier::Named& named) {
  ExprRef fresh = copy_nodes(function);
  return FunctionRef(Copier(named).run(fresh)->as<Function>());
}

struct Copy {
  Name origin, name;
  size_t caller = kNone;  // the copy that it is for; none for the module's own functions
  FunctionRef function;
  std::vector<size_t> uses;  // the copies that it mentions, in order
  size_t group = 0;          // of copies that are the same on the same devices
};

class Copies {
 public:
  explicit Copies(const Module& module) : module_(module), own_(module.functions().size()) {}

  /// False if there are too many.
  bool expand() {
    std::unordered_map<Name, size_t> sizes;
    for (const Module::FunctionEntry& entry : module_.functions()) {
      size_t& size = sizes[entry.name];
      post_order(entry.function.get(), [&](const Expr*) { ++size; });
      all_.push_back({entry.name, entry.name, kNone, {}, {}, 0});
    }
    size_t nodes = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      Name origin = all_[i].origin;
      nodes += sizes[origin];
      if (all_.size() - own_ > kMaxDeviceCopies || nodes > kMaxNodes) return false;
      all_[i].function = copy(FunctionRef(module_.function(origin)), [&](Name callee) {
        if (module_.function(callee) == nullptr) return callee;
        size_t used = find(i, callee);
        all_[i].uses.push_back(used);
        return all_[used].name;
      });
    }
    return true;
  }

  /// All of them.
  Module expanded() const {
    Module result = module_;
    for (const Copy& each : all_) result.update_function(each.name, each.function);
    infer_types_or_throw(result);
    return result;
  }

  /// The names of the original functions in the module.
  std::unordered_map<Name, Name> origins() const {
    std::unordered_map<Name, Name> result;
    for (size_t i = own_; i < all_.size(); ++i) result.emplace(all_[i].name, all_[i].origin);
    return result;
  }

  /// Keeps copies that differ in the device of some value.
  Module merged(const Devices& devices) {
    std::map<std::pair<Name, std::vector<Device>>, size_t, Less> kinds;
    for (Copy& each : all_) {
      auto key = std::pair(each.origin, devices.everywhere(each.function.get()));
      each.group = kinds.try_emplace(std::move(key), kinds.size()).first->second;
    }
    // And in their callees.
    for (size_t before = 0, now = kinds.size(); before != now;) {
      std::map<std::vector<size_t>, size_t> finer;
      std::vector<size_t> groups;
      for (const Copy& each : all_) {
        std::vector<size_t> key{each.group};
        for (size_t used : each.uses) key.push_back(all_[used].group);
        groups.push_back(finer.try_emplace(std::move(key), finer.size()).first->second);
      }
      for (size_t i = 0; i < all_.size(); ++i) all_[i].group = groups[i];
      before = std::exchange(now, finer.size());
    }
    // The module's own functions come first and keep their names.
    std::unordered_map<size_t, Name> names;
    std::vector<const Copy*> chosen;
    std::unordered_map<Name, size_t> counts;
    for (const Copy& each : all_) {
      auto [name, added] = names.try_emplace(each.group, each.name);
      if (!added) continue;
      if (each.caller != kNone) name->second = fresh_name(each.origin, counts);
      chosen.push_back(&each);
    }
    Module result = module_;
    for (const Copy* each : chosen) {
      size_t next = 0;
      bool same = each->caller == kNone;
      FunctionRef function = copy(FunctionRef(module_.function(each->origin)), [&](Name callee) {
        if (module_.function(callee) == nullptr) return callee;
        Name name = names.at(all_[each->uses[next++]].group);
        same = same && name == callee;
        return name;
      });
      if (!same) result.update_function(names.at(each->group), std::move(function));
    }
    infer_types_or_throw(result);
    return result;
  }

 private:
  struct Less {
    using Key = std::pair<Name, std::vector<Device>>;
    bool operator()(const Key& a, const Key& b) const {
      if (!(a.first == b.first)) return a.first < b.first;
      auto less = [](Device x, Device y) {
        return std::pair(x.type, x.id) < std::pair(y.type, y.id);
      };
      return std::lexicographical_compare(a.second.begin(), a.second.end(), b.second.begin(),
                                          b.second.end(), less);
    }
  };

  // The copy that copy `i` calls: the one that it is for, in a recursion, else one of its own.
  size_t find(size_t i, Name callee) {
    for (size_t at = i; at != kNone; at = all_[at].caller) {
      if (all_[at].origin == callee) return at;
    }
    Name name = fresh_name(callee, tried_);
    all_.push_back({callee, name, i, {}, {}, 0});
    return all_.size() - 1;
  }

  Name fresh_name(Name origin, std::unordered_map<Name, size_t>& tried) const {
    for (;;) {
      Name name(origin.str() + "_" + std::to_string(++tried[origin]));
      if (module_.function(name) == nullptr) return name;
    }
  }

  const Module& module_;
  size_t own_;
  std::vector<Copy> all_;
  std::unordered_map<Name, size_t> tried_;
};

}  // namespace

DeviceCopies copy_for_devices(const Module& module) {
  DeviceCopies result;
  result.module = module;
  result.devices = std::make_unique<Devices>(module);
  result.problems = result.devices->problems();
  if (result.problems.empty() || module.functions().size() < 2) return result;
  Copies copies(module);
  if (!copies.expand()) {
    for (Diagnostic& problem : result.problems)
      problem.note(
          "there are so many chains of calls that no function is made for several devices");
    return result;
  }
  Module expanded = copies.expanded();
  Devices devices(expanded, copies.origins());
  result.problems = devices.problems();
  if (!result.problems.empty()) return result;
  result.module = copies.merged(devices);
  result.devices = std::make_unique<Devices>(result.module);
  result.problems = result.devices->problems();
  return result;
}

std::vector<Diagnostic> check_devices(const Module& module) {
  if (!uses_devices(module)) return {};
  return copy_for_devices(module).problems;
}

}  // namespace relay
