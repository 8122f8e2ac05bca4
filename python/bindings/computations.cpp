#include <bindings/computations.h>

#include <algorithm>

#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/scalars.h>

#include <relay/support/error.h>

namespace relay::python {

namespace {

/// A builder in Python.
struct BuilderObject {
  SessionRef session;
  OpCall call;
};

Session& open_session(const BuilderObject& self) {
  if (!self.session->open)
    value_error("this builder belongs to a compute function that has returned");
  return *self.session;
}

/// Axes and placeholders that are usable while it lives.
class Scope {
 public:
  Scope(Session& session, const te::FreeSet& ids) : session_(session), size_(session.scope.size()) {
    session.scope.insert(session.scope.end(), ids.begin(), ids.end());
  }
  ~Scope() { session_.scope.resize(size_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Session& session_;
  size_t size_;
};

std::vector<Dim> dims_of(nb::handle object, const std::string& what) {
  std::vector<Dim> dims;
  auto add = [&](nb::handle item) {
    std::optional<Dim> dim = dim_of(item);
    if (!dim) type_error(what + ": an extent is an integer or a Dim, not " + class_name_of(item));
    if (dim->is_int() && dim->as_int() < 0)
      value_error(what + ": an extent cannot be " + dim->str());
    dims.push_back(*dim);
  };
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (nb::handle item : nb::iter(object)) add(item);
  } else {
    add(object);
  }
  return dims;
}

/// The indices of new axes, and their numbers in sets.
nb::tuple indices_of(const SessionRef& session, te::Indices indices, te::FreeSet& ids) {
  nb::list list;
  for (const te::Scalar& index : indices) {
    uint32_t axis = index.node()->axis;
    ids.push_back(axis);
    list.append(nb::cast(ScalarObject{index, session, {axis}}));
  }
  return nb::tuple(list);
}

void remember_extents(Session& session, te::Indices indices, const std::vector<Dim>& dims) {
  for (size_t i = 0; i < indices.size(); ++i) session.extents[indices[i].node()->axis] = dims[i];
}

nb::object call_with(nb::handle function, nb::handle positional) {
  nb::object result = nb::steal(PyObject_CallObject(function.ptr(), positional.ptr()));
  if (!result) throw nb::python_error();
  return result;
}

ScalarObject one_value(const SessionRef& session, nb::handle object, const std::string& what) {
  if (object.is_none()) type_error(what + " gave None: it must return the element's value");
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()))
    type_error(what + " gave several values, not one scalar");
  ScalarObject value = scalar_of(object, std::nullopt, what);
  joined(session, value.session);
  return value;
}

std::vector<ScalarObject> values_of(const SessionRef& session, nb::handle object,
                                    const std::string& what) {
  std::vector<ScalarObject> values;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (nb::handle item : nb::iter(object)) {
      values.push_back(scalar_of(item, std::nullopt, what));
      joined(session, values.back().session);
    }
    if (values.empty()) value_error(what + " gave no values");
  } else {
    values.push_back(one_value(session, object, what));
  }
  return values;
}

/// Values of a stage may depend on its own axes alone.
void only_own(const ScalarObject& value, const te::FreeSet& own, const std::string& what) {
  for (uint32_t id : value.free) {
    if (std::find(own.begin(), own.end(), id) == own.end())
      value_error(what +
                  ": the value depends on an index or accumulator of something outside of it");
  }
}

std::vector<te::Scalar> plain(const std::vector<ScalarObject>& values) {
  std::vector<te::Scalar> scalars;
  for (const ScalarObject& value : values) scalars.push_back(value.value);
  return scalars;
}

nb::object tensors(const SessionRef& session, const std::vector<te::Tensor>& made, bool single) {
  nb::list list;
  for (const te::Tensor& tensor : made) list.append(nb::cast(TensorObject{tensor, session}));
  if (single) return nb::borrow(list[0]);
  return nb::tuple(list);
}

