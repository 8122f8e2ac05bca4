// Local names, graph names (language.md G1) and the names in types.
#include <algorithm>
#include <charconv>

#include <relay/ir/visit.h>
#include <relay/parse/parser.h>

namespace relay::parsing {

ExprRef Parser::placeholder(Span span) const { return make_tuple({}, span); }

// ---- Locals and graph names ----

void Parser::bind_local(Local local) {
  SymbolInfo& info = symbols_[local.symbol];
  if (local.graph && info.local >= 0) {
    const Local& earlier = locals_[static_cast<size_t>(info.local)];
    if (earlier.graph && earlier.block == local.block) {
      report(
          Diagnostic::error(
              "%" + std::string(name_of(local.symbol)) + " is bound twice in one block", local.span)
              .note("first bound here", earlier.span)
              .of_rule("G1"));
    }
  }
  if (!unknown_locals_.empty()) note_late_binding(local);
  if (local.binder) binders_.emplace_back(local.expr->as<Var>());
  local.outer = info.local;
  info.local = static_cast<int32_t>(locals_.size());
  locals_.push_back(std::move(local));
}

void Parser::close_locals(size_t mark) {
  while (locals_.size() > mark) {
    Local& local = locals_.back();
    SymbolInfo& info = symbols_[local.symbol];
    info.local = local.outer;
    if (local.binder) binders_.pop_back();
    if (local.graph) {
      // Bindings are closed last to first; of one block the latest, of all blocks the latest closed
      // counts.
      int32_t known = info.closed;
      if (known >= 0 && closed_[static_cast<size_t>(known)].block != local.block) {
        closed_[static_cast<size_t>(known)] = std::move(local);
      } else if (known < 0) {
        info.closed = static_cast<int32_t>(closed_.size());
        closed_.push_back(std::move(local));
      }
    }
    locals_.pop_back();
  }
}

// The node of a graph name whose block is closed: everything free in it must still be in scope.
void Parser::check_in_scope(const ExprRef& node, Symbol symbol, Span span) {
  auto is_open = [&](const Var* var) {
    for (int32_t i = symbols_[symbols_.intern(var->name().view())].local; i >= 0;
         i = locals_[static_cast<size_t>(i)].outer) {
      if (locals_[static_cast<size_t>(i)].expr.get() == var) return true;
    }
    return std::any_of(free_vars_.begin(), free_vars_.end(),
                       [&](const VarRef& free) { return free.get() == var; });
  };
  // A node found good before is good again as long as the variable noted for it is open: that is
  // the innermost of those that its free ones could be.
  auto is_verified = [&](const Expr* expr) {
    auto entry = verified_.find(expr);
    return entry != verified_.end() && (!entry->second || is_open(entry->second.get()));
  };
  std::vector<const Expr*> stack{node.get()};
  std::unordered_set<const Expr*> seen;
  std::unordered_set<const Var*> bound;
  std::vector<const Var*> used;
  while (!stack.empty() || !used.empty()) {
    if (stack.empty()) {
      const Var* var = used.back();
      used.pop_back();
      if (bound.contains(var) || is_open(var)) continue;
      auto candidate = candidate_values_.find(var);
      if (candidate == candidate_values_.end()) {
        report_out_of_scope(symbol, var, span);
        return;
      }
      // If it proves to be a graph node, its dependences count.
      late_uses_.push_back({VarRef(var), symbol, span});
      stack.push_back(candidate->second.get());
      continue;
    }
    const Expr* expr = stack.back();
    stack.pop_back();
    if (!seen.insert(expr).second || is_verified(expr)) continue;
    if (const auto* var = expr->as<Var>()) used.push_back(var);
    if (const auto* let = expr->as<Let>()) bound.insert(let->var().get());
    if (const auto* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) bound.insert(param.get());
    }
    if (const auto* match = expr->as<Match>()) {
      for (const PatternRef& pattern : match->patterns()) {
        for (const VarRef& var : pattern_vars(pattern.get())) bound.insert(var.get());
      }
    }
    for (const ExprRef& operand : expr->operands()) stack.push_back(operand.get());
  }
  // Remember all of them under the innermost binding that is open now: none can be deeper.
  VarRef innermost = binders_.empty() ? VarRef() : binders_.back();
  verified_roots_.push_back(node);
  if (bound.empty()) {
    for (const Expr* expr : seen) verified_[expr] = innermost;
  } else {
    verified_[node.get()] = innermost;
  }
}

