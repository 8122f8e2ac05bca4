// Writes a function whose calls work in other layouts: follows the layouts from call to call, and
// transforms tensors where two differ.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <relay/ir/rewrite.h>
#include <relay/op/registry/layout_flow.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// A pass overrides `write` for the calls that it gives a layout. All others follow.
///
/// Values are stored as suits the calls that make and use them, but for what leaves the dataflow of
/// operators: results of functions and branches, arguments of functions, values of lets. A tensor
/// is transformed once for each layout, from the one that it was made in.
class LayoutRewriter : public Rewriter {
 public:
  FunctionRef apply(const FunctionRef& function);

 protected:
  /// The expression that stands in the place of a call.
  struct Written {
    ExprRef callee;
    CallFlow flow;
    std::map<size_t, ExprRef> made;  // arguments that are there already, by input
    ExprRef instead = {};            // a whole expression, with a result as in the program
  };
  /// Nothing for calls that follow. `argument(i)` is input i as the program has it.
  virtual std::optional<Written> write(const Call& call, const OpCall& typed,
                                       const std::function<ExprRef(size_t)>& argument) = 0;

 private:
  ExprRef enter(const Expr* expr) override;
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override;

  ExprRef rewrite_call(const Call& call, std::span<const ExprRef> operands);
  ExprRef rewrite_tuple(const Tuple& tuple, std::span<const ExprRef> operands);
  /// Remembers how the value of a node of the program is stored.
  void note(const Expr* old, Arrangements arrangements);
  /// The value of a node of the program in other arrangements, and as the program has it.
  ExprRef arranged(const ExprRef& value, const Expr* old, const Arrangements& wanted);
  ExprRef plain(const ExprRef& value, const Expr* old);
  ExprRef arranged_tensor(const ExprRef& value, const TensorType& type, const Arrangement& from,
                          const Arrangement& to);
  ExprRef projection(const ExprRef& tuple, uint32_t index);
  /// The expression that has been made of a value, so that it is made once.
  template <class Make>
  ExprRef remembered(const ExprRef& value, const std::string& key, Make make);

  PointerMap<Expr, Arrangements> moved_;  // by nodes of the program
  std::map<std::pair<const Expr*, std::string>, ExprRef> made_;
  std::vector<ExprRef> kept_;  // so that no other node gets the address of one in the map
};

}  // namespace relay
