// BackwardFoldScaleAxis: factors on the result of a sum of products go into its weight.
#include <algorithm>

#include <relay/ir/tensor_types.h>
#include <relay/transform/pass.h>
#include <relay/transform/scale_axis.h>

namespace relay {
namespace {

using Places = std::vector<std::pair<const Call*, ScaledArgument>>;

class Backward {
 public:
  explicit Backward(ScaleFolder& folder) : folder_(folder), view_(folder.view()) {}

  void run() {
    // From the results back: factors on factors go all the way.
    std::vector<ScaledCall> calls = folder_.scaled_calls();
    for (size_t i = calls.size(); i-- > 0;) {
      const ScaledCall& scale = calls[i];
      const uint32_t data = view_.operands(scale.node)[1 + scale.data];
      const auto* type = view_.expr(data)->type()->as<TensorType>();
      for (size_t axis = 0; axis < type->dims().size(); ++axis) {
        if (scale.axis && *scale.axis != axis) continue;
        if (!scale.axis && !type->dims()[axis].is_int()) continue;  // to be repeated
        Places places;
        steps_ = 0;
        if (!find(data, view_.scopes().home(scale.node), axis, scale, places)) continue;
        folder_.fold(scale, std::move(places));
        break;
      }
    }
  }

 private:
  /// True if a node can have the factors along an axis by itself; adds where they go.
  bool find(uint32_t id, uint32_t region, size_t axis, const ScaledCall& scale, Places& places) {
    const auto* call = view_.expr(id)->as<Call>();
    if (call == nullptr || ++steps_ > kMaxScaleSteps) return false;
    // Any other user wants the value without the factors.
    if (view_.users()[id].size() != 1 || view_.scopes().home(id) != region) return false;
    const CallScaling* scaling = folder_.scaling(call);
    if (scaling == nullptr) return false;
    for (const Scaling& option : scaling->along(axis)) {
      if (option.positive && !scale.positive) continue;
      const InputAxis& first = option.inputs[0];
      if (option.inputs.size() == 1 && scaling->is_weight(first.input)) {
        if (!folder_.takes(call->args()[first.input].get(), scale)) continue;
        places.push_back({call, place(first, scale)});
        return true;
      }
      // Each argument has them by itself, or is small; one at least has to.
      Places found;
      bool good = true, any = false;
      for (const InputAxis& at : option.inputs) {
        const Expr* argument = call->args()[at.input].get();
        if (good && find(view_.operands(id)[1 + at.input], region, at.dim, scale, found)) {
          any = true;
        } else if (good && ScaleFolder::is_vector(argument, at.dim, scale)) {
          found.push_back({call, place(at, scale)});
        } else {
          good = false;
        }
      }
      if (!good || !any) continue;
      places.insert(places.end(), found.begin(), found.end());
      return true;
    }
    return false;
  }

  static ScaledArgument place(const InputAxis& at, const ScaledCall& scale) {
    return {static_cast<uint32_t>(at.input), at.dim, &scale};
  }

  ScaleFolder& folder_;
  const View& view_;
  int steps_ = 0;
};

RELAY_REGISTER_PASS({
    {"BackwardFoldScaleAxis",
     3,
     {ProgramState::kTyped},
     "Moves factors along one axis of a convolution's or product's result into its weight, through "
     "operators that pass factors on: additions (what is added is multiplied, too), activations "
     "such "
     "as relu (by constants above 0), products. The values that the factors pass "
     "must have no other use."},
    {{"constants", "Only constant factors, into constant weights.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      bool constants = option<bool>(options, "constants");
      return make_prepared_function_pass(
          info, [constants](const Module& module, const PassContext&) {
            return [constants, effects = LazyEffects(module)](const FunctionRef& function) {
              ScaleFolder folder(function, effects, constants);
              Backward(folder).run();
              return folder.finish(function);
            };
          });
    },
});

}  // namespace
}  // namespace relay