void Parser::report_out_of_scope(Symbol symbol, const Var* var, Span span) {
  Diagnostic diagnostic =
      var->name().view() == name_of(symbol)
          ? Diagnostic::error("%" + var->name().str() + " is not in scope here", span)
          : Diagnostic::error("%" + std::string(name_of(symbol)) + " depends on %" +
                                  var->name().str() + ", which is not in scope here",
                              span);
  report(diagnostic.note("%" + var->name().str() + " is bound here", var->span()).of_rule("G1"));
}

ExprRef Parser::find_local(Symbol symbol, const Token& use) {
  const SymbolInfo& info = symbols_[symbol];
  if (info.local >= 0) return locals_[static_cast<size_t>(info.local)].expr;
  if (info.closed < 0) return {};
  ExprRef node = closed_[static_cast<size_t>(info.closed)].expr;
  check_in_scope(node, symbol, span(use));
  return node;
}

// The longest dotted name in scope; field numbers that remain are projections.
ExprRef Parser::use_local(const Token& token) {
  if (ExprRef found = find_local(token.symbol, token)) return found;
  std::string_view whole = name_of(token.symbol);
  if (!token.escaped) {
    for (size_t dot = whole.rfind('.'); dot != std::string_view::npos && dot > 0;
         dot = whole.rfind('.', dot - 1)) {
      ExprRef found = find_local(symbols_.intern(whole.substr(0, dot)), token);
      if (!found) continue;
      std::string_view rest = whole.substr(dot);
      while (!rest.empty()) {
        rest.remove_prefix(1);
        size_t length = std::min(rest.find('.'), rest.size());
        uint32_t index = 0;
        auto [end, code] = std::from_chars(rest.data(), rest.data() + length, index);
        if (code != std::errc() || end != rest.data() + length) {
          std::string_view method = rest.substr(0, length);
          Diagnostic diagnostic =
              Diagnostic::error("%" + std::string(whole.substr(0, dot)) + " is in scope, but " +
                                    std::string(method) + " is not the number of a field",
                                span(token))
                  .of_rule("S3");
          explain_method(diagnostic, whole.substr(0, dot), method);
          report(std::move(diagnostic));
          return placeholder(span(token));
        }
        rest.remove_prefix(length);
        size_t taken = whole.size() - rest.size() + 1;  // with the sigil
        found = make_projection(std::move(found), index, source_->span(token.begin, taken));
      }
      return found;
    }
  }
  if (token.foreign) return placeholder(span(token));                           // reported
  if (unknown_locals_.contains(token.symbol)) return placeholder(span(token));  // reported
  auto diagnostic =
      Diagnostic::error("unknown local name %" + std::string(whole), span(token)).of_rule("N1");
  std::vector<std::string> candidates;
  for (const Local& local : locals_) {
    if (candidates.size() > 5000) break;
    candidates.emplace_back(name_of(local.symbol));
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  bool number = !whole.empty() && whole.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) suggest(diagnostic, std::string(whole), candidates, "%");
  if (globals_.contains(token.symbol))
    diagnostic.help("a global function is written @" + std::string(whole))
        .fix(span(token), "@" + std::string(whole));
  unknown_locals_[token.symbol] = {diagnostics_.size(), block_};
  report(std::move(diagnostic));
  return placeholder(span(token));
}

// ---- Names in types ----

void Parser::bind_type_name(Symbol symbol, TypeVarRef var, bool flexible, bool quoted) {
  SymbolInfo& info = symbols_[symbol];
  type_names_.push_back({std::move(var), symbol, info.type_var, flexible, quoted});
  info.type_var = static_cast<int32_t>(type_names_.size()) - 1;
}

void Parser::close_type_names(size_t mark) {
  while (type_names_.size() > mark) {
    symbols_[type_names_.back().symbol].type_var = type_names_.back().outer;
    type_names_.pop_back();
  }
}

const Parser::TypeName* Parser::find_type_name(Symbol symbol) const {
  int32_t index = symbols_[symbol].type_var;
  return index < 0 ? nullptr : &type_names_[static_cast<size_t>(index)];
}

const Parser::TypeName* Parser::find_type_name(const Token& word) const {
  const TypeName* known = find_type_name(word.symbol);
  if (known == nullptr || word.escaped || !known->quoted) return known;
  return DType::parse(name_of(word.symbol)) ? nullptr : known;
}

}  // namespace relay::parsing
