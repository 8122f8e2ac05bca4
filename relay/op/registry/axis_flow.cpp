#include <relay/op/registry/axis_flow.h>

#include <algorithm>

#include <relay/op/registry/layout.h>
#include <relay/op/registry/relation.h>
#include <relay/support/error.h>

namespace relay {

std::optional<Arrangement> with_letters(const Arrangement& arrangement, const std::string& axes) {
  if (arrangement.axes.size() != axes.size()) return std::nullopt;
  Arrangement result{axes, arrangement.stored};
  for (char& c : result.stored) {
    const bool small = c >= 'a' && c <= 'z';
    const size_t place = arrangement.axes.find(small ? static_cast<char>(c - 'a' + 'A') : c);
    if (place == std::string::npos) continue;  // a digit
    c = small ? static_cast<char>(axes[place] - 'A' + 'a') : axes[place];
  }
  return result;
}

namespace {

/// The places of a layout: `N`, `C`, `8c`.
std::vector<std::string> places_of(const std::string& text) {
  std::vector<std::string> places;
  std::string place;
  for (char c : text) {
    place += c;
    if (c >= '0' && c <= '9') continue;
    places.push_back(std::move(place));
    place.clear();
  }
  return places;
}

std::string joined(const std::vector<std::string>& places) {
  std::string text;
  for (const std::string& place : places) text += place;
  return text;
}

std::vector<TypeRef> moved_tensors(const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return {type};
  return {tuple->fields().begin(), tuple->fields().end()};
}

const TensorType& known_tensor(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) throw Error("a tensor of unknown rank");
  return *tensor;
}

/// The axes that attributes name, with new numbers.
class Renumbering {
 public:
  explicit Renumbering(const Arrangement& arrangement)
      : axes_(arrangement.axes), layout_(Layout::parse(arrangement.stored, axes_, "layout")) {}

  /// Null if an attribute cannot be said of the other layout, or if none names an axis.
  AttrsRef of(const OpCall& call) {
    const SpellAxesFn* spell = spelled_axes().find(call.op());
    AttrsRef attrs = spell == nullptr ? call.attrs_ref() : (*spell)(call);
    const AttrsSchema& schema = *call.op()->attrs_schema();
    std::vector<NamedAttr> values = attrs->fields(false);
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      AttrValue& value = values[i].value;
      switch (schema.fields[i].kind) {
        case AttrKind::kAxis:
          if (!value.is_none() && !renumber(value)) return {};
          break;
        case AttrKind::kAxes:
          if (auto* list = std::get_if<AttrValue::List>(&value.data)) {
            for (AttrValue& axis : *list) {
              if (!renumber(axis)) return {};
            }
          }
          break;
        case AttrKind::kPerAxis:
          if (!reorder(value)) return {};
          break;
        case AttrKind::kNewAxis:
          return {};
        default:
          break;
      }
    }
    AttrsRef made = Attrs::make(schema, values, Span());
    const OrderAxesFn* order = ordered_axes().find(call.op());
    return order == nullptr ? made : (*order)(made, layout_.rank());
  }
  /// True for axes that an attribute names.
  const std::vector<bool>& named() const { return named_; }
  bool any_named() const { return any_; }

 private:
  bool renumber(AttrValue& value) {
    const auto* axis = value.get<int64_t>();
    const auto rank = static_cast<int64_t>(axes_.size());
    if (axis == nullptr || *axis < -rank || *axis >= rank) return false;
    const auto place = static_cast<size_t>(*axis < 0 ? *axis + rank : *axis);
    std::vector<size_t> positions = layout_.positions(axes_[place]);
    if (positions.size() != 1) return false;
    named_[place] = any_ = true;
    value = AttrValue(static_cast<int64_t>(positions[0]));
    return true;
  }
  bool reorder(AttrValue& value) {
    const auto* list = value.get<AttrValue::List>();
    if (list == nullptr || list->size() != axes_.size() || layout_.rank() != axes_.size())
      return false;
    AttrValue::List result(list->size());
    for (size_t i = 0; i < axes_.size(); ++i) result[layout_.positions(axes_[i])[0]] = (*list)[i];
    value = AttrValue(std::move(result));
    any_ = true;
    return true;
  }

  std::string axes_;
  Layout layout_;
  std::vector<bool> named_ = std::vector<bool>(axes_.size(), false);
  bool any_ = false;
};

/// Asks the relation where the axes of the results come from.
class Probe {
 public:
  Probe(const OpCall& call, const Arrangement& arrangement, const std::vector<bool>& named)
      : call_(call), axes_(arrangement.axes), named_(named) {}