nb::object map(const BuilderObject& self, nb::handle shape, nb::handle body) {
  Session& session = open_session(self);
  std::vector<Dim> dims = dims_of(shape, "map");
  bool single = true;
  std::vector<te::Tensor> made = session.builder.map_n(dims, [&](te::Indices indices) {
    remember_extents(session, indices, dims);
    te::FreeSet ids;
    nb::tuple given = indices_of(self.session, indices, ids);
    Scope scope(session, ids);
    nb::object result = call_with(body, given);
    single = !PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr());
    std::vector<ScalarObject> values = values_of(self.session, result, "the function of map");
    for (const ScalarObject& value : values) only_own(value, ids, "map");
    return plain(values);
  });
  return tensors(self.session, made, single);
}

using SimpleFold = te::Scalar (*)(te::Builder& b, te::Dims extents,
                                  const std::function<te::Scalar(te::Indices)>& body,
                                  bool needs_element);

enum class FoldOf : uint8_t { kNumbers, kOrdered, kBools };

ScalarObject fold_simply(const BuilderObject& self, const char* name, SimpleFold fold, FoldOf of,
                         nb::handle extents, nb::handle body, bool needs_element) {
  Session& session = open_session(self);
  std::vector<Dim> dims = dims_of(extents, name);
  ScalarObject result{{}, self.session, {}};
  std::string what = "the function of " + std::string(name);
  result.value = fold(
      session.builder, dims,
      [&](te::Indices indices) {
        remember_extents(session, indices, dims);
        te::FreeSet ids;
        nb::tuple given = indices_of(self.session, indices, ids);
        Scope scope(session, ids);
        ScalarObject value = one_value(self.session, call_with(body, given), what);
        bool is_bool = value.value.dtype().is_bool();
        if (of != FoldOf::kOrdered && is_bool != (of == FoldOf::kBools)) {
          type_error(std::string(name) + " is of " + (is_bool ? "numbers" : "bool values") +
                     ", not of " + std::string(value.value.dtype().name()));
        }
        std::sort(ids.begin(), ids.end());
        std::set_difference(value.free.begin(), value.free.end(), ids.begin(), ids.end(),
                            std::back_inserter(result.free));
        return value.value;
      },
      needs_element);
  return result;
}

// The placeholders of accumulators as Python has them.
std::vector<ScalarObject> placeholders(const SessionRef& session, std::span<const te::Scalar> vars,
                                       te::FreeSet& ids) {
  std::vector<ScalarObject> objects;
  for (const te::Scalar& var : vars) {
    uint32_t id = var.node()->id | te::kVarFlag;
    ids.push_back(id);
    objects.push_back({var, session, {id}});
  }
  return objects;
}

nb::tuple tuple_of(const std::vector<ScalarObject>& objects) {
  nb::list list;
  for (const ScalarObject& object : objects) list.append(nb::cast(object));
  return nb::tuple(list);
}

void same_dtypes(const std::vector<ScalarObject>& found, const std::vector<DType>& wanted,
                 const std::string& what) {
  if (found.size() != wanted.size())
    value_error(what + " gave " + std::to_string(found.size()) + " values for " +
                std::to_string(wanted.size()) + " accumulators");
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k].value.dtype() != wanted[k])
      type_error(what + " gave " + std::string(found[k].value.dtype().name()) +
                 " for an accumulator of " + std::string(wanted[k].name()));
  }
}

std::vector<DType> dtypes_of(const std::vector<ScalarObject>& values) {
  std::vector<DType> dtypes;
  for (const ScalarObject& value : values) dtypes.push_back(value.value.dtype());
  return dtypes;
}

// Numbers among the values take the dtypes that are wanted.
std::vector<ScalarObject> values_like(const SessionRef& session, nb::handle object,
                                      const std::vector<DType>& wanted, const std::string& what) {
  std::vector<nb::object> items;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (nb::handle item : nb::iter(object)) items.push_back(nb::borrow(item));
  } else {
    items.push_back(nb::borrow(object));
  }
  std::vector<ScalarObject> values;
  for (size_t k = 0; k < items.size(); ++k) {
    if (items[k].is_none())
      type_error(what + " gave None: it must return the accumulators' values");
    values.push_back(
        scalar_of(items[k], k < wanted.size() ? std::optional(wanted[k]) : std::nullopt, what));
    joined(session, values.back().session);
  }
  same_dtypes(values, wanted, what);
  return values;
}

