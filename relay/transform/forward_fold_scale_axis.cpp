// ForwardFoldScaleAxis: moves factors on the operands of a sum of products into its weight.
#include <algorithm>

#include <relay/transform/pass.h>
#include <relay/transform/scale_axis.h>

namespace relay {
namespace {

using Places = std::vector<std::pair<const Call*, ScaledArgument>>;

class Forward {
 public:
  Forward(ScaleFolder& folder) : folder_(folder) {
    const Regions& regions = folder.regions();
    for (uint32_t id = 0; id < regions.num_nodes(); ++id) numbers_[regions.expr(id)] = id;
    users_.resize(regions.num_nodes());
    for (uint32_t id : regions.post_order()) {
      for (uint32_t i = 0; i < regions.num_operands(id); ++i) {
        uint32_t operand = regions.operand(id, i);
        if (operand != Regions::kNone) users_[operand].push_back({id, i});
      }
    }
  }

  void run() {
    for (const ScaledCall& scale : folder_.scaled_calls()) {
      const auto* type = scale.call->type()->as<TensorType>();
      for (size_t axis = 0; axis < type->dims().size(); ++axis) {
        if (scale.axis && *scale.axis != axis) continue;
        if (!scale.axis && !type->dims()[axis].is_int()) continue;
        Places places;
        steps_ = 0;
        if (!find(*numbers_.find(scale.call), axis, scale, places)) continue;
        folder_.fold(scale, std::move(places));
        break;
      }
    }
  }

 private:
  struct User {
    uint32_t node;
    uint32_t operand;
  };

  /// True if all users of a node can do without the factors along one of its axes.
  bool find(uint32_t id, size_t axis, const ScaledCall& scale, Places& places) {
    const Regions& regions = folder_.regions();
    if (users_[id].empty() || regions.uses(id) != users_[id].size()) return false;
    for (const User& user : users_[id]) {
      const auto* call = regions.expr(user.node)->as<Call>();
      if (call == nullptr || user.operand == 0 || regions.home(user.node) != regions.home(id) ||
          ++steps_ > kMaxScaleSteps || !pass(user, *call, axis, scale, places)) {
        return false;
      }
    }
    return true;
  }

  bool pass(const User& user, const Call& call, size_t dim, const ScaledCall& scale,
            Places& places) {
    const CallScaling* scaling = folder_.scaling(&call);
    if (scaling == nullptr) return false;
    uint32_t argument = user.operand - 1;
    for (uint32_t i = 0; i < call.args().size(); ++i) {
      if (i != argument && call.args()[i] == call.args()[argument]) return false;
    }
    if (std::optional<InputAxis> weight = scaling->exchange({argument, dim})) {
      if (!folder_.takes(call.args()[weight->input].get())) return false;
      places.push_back({&call, {static_cast<uint32_t>(weight->input), weight->dim, &scale}});
      return true;
    }
    const auto* type = call.type()->as<TensorType>();
    for (size_t axis = 0; axis < type->dims().size(); ++axis) {
      for (const Scaling& option : scaling->along(axis)) {
        if (option.positive && !scale.positive) continue;
        bool here = false, good = true;
        Places found;
        for (const InputAxis& at : option.inputs) {
          if (at.input == argument) {
            here = at.dim == dim;
          } else if (scale.divides && ScaleFolder::is_vector(call.args()[at.input].get(), at.dim)) {
            // (x · s + b) = (x + b / s) · s
            found.push_back({&call, {static_cast<uint32_t>(at.input), at.dim, &scale, true}});
          } else {
            good = false;
          }
        }
        if (!here || !good || !find(user.node, axis, scale, found)) continue;
        places.insert(places.end(), found.begin(), found.end());
        return true;
      }
    }
    return false;
  }

  ScaleFolder& folder_;
  PointerMap<Expr, uint32_t> numbers_;
  std::vector<std::vector<User>> users_;
  int steps_ = 0;
};

RELAY_REGISTER_PASS({
    {"ForwardFoldScaleAxis",
     3,
     {ProgramState::kTyped},
     "Moves factors along the input channels of convolutions and products into their weights, "
     "through operators that pass factors on: additions (what is added is divided), activations "
     "such as relu (by constants above 0), products. All users of the scaled value must take "
     "the factors."},
    {{"constants", "Only constant factors, into constant weights.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      bool constants = option<bool>(options, "constants");
      return make_prepared_function_pass(
          info, [constants](const Module& module, const PassContext&) {
            return [constants, effects = LazyEffects(module)](const FunctionRef& function) {
              ScaleFolder folder(function.get(), effects, constants);
              Forward(folder).run();
              return folder.finish(function);
            };
          });
    },
});

}  // namespace
}  // namespace relay