  /// The letters of each result's axes, for data stored in a layout. With `keep` the axes that
  /// attributes name have the extents of the call.
  std::optional<std::vector<std::string>> letters(const std::string& stored, const AttrsRef& attrs,
                                                  bool keep) const {
    const std::vector<std::string> places = places_of(stored);
    std::vector<TypeRef> types;
    for (const TypeRef& field : moved_tensors(call_.input(0)))
      types.push_back(TensorType::make(extents(places, known_tensor(field), keep),
                                       known_tensor(field).dtype()));
    const std::span<const Dim> first = known_tensor(types[0]).dims();
    std::vector<TypeRef> inputs{call_.input(0)->is<TupleType>() ? TypeRef(TupleType::make(types))
                                                                : types[0]};
    for (size_t i = 1; i < call_.num_inputs(); ++i) inputs.push_back(call_.input(i));
    TypeRef found;
    try {
      found = infer_call_type(call_.op(), inputs, attrs);
    } catch (const Error&) {
      return std::nullopt;
    }
    if (!found) return std::nullopt;
    std::vector<std::string> results;
    for (const TypeRef& result : moved_tensors(found)) {
      std::optional<std::string> text = matched(known_tensor(result).dims(), first, places);
      if (!text) return std::nullopt;
      results.push_back(std::move(*text));
    }
    return results;
  }

 private:
  // Extents with many divisors that no network has, a different one for each place.
  std::vector<Dim> extents(const std::vector<std::string>& places, const TensorType& type,
                           bool keep) const {
    static constexpr int64_t kFactors[] = {10007, 10009, 10037, 10039, 10061, 10067, 10069,
                                           10079, 10091, 10093, 10099, 10103, 10111, 10133};
    if (places.size() > std::size(kFactors)) throw Error("too many axes");
    std::vector<Dim> dims;
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t axis = axes_.find(places[i]);
      const bool actual = keep && axis != std::string::npos && named_[axis];
      dims.push_back(actual ? type.dims()[axis] : Dim(kFactors[i] * 5040));
    }
    return dims;
  }

  static std::optional<std::string> matched(std::span<const Dim> result, std::span<const Dim> data,
                                            const std::vector<std::string>& places) {
    std::vector<std::string> letters(result.size());
    std::vector<bool> used(places.size(), false);
    auto take = [&](size_t i, size_t place) {
      letters[i] = places[place];
      used[place] = true;
    };
    for (size_t i = 0; i < result.size(); ++i) {
      if (i < data.size() && result[i] == data[i]) {
        if (!used[i]) take(i, i);
        continue;
      }
      for (size_t place = 0; place < data.size() && letters[i].empty(); ++place) {
        if (!used[place] && result[i] == data[place]) take(i, place);
      }
    }
    for (size_t i = 0; i < result.size(); ++i) {
      if (!letters[i].empty()) continue;
      if (result.size() != data.size() || used[i]) return std::nullopt;
      take(i, i);
    }
    return joined(letters);
  }

  const OpCall& call_;
  std::string axes_;
  const std::vector<bool>& named_;
};

}  // namespace

std::optional<CallFlow> flow_axes(const OpCall& call, std::span<const Arrangements> offered) {
  auto moved = std::find_if(offered[0].begin(), offered[0].end(),
                            [](const Arrangement& one) { return one.moved(); });
  if (moved == offered[0].end()) return std::nullopt;
  const Arrangement target = *moved;
  for (const TypeRef& type : moved_tensors(call.input(0))) {
    if (known_tensor(type).dims().size() != target.axes.size()) return std::nullopt;
  }
  // The relation of other inputs of several axes to the data is not known.
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    for (const TypeRef& type : moved_tensors(call.input(i))) {
      if (known_tensor(type).dims().size() > 1) return std::nullopt;
    }
  }
  Renumbering renumbering(target);
  CallFlow flow;
  flow.attrs = renumbering.of(call);
  if (!flow.attrs) return std::nullopt;
  if (!renumbering.any_named()) {
    // All axes, or the data flattened: it is the same only if one element is left.
    for (const TypeRef& type : moved_tensors(call.output())) {
      for (const Dim& dim : known_tensor(type).dims()) {
        if (!dim.is_int(1)) return std::nullopt;
      }
    }
  }
  Probe probe(call, target, renumbering.named());
  for (bool keep : {false, true}) {
    auto before = probe.letters(target.axes, call.attrs_ref(), keep);
    auto after = before ? probe.letters(target.stored, flow.attrs, keep) : std::nullopt;
    if (!after) continue;
    for (size_t i = 0; i < before->size(); ++i) {
      Arrangement result{(*before)[i], (*after)[i]};
      (void)Layout::parse(result.stored, result.axes, "layout");
      flow.results.push_back(result.moved() ? result : Arrangement());
    }
    break;
  }
  if (flow.results.empty()) return std::nullopt;
  flow.inputs.emplace_back(moved_tensors(call.input(0)).size(), target);
  for (size_t i = 1; i < call.num_inputs(); ++i)
    flow.inputs.emplace_back(moved_tensors(call.input(i)).size());
  return flow;
}

}  // namespace relay