nb::object fold(const BuilderObject& self, nb::handle extents, nb::handle body, nb::handle combine,
                nb::handle identity, bool commutes, bool needs_element) {
  Session& session = open_session(self);
  std::vector<Dim> dims = dims_of(extents, "fold");
  te::FreeSet free;
  bool single = true;
  std::vector<DType> dtypes;
  // The identity takes the dtypes of the values, which come first.
  std::vector<te::Scalar> start;
  auto values = [&](te::Indices indices) {
    remember_extents(session, indices, dims);
    te::FreeSet ids;
    nb::tuple given = indices_of(self.session, indices, ids);
    Scope scope(session, ids);
    nb::object result = call_with(body, given);
    single = !PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr());
    std::vector<ScalarObject> found = values_of(self.session, result, "the function of fold");
    dtypes = dtypes_of(found);
    std::sort(ids.begin(), ids.end());
    for (const ScalarObject& value : found) {
      te::FreeSet outer;
      std::set_difference(value.free.begin(), value.free.end(), ids.begin(), ids.end(),
                          std::back_inserter(outer));
      free = joined(free, outer);
    }
    return plain(found);
  };
  auto joins = [&](std::span<const te::Scalar> lhs, std::span<const te::Scalar> rhs) {
    te::FreeSet ids;
    std::vector<ScalarObject> a = placeholders(self.session, lhs, ids);
    std::vector<ScalarObject> b = placeholders(self.session, rhs, ids);
    Scope scope(session, ids);
    nb::tuple given =
        single ? nb::make_tuple(a[0], b[0]) : nb::make_tuple(tuple_of(a), tuple_of(b));
    std::vector<ScalarObject> found =
        values_like(self.session, call_with(combine, given), dtypes, "combine");
    std::vector<te::ScalarRef> roots;
    for (const ScalarObject& value : found) {
      only_own(value, ids, "combine");
      roots.push_back(value.value.ref());
    }
    for (const te::ScalarNode* node : te::post_order(roots)) {
      if (node->kind == te::ScalarKind::kLoad || node->kind == te::ScalarKind::kFold)
        value_error("combine joins accumulators alone: it neither reads tensors nor reduces");
    }
    return plain(found);
  };
  // `Builder::fold` wants the identity beforehand: its dtypes are those of a first look at the
  // values, at indices that are not used.
  std::vector<te::Scalar> look;
  for (Dim dim : dims) look.push_back(te::index_of(session.builder.axis(dim)));
  values(look);
  for (const ScalarObject& value : values_like(self.session, identity, dtypes, "identity")) {
    only_own(value, {}, "identity");
    start.push_back(value.value);
  }
  free.clear();
  std::vector<te::Scalar> results =
      session.builder.fold(dims, values, joins, start, {needs_element, commutes});
  std::vector<ScalarObject> objects;
  for (const te::Scalar& value : results) objects.push_back({value, self.session, free});
  if (single) return nb::cast(objects[0]);
  return tuple_of(objects);
}

