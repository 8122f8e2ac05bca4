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
  Backward(ScaleFolder& folder) : folder_(folder) {
    const Regions& regions = folder.regions();
    for (uint32_t id = 0; id < regions.num_nodes(); ++id) numbers_[regions.expr(id)] = id;
  }

  void run() {
    // From the results back: factors on factors go all the way.
    std::vector<ScaledCall> calls = folder_.scaled_calls();
    for (size_t i = calls.size(); i-- > 0;) {
      const ScaledCall& scale = calls[i];
      const Expr* data = scale.call->args()[scale.data].get();
      const auto* type = data->type()->as<TensorType>();
      for (size_t axis = 0; axis < type->dims().size(); ++axis) {
        if (scale.axis && *scale.axis != axis) continue;
        if (!scale.axis && !type->dims()[axis].is_int()) continue;  // to be repeated
        Places places;
        steps_ = 0;
        if (!find(data, home(scale.call), axis, scale, places)) continue;
        folder_.fold(scale, std::move(places));
        break;
      }
    }
  }

 private:
  uint32_t home(const Expr* expr) const { return folder_.regions().home(*numbers_.find(expr)); }

  /// Whether `expr` can have the factors along an axis by itself: where they go.
  bool find(const Expr* expr, uint32_t region, size_t axis, const ScaledCall& scale,
            Places& places) {
    const auto* call = expr->as<Call>();
    const uint32_t* id = numbers_.find(expr);
    if (call == nullptr || id == nullptr || ++steps_ > kMaxScaleSteps) return false;
    // Any other user wants the value without the factors.
    if (folder_.regions().uses(*id) != 1 || folder_.regions().home(*id) != region) return false;
    const CallScaling* scaling = folder_.scaling(expr);
    if (scaling == nullptr) return false;
    for (const Scaling& option : scaling->along(axis)) {
      if (option.positive && !scale.positive) continue;
      const InputAxis& first = option.inputs[0];
      if (option.inputs.size() == 1 && scaling->is_weight(first.input)) {
        if (!folder_.takes(call->args()[first.input].get())) continue;
        places.push_back({call, place(first, scale)});
        return true;
      }
      // Each argument has them by itself, or is small; one at least has to.
      Places found;
      bool good = true, any = false;
      for (const InputAxis& at : option.inputs) {
        const Expr* argument = call->args()[at.input].get();
        if (good && find(argument, region, at.dim, scale, found)) {
          any = true;
        } else if (good && ScaleFolder::is_vector(argument, at.dim)) {
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
  PointerMap<Expr, uint32_t> numbers_;
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
              ScaleFolder folder(function.get(), effects, constants);
              Backward(folder).run();
              return folder.finish(function);
            };
          });
    },
});

}  // namespace
}  // namespace relay
