// The results of a graph's nodes that the function reads outside of it.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {
namespace {

// The tuples around a value, interned: each has its number, and 0 is none.
class Wraps {
 public:
  struct Wrap {
    uint32_t outer = 0;
    uint32_t index = 0;  // of the value in the innermost tuple
  };

  /// Nothing if there are too many: a value that stands several times in a tuple of tuples has as
  /// many ways out as the product of all of them.
  std::optional<uint32_t> in_tuple(uint32_t wrap, uint32_t index) {
    constexpr size_t kMost = 512;
    auto [entry, added] = numbers_.try_emplace({wrap, index}, 0);
    if (added) {
      if (wraps_.size() == kMost) {
        numbers_.erase(entry);
        return std::nullopt;
      }
      entry->second = static_cast<uint32_t>(wraps_.size());
      wraps_.push_back({wrap, index});
    }
    return entry->second;
  }

  const Wrap& operator[](uint32_t wrap) const { return wraps_[wrap]; }

 private:
  std::vector<Wrap> wraps_{1};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

}  // namespace

// Which of the results of a node something outside of the graph uses. Tuples, variables and
// projections in between are followed: a field that nobody takes out of its tuple again is not
// used.
void FunctionCompiler::find_needed(uint32_t node, std::vector<char>& needed) {
  struct Use {
    uint32_t node;
    const Var* var;
    int64_t field;  // -1: all of it
    uint32_t wrap;
  };
  Wraps wraps;
  std::set<std::tuple<uint32_t, const Var*, int64_t, uint32_t>> seen;
  std::vector<Use> stack;
  auto follow = [&](Use use) {
    if (seen.emplace(use.node, use.var, use.field, use.wrap).second) stack.push_back(use);
  };
  auto need = [&](int64_t field) {
    if (field < 0) {
      std::fill(needed.begin(), needed.end(), 1);
    } else {
      needed[static_cast<size_t>(field)] = 1;
    }
  };
  auto in_graph = [&](uint32_t user) {
    auto found = unit_->in_graph.find(user);
    return found != unit_->in_graph.end() && found->second == unit_->graph_serial;
  };
  follow({node, nullptr, -1, 0});
  const auto* results = regions_.expr(node)->type()->as<TupleType>();
  const bool flat = results != nullptr &&
                    std::all_of(results->fields().begin(), results->fields().end(),
                                [](const TypeRef& field) { return field->is<TensorType>(); });
  const uint32_t function = scopes_.function_of(regions_.home(node));
  while (!stack.empty()) {
    const Use use = stack.back();
    stack.pop_back();
    const auto& users = use.var != nullptr ? scopes_.users(use.var) : scopes_.users(use.node);
    auto is_operand = [&](uint32_t user, size_t i) {
      return use.var != nullptr ? regions_.expr(user)->operands()[i].get() == use.var
                                : regions_.operand(user, i) == use.node;
    };
    for (uint32_t user : users) {
      if (user == Regions::kNone) {
        need(use.field);
        continue;
      }
      if (in_graph(user)) continue;
      // A function inside takes the whole value when it is made, whatever it does with it.
      if (scopes_.function_of(regions_.home(user)) != function) {
        need(use.field);
        continue;
      }
      const Expr* expr = regions_.expr(user);
      if (const auto* let = expr->as<Let>()) {
        if (is_operand(user, 0)) {
          if (is_checked(let)) need(use.field);  // whether something uses the variable or not
          follow({Regions::kNone, let->var().get(), use.field, use.wrap});
        }
        if (is_operand(user, 1)) follow({user, nullptr, use.field, use.wrap});
      } else if (const auto* get = expr->as<TupleGetItem>()) {
        const auto index = static_cast<uint32_t>(get->index());
        if (use.wrap != 0) {
          if (wraps[use.wrap].index == index)
            follow({user, nullptr, use.field, wraps[use.wrap].outer});
        } else if (flat && use.field < 0) {
          follow({user, nullptr, int64_t{index}, 0});
        } else {
          need(use.field);
        }
      } else if (expr->is<Tuple>()) {
        for (uint32_t i = 0; i < expr->operands().size(); ++i) {
          if (!is_operand(user, i)) continue;
          if (std::optional<uint32_t> wrap = wraps.in_tuple(use.wrap, i)) {
            follow({user, nullptr, use.field, *wrap});
          } else {
            need(use.field);
          }
        }
      } else {
        need(use.field);
      }
    }
  }
}

}  // namespace relay::vm