nb::object scan(const BuilderObject& self, nb::handle shape, int64_t along, nb::handle init,
                nb::handle step, bool reverse, bool exclusive) {
  Session& session = open_session(self);
  std::vector<Dim> dims = dims_of(shape, "scan");
  auto rank = static_cast<int64_t>(dims.size());
  if (along < -rank || along >= rank)
    value_error("scan: along is " + std::to_string(along) + ", of " + std::to_string(rank) +
                " dimensions");
  if (along < 0) along += rank;
  bool single = true;
  te::FreeSet axes;
  std::vector<DType> dtypes;
  std::vector<te::Tensor> made = session.builder.scan(
      dims, static_cast<uint32_t>(along),
      [&](te::Indices indices) {
        remember_extents(session, indices, dims);
        nb::tuple given = indices_of(self.session, indices, axes);
        Scope scope(session, axes);
        nb::object result = call_with(init, given);
        single = !PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr());
        std::vector<ScalarObject> values = values_of(self.session, result, "init of scan");
        te::FreeSet others = axes;
        others.erase(others.begin() + along);
        for (const ScalarObject& value : values) only_own(value, others, "init of scan");
        dtypes = dtypes_of(values);
        return plain(values);
      },
      [&](te::Indices indices, std::span<const te::Scalar> carries) {
        te::FreeSet ids;
        nb::tuple given = indices_of(self.session, indices, ids);
        std::vector<ScalarObject> held = placeholders(self.session, carries, ids);
        Scope scope(session, ids);
        nb::object carried = single ? nb::cast(held[0]) : nb::object(tuple_of(held));
        nb::object all = nb::make_tuple(carried) + given;
        std::vector<ScalarObject> values =
            values_like(self.session, call_with(step, all), dtypes, "step of scan");
        for (const ScalarObject& value : values) only_own(value, ids, "step of scan");
        return plain(values);
      },
      reverse, exclusive);
  return tensors(self.session, made, single);
}

const te::Tensor& tensor_of(const BuilderObject& self, const TensorObject& tensor) {
  joined(self.session, tensor.session);
  return tensor.tensor;
}

nb::object update(const BuilderObject& self, const TensorObject& base, nb::handle extents,
                  nb::handle at, nb::handle value, const std::string& op,
                  const std::string& bounds) {
  Session& session = open_session(self);
  using Op = te::Builder::UpdateOp;
  static const std::pair<const char*, Op> kOps[] = {{"assign", Op::kAssign},
                                                    {"sum", Op::kSum},
                                                    {"prod", Op::kProd},
                                                    {"min", Op::kMin},
                                                    {"max", Op::kMax}};
  std::optional<Op> chosen;
  for (const auto& [word, one] : kOps) {
    if (op == word) chosen = one;
  }
  if (!chosen)
    value_error("op is \"" + op +
                "\"; known are \"assign\", \"sum\", \"prod\", \"min\" and \"max\"");
  if (bounds != "fail" && bounds != "skip")
    value_error("bounds is \"" + bounds + "\"; known are \"fail\" and \"skip\"");
  const te::Tensor& tensor = tensor_of(self, base);
  std::vector<Dim> dims = dims_of(extents, "update");
  te::FreeSet ids;
  nb::tuple given;
  te::Tensor made = session.builder.update(
      tensor, dims,
      [&](te::Indices indices) {
        remember_extents(session, indices, dims);
        given = indices_of(self.session, indices, ids);
        Scope scope(session, ids);
        nb::object result = call_with(at, given);
        std::vector<nb::object> items;
        if (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) {
          for (nb::handle item : nb::iter(result)) items.push_back(nb::borrow(item));
        } else {
          items.push_back(result);
        }
        if (items.size() != tensor.rank())
          value_error("at of update gave " + std::to_string(items.size()) +
                      " indices for a tensor of rank " + std::to_string(tensor.rank()));
        std::vector<te::Scalar> place;
        for (const nb::object& item : items) {
          ScalarObject index = index_scalar(item, "at of update");
          only_own(index, ids, "at of update");
          place.push_back(index.value);
        }
        return place;
      },
      [&](te::Indices) {
        Scope scope(session, ids);
        nb::object result = call_with(value, given);
        ScalarObject one = nb::isinstance<ScalarObject>(result)
                               ? one_value(self.session, result, "value of update")
                               : scalar_of(result, tensor.dtype(), "value of update");
        only_own(one, ids, "value of update");
        if (one.value.dtype() != tensor.dtype())
          type_error("value of update is " + std::string(one.value.dtype().name()) +
                     ", the tensor " + std::string(tensor.dtype().name()));
        return one.value;
      },
      *chosen, bounds == "skip" ? te::Bounds::kFill : te::Bounds::kFail);
  return nb::cast(TensorObject{made, self.session});
}

