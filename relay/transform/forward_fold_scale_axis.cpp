// ForwardFoldScaleAxis: moves factors on the operands of a sum of products into its weight.
#include <algorithm>

#include <relay/transform/pass.h>
#include <relay/transform/scale_axis.h>

namespace relay {
namespace {

using Places = std::vector<std::pair<const Call*, ScaledArgument>>;

class Forward {
 public:
  explicit Forward(ScaleFolder& folder) : folder_(folder), view_(folder.view()) {}

  void run() {
    for (const ScaledCall& scale : folder_.scaled_calls()) {
      const auto* type = scale.call->type()->as<TensorType>();
      for (size_t axis = 0; axis < type->dims().size(); ++axis) {
        if (scale.axis && *scale.axis != axis) continue;
        if (!scale.axis && !type->dims()[axis].is_int()) continue;
        Places places;
        steps_ = 0;
        if (!find(scale.node, axis, scale, places)) continue;
        folder_.fold(scale, std::move(places));
        break;
      }
    }
  }

 private:
  /// True if all users of a node can do without the factors along one of its axes.
  bool find(uint32_t id, size_t axis, const ScaledCall& scale, Places& places) {
    const Scopes& scopes = view_.scopes();
    if (view_.users()[id].empty()) return false;
    for (const Users::Use& use : view_.users()[id]) {
      const auto* call = view_.expr(use.user)->as<Call>();
      if (call == nullptr || use.operand == 0 || scopes.home(use.user) != scopes.home(id) ||
          ++steps_ > kMaxScaleSteps || !pass(use, *call, axis, scale, places)) {
        return false;
      }
    }
    return true;
  }

  bool pass(const Users::Use& use, const Call& call, size_t dim, const ScaledCall& scale,
            Places& places) {
    const CallScaling* scaling = folder_.scaling(&call);
    if (scaling == nullptr) return false;
    uint32_t argument = use.operand - 1;
    for (uint32_t i = 0; i < call.args().size(); ++i) {
      if (i != argument && call.args()[i] == call.args()[argument]) return false;
    }
    if (std::optional<InputAxis> weight = scaling->exchange({argument, dim})) {
      if (!folder_.takes(call.args()[weight->input].get(), scale)) return false;
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
          } else if (scale.divides &&
                     ScaleFolder::is_vector(call.args()[at.input].get(), at.dim, scale)) {
            // (x · s + b) = (x + b / s) · s
            found.push_back({&call, {static_cast<uint32_t>(at.input), at.dim, &scale, true}});
          } else {
            good = false;
          }
        }
        if (!here || !good || !find(use.user, axis, scale, found)) continue;
        places.insert(places.end(), found.begin(), found.end());
        return true;
      }
    }
    return false;
  }

  ScaleFolder& folder_;
  const View& view_;
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
              ScaleFolder folder(function, effects, constants);
              Forward(folder).run();
              return folder.finish(function);
            };
          });
    },
});

}  // namespace
}  // namespace relay