void bind_builder(nb::module_& m) {
  auto builder = nb::class_<BuilderObject>(
      m, "Builder",
      "Builds the computation of one call of an operator; usable until the compute function "
      "returns.");
  builder.def_prop_ro(
      "inputs",
      [](const BuilderObject& self) {
        Session& session = open_session(self);
        nb::list inputs;
        for (size_t i = 0; i < session.builder.num_inputs(); ++i)
          inputs.append(nb::cast(TensorObject{session.builder.input(i), self.session}));
        return inputs;
      },
      "The tensors of the call, those of tuples one after the other.");
  builder.def_prop_ro(
      "types",
      [](const BuilderObject& self) {
        std::vector<TypeRef> types;
        for (size_t i = 0; i < self.call.num_inputs(); ++i) types.push_back(self.call.input(i));
        return types;
      },
      "The types of the inputs.");
  builder.def_prop_ro(
      "type", [](const BuilderObject& self) { return self.call.output(); },
      "The type of the result, which the relation gave.");
  builder.def("map", &map, nb::arg("shape"), nb::arg("body"),
              "A tensor whose element at (i, j, …) is `body(i, j, …)`; several tensors where that "
              "is a tuple.");
  auto simple = [&](const char* name, SimpleFold one, FoldOf of, const char* doc) {
    builder.def(
        name,
        [name, one, of](const BuilderObject& self, nb::handle extents, nb::handle body) {
          return fold_simply(self, name, one, of, extents, body, false);
        },
        nb::arg("extents"), nb::arg("body"), doc);
  };
  using Body = const std::function<te::Scalar(te::Indices)>&;
  simple(
      "sum", [](te::Builder& b, te::Dims d, Body f, bool) { return b.sum(d, f); }, FoldOf::kNumbers,
      "The sum of `body(k, …)` for all k below the extents.");
  simple(
      "prod", [](te::Builder& b, te::Dims d, Body f, bool) { return b.prod(d, f); },
      FoldOf::kNumbers, "The product.");
  simple(
      "all", [](te::Builder& b, te::Dims d, Body f, bool) { return b.all(d, f); }, FoldOf::kBools,
      "Whether all are true.");
  simple(
      "any", [](te::Builder& b, te::Dims d, Body f, bool) { return b.any(d, f); }, FoldOf::kBools,
      "Whether any is true.");
  builder.def(
      "max",
      [](const BuilderObject& self, nb::handle extents, nb::handle body, bool needs_element) {
        return fold_simply(
            self, "max",
            [](te::Builder& b, te::Dims d, Body f, bool needs) { return b.max(d, f, needs); },
            FoldOf::kOrdered, extents, body, needs_element);
      },
      nb::arg("extents"), nb::arg("body"), nb::arg("needs_element") = false,
      "The greatest. Over nothing the lowest value, or an error where an element is needed.");
  builder.def(
      "min",
      [](const BuilderObject& self, nb::handle extents, nb::handle body, bool needs_element) {
        return fold_simply(
            self, "min",
            [](te::Builder& b, te::Dims d, Body f, bool needs) { return b.min(d, f, needs); },
            FoldOf::kOrdered, extents, body, needs_element);
      },
      nb::arg("extents"), nb::arg("body"), nb::arg("needs_element") = false, "The least.");
  builder.def("fold", &fold, nb::arg("extents"), nb::arg("body"), nb::arg("combine"),
              nb::arg("identity"), nb::arg("commutes") = false, nb::arg("needs_element") = false,
              "A reduction with a combiner of its own: `combine(a, b)` joins two accumulators "
              "(tuples where `body` gives tuples), `identity` starts. It must be associative; "
              "`commutes` says that elements may come in any order. For example the place of the "
              "greatest element.");
  builder.def("scan", &scan, nb::arg("shape"), nb::arg("along"), nb::arg("init"), nb::arg("step"),
              nb::arg("reverse") = false, nb::arg("exclusive") = false,
              "A recurrence along a dimension: `init(*i)` before the first element, then "
              "`step(carry, *i)` at each, which is the result there (`exclusive`: what was before "
              "it).");
  builder.def("update", &update, nb::arg("base"), nb::arg("extents"), nb::arg("at"),
              nb::arg("value"), nb::arg("op") = "assign", nb::arg("bounds") = "fail",
              "A copy of `base` in which, for each point of `extents` in order, the element at "
              "`at(*i)` is set to `value(*i)` or joined with it (\"sum\", \"prod\", \"min\", "
              "\"max\"). Outside of it is an error or skipped (\"skip\").");
  builder.def(
      "reshape",
      [](const BuilderObject& self, const TensorObject& source, nb::handle shape) {
        Session& session = open_session(self);
        const te::Tensor& tensor = tensor_of(self, source);
        std::vector<Dim> dims = dims_of(shape, "reshape");
        if (dims_equal(product(tensor.dims()), product(dims)) == Truth::kNo)
          value_error("reshape: the shapes have different numbers of elements");
        return TensorObject{session.builder.reshape(tensor, dims), self.session};
      },
      nb::arg("tensor"), nb::arg("shape"), "The same elements in row-major order.");
}

// Compares the result of a compute function with the relation's type.
void check_results(const OpCall& call, const te::Computation& computation) {
  std::string op = call.op()->name().str();
  if (computation.outputs.size() != call.num_results()) {
    throw Error(op + ": its compute gives " + std::to_string(computation.outputs.size()) +
                " tensors, its relation " + std::to_string(call.num_results()));
  }
  for (size_t k = 0; k < call.num_results(); ++k) {
    const te::Output& output = computation.outputs[k];
    DType dtype = computation.info(output.tensor).dtype;
    te::TensorInfo wanted = call.result(k);
    bool fits = dtype == wanted.dtype && output.dims.size() == wanted.rank();
    for (size_t d = 0; fits && d < wanted.rank(); ++d)
      fits = dims_equal(output.dims[d], wanted.dims[d]) != Truth::kNo;
    if (fits) continue;
    throw Error(op + ": its compute gives " + TensorType::make(output.dims, dtype)->str() +
                ", its relation " + TensorType::make(wanted.dims, wanted.dtype)->str());
  }
}

}  // namespace

te::Computation compute_in_python(
    const OpCall& call,
    const std::function<nb::object(nb::object builder, nb::list inputs)>& body) {
  std::vector<TypeRef> types;
  for (size_t i = 0; i < call.num_inputs(); ++i) types.push_back(call.input(i));
  auto session = std::make_shared<Session>(te::Builder(tensors_in(types)));
  struct Close {
    Session& session;
    ~Close() { session.open = false; }
  } close{*session};
  size_t next = 0;
  std::function<nb::object(const TypeRef&)> input = [&](const TypeRef& type) -> nb::object {
    const auto* tuple = type->as<TupleType>();
    if (tuple == nullptr) return nb::cast(TensorObject{session->builder.input(next++), session});
    nb::list fields;
    for (const TypeRef& field : tuple->fields()) fields.append(input(field));
    return nb::tuple(fields);
  };
  nb::list inputs;
  for (const TypeRef& type : types) inputs.append(input(type));
  nb::object result = body(nb::cast(BuilderObject{session, call}), inputs);
  auto add = [&](nb::handle object) {
    if (!nb::isinstance<TensorObject>(object)) {
      throw Error(call.op()->name().str() + ": its compute gives " + class_name_of(object) +
                  ", not a tensor of its builder, such as b.map(shape, body)");
    }
    const TensorObject& tensor = *nb::inst_ptr<TensorObject>(object);
    if (tensor.session != session)
      throw Error(call.op()->name().str() + ": its compute gives a tensor of another computation");
    session->builder.output(tensor.tensor);
  };
  if (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) {
    for (nb::handle item : nb::iter(result)) add(item);
  } else {
    add(result);
  }
  te::Computation computation = session->builder.finish();
  check_results(call, computation);
  return computation;
}

void bind_computations(nb::module_& m) {
  bind_scalars(m);
  bind_builder(m);
}

}  // namespace relay::python
