// Types: immutable, interned; == is structural equality.
#include <bindings/bindings.h>

#include <relay/op/registry/relation.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>

namespace relay::python {

const std::type_info* class_of(const Type* object) {
  switch (object->tag()) {
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) \
  case TypeTag::k##tag:                                \
    return &typeid(Class);
#define RELAY_TYPE_FIELD(type, name)
#include <relay/ir/types.def>
  }
  RELAY_UNREACHABLE("unknown type kind");
}

namespace {

TypeRef shape_type(nb::handle object) {
  TypeRef given;
  if (nb::try_cast(object, given)) return given;
  if (nb::isinstance<nb::str>(object) || !nb::hasattr(object, "__iter__"))
    throw nb::type_error(("a shape is a list of dimensions, not " + shown(object)).c_str());
  std::vector<Dim> dims;
  for (nb::handle item : nb::iter(object)) {
    std::optional<Dim> dim = dim_of(item);
    if (!dim)
      throw nb::type_error(
          ("a shape consists of 64-bit integers and dimensions, not " + shown(item)).c_str());
    if (dim->is_int() && dim->as_int() < 0)
      throw nb::value_error(("a dimension cannot be negative: " + shown(item)).c_str());
    dims.push_back(*dim);
  }
  return ShapeType::make(dims);
}

/// By its name, or by something that has one; what stands before the last dot is left out.
const Relation* relation_of(nb::handle given) {
  nb::object named =
      nb::hasattr(given, "name") ? nb::object(given.attr("name")) : nb::borrow(given);
  std::string name;
  if (!nb::try_cast(named, name))
    throw nb::type_error("a relation is given by its name, or by an object that has a name");
  if (const Relation* found = find_relation(Name(name))) return found;
  std::string last = name.substr(name.rfind('.') + 1);
  if (const Relation* found = find_relation(Name(last))) return found;
  Diagnostic problem = Diagnostic::error("no type relation is called " + name);
  for (const std::string& near : nearest_names(last, relation_names()))
    problem.help("did you mean " + near + "?");
  throw Error(std::move(problem));
}

TypeRef dtype_type(nb::handle object) {
  TypeRef given;
  if (nb::try_cast(object, given)) return given;
  return BaseType::make(dtype_of(object));
}

}  // namespace

void bind_types(nb::module_& m) {
  nb::enum_<Kind>(m, "Kind", "The kind of thing that a type stands for.")
      .value("Type", Kind::kType, "A type of values.")
      .value("Shape", Kind::kShape, "A shape.")
      .value("BaseType", Kind::kBaseType, "A dtype.")
      .value("ShapeVar", Kind::kShapeVar, "A single dimension.")
      .value("Constraint", Kind::kConstraint, "A relation.")
      .value("AdtHandle", Kind::kAdtHandle, "The name of a data type.")
      .value("TypeData", Kind::kTypeData, "The definition of a data type.");

  nb::class_<Type>(m, "Type", "A type. Immutable; types of one structure are one object.")
      .def_prop_ro("kind", &Type::kind)
      .def_prop_ro("closed", &Type::closed, "True if no part of it remains to be inferred.")
      .def("__str__", &Type::str)
      .def("__repr__", &Type::str)
      .def(
          "__eq__",
          [](const Type& self, nb::handle other) {
            TypeRef type;
            return nb::try_cast(other, type) && types_equal(&self, type.get());
          },
          nb::arg("other").none())
      .def(
          "__ne__",
          [](const Type& self, nb::handle other) {
            TypeRef type;
            return !nb::try_cast(other, type) || !types_equal(&self, type.get());
          },
          nb::arg("other").none())
      .def(
          "same_as",
          [](const Type& self, nb::handle other) {
            TypeRef type;
            return nb::try_cast(other, type) && type.get() == &self;
          },
          nb::arg("other").none())
      .def(
          "__copy__", [](TypeRef self) { return self; }, "Types are immutable: the same one.")
      .def(
          "__deepcopy__", [](TypeRef self, nb::handle) { return self; }, nb::arg("memo"))
      .def("__hash__", [](const Type& self) { return type_hash(&self); });

  nb::class_<ShapeType, Type>(m, "ShapeType", "A list of dimensions.")
      .def(nb::new_([](nb::handle dims) { return shape_type(dims); }), nb::arg("dims"))
      .def_prop_ro("dims",
                   [](const ShapeType& self) { return nb::tuple(nb::cast(list(self.dims()))); });
  nb::class_<BaseType, Type>(m, "BaseType", "A dtype as a type argument.")
      .def(nb::new_([](DType dtype) { return BaseType::make(dtype); }), nb::arg("dtype"))
      .def_prop_ro("dtype", &BaseType::dtype);
  nb::class_<DimType, Type>(m, "DimType", "A dimension as a type argument.")
      .def(nb::new_([](Dim dim) { return DimType::make(dim); }), nb::arg("dim"))
      .def_prop_ro("dim", &DimType::dim);
  nb::class_<TensorType, Type>(m, "TensorType", "A tensor: its shape and its dtype.")
      .def(nb::new_([](nb::handle shape, nb::handle dtype) {
             return TensorType::make(shape_type(shape), dtype_type(dtype));
           }),
           nb::arg("shape"), nb::arg("dtype") = "float32")
      .def_prop_ro(
          "shape",
          [](const TensorType& self) -> nb::object {
            if (!self.has_rank()) return nb::cast(self.shape());
            return nb::tuple(nb::cast(list(self.dims())));
          },
          "A tuple of integers and dimensions; a type variable where the rank is not known.")
      .def_prop_ro(
          "dtype",
          [](const TensorType& self) -> nb::object {
            if (!self.has_dtype()) return nb::cast(self.dtype_type());
            return nb::cast(self.dtype());
          },
          "Its name; a type variable where it is not known.")
      .def_prop_ro("concrete_shape", [](const TensorType& self) {
        if (!self.has_rank())
          throw nb::value_error(("the rank of " + self.str() + " is not known").c_str());
        nb::list shape;
        for (Dim dim : self.dims()) {
          if (!dim.is_int())
            throw nb::value_error(("the shape of " + self.str() + " is not known").c_str());
          shape.append(dim.as_int());
        }
        return nb::tuple(shape);
      });
  nb::class_<TupleType, Type>(m, "TupleType", "A tuple.")
      .def(nb::new_([](std::vector<TypeRef> fields) {
             return TypeRef(TupleType::make(std::move(fields)));
           }),
           nb::arg("fields"))
      .def_prop_ro("fields", [](const TupleType& self) { return list(self.fields()); });
  nb::class_<FuncType, Type>(m, "FuncType", "A function; with type parameters, a scheme.")
      .def(nb::new_([](std::vector<TypeRef> arg_types, TypeRef ret_type,
                       std::optional<std::vector<TypeVarRef>> type_params,
                       std::optional<std::vector<RelationTypeRef>> type_constraints) {
             return FuncType::make(
                 std::move(arg_types), std::move(ret_type),
                 std::move(type_params).value_or(std::vector<TypeVarRef>()),
                 std::move(type_constraints).value_or(std::vector<RelationTypeRef>()));
           }),
           nb::arg("arg_types"), nb::arg("ret_type"), nb::arg("type_params") = nb::none(),
           nb::arg("type_constraints") = nb::none())
      .def_prop_ro("arg_types", [](const FuncType& self) { return list(self.params()); })
      .def_prop_ro("ret_type", [](const FuncType& self) { return self.result(); })
      .def_prop_ro("type_params", [](const FuncType& self) { return list(self.type_params()); })
      .def_prop_ro("type_constraints",
                   [](const FuncType& self) { return list(self.constraints()); });
  nb::class_<TypeVar, Type>(m, "TypeVar", "A type parameter; identity is the object.")
      .def(nb::new_([](Name name, Kind kind) { return TypeVar::make(name, kind); }),
           nb::arg("name_hint"), nb::arg("kind") = Kind::kType)
      .def_prop_ro("name", [](const TypeVar& self) { return self.name(); })
      .def_prop_ro("name_hint", [](const TypeVar& self) { return self.name(); })
      .def_prop_ro("var_kind", [](const TypeVar& self) { return self.var_kind(); })
      .def_prop_ro("implicit", &TypeVar::implicit,
                   "Whether it is a dimension name that a function's text uses without declaring "
                   "it.");
  m.def("make_type_var", &TypeVar::make, nb::arg("name"), nb::arg("kind"), nb::arg("implicit"));
  nb::class_<GlobalTypeVar, Type>(m, "GlobalTypeVar", "The name of a data type.")
      .def(nb::new_([](Name name, Kind kind) {
             if (kind != Kind::kAdtHandle)
               throw nb::value_error("a GlobalTypeVar is of kind AdtHandle");
             return GlobalTypeVar::make(name);
           }),
           nb::arg("name_hint"), nb::arg("kind") = Kind::kAdtHandle)
      .def_prop_ro("name_hint", [](const GlobalTypeVar& self) { return self.name(); })
      .def_prop_ro("name", [](const GlobalTypeVar& self) { return self.name(); })
      .def("__call__", [](GlobalTypeVarRef self, nb::args args) {
        std::vector<TypeRef> types;
        for (nb::handle arg : args)
          types.push_back(required<TypeRef>(arg, "an argument of a data type is a type"));
        return TypeCall::make(self, std::move(types));
      });
  nb::class_<TypeCall, Type>(m, "TypeCall", "A data type applied.")
      .def(nb::new_([](TypeRef func, std::vector<TypeRef> args) {
             return TypeCall::make(func, std::move(args));
           }),
           nb::arg("func"), nb::arg("args"))
      .def_prop_ro("func", [](const TypeCall& self) { return self.callee(); })
      .def_prop_ro("args", [](const TypeCall& self) { return list(self.args()); });
  nb::class_<TypeData, Type>(m, "TypeData", "The definition of a data type, or of an opaque one.")
      .def(nb::new_([](GlobalTypeVarRef header, std::vector<TypeVarRef> type_vars,
                       std::vector<ConstructorRef> constructors, bool is_extern,
                       std::optional<Span> span) {
             return TypeData::make(header, std::move(type_vars), std::move(constructors), is_extern,
                                   span.value_or(Span()));
           }),
           nb::arg("header"), nb::arg("type_vars"), nb::arg("constructors"),
           nb::arg("is_extern") = false, nb::arg("span") = nb::none())
      .def_prop_ro("header", [](const TypeData& self) { return self.name(); })
      .def_prop_ro("type_vars", [](const TypeData& self) { return list(self.type_vars()); })
      .def_prop_ro("constructors", [](const TypeData& self) { return list(self.constructors()); })
      .def_prop_ro("is_extern", &TypeData::is_extern)
      .def_prop_ro("span", &TypeData::span);
  nb::class_<RefType, Type>(m, "RefType", "A reference.")
      .def(nb::new_([](TypeRef value) { return RefType::make(value); }), nb::arg("value"))
      .def_prop_ro("value", [](const RefType& self) { return self.value(); });
  nb::class_<RelationType, Type>(m, "TypeRelation",
                                 "A constraint; its first inputs determine the others.")
      .def(nb::new_([](nb::handle func, std::vector<TypeRef> args, int num_inputs,
                       std::optional<AttrsRef> attrs) {
             if (num_inputs < 0 || static_cast<size_t>(num_inputs) > args.size()) {
               throw nb::value_error(("num_inputs is " + std::to_string(num_inputs) +
                                      ", but there are " + std::to_string(args.size()) +
                                      " arguments")
                                         .c_str());
             }
             return RelationType::make(relation_of(func), std::move(args), num_inputs,
                                       std::move(attrs).value_or(AttrsRef()));
           }),
           nb::arg("func"), nb::arg("args"), nb::arg("num_inputs"), nb::arg("attrs").none())
      .def_prop_ro("name", [](const RelationType& self) { return relation_name(self.relation()); })
      .def_prop_ro("args", [](const RelationType& self) { return list(self.args()); })
      .def_prop_ro("num_inputs", [](const RelationType& self) { return self.num_inputs(); })
      .def_prop_ro("attrs", [](const RelationType& self) { return std::optional(self.attrs()); });
  nb::class_<IncompleteType, Type>(m, "IncompleteType", "Something that is to be inferred.")
      .def(nb::new_([](Kind kind) { return IncompleteType::make(0, kind); }),
           nb::arg("kind") = Kind::kType)
      .def_prop_ro("var_kind", [](const IncompleteType& self) { return self.var_kind(); });

  m.def("parse_type", &parse_type, nb::arg("text"),
        "One type, e.g. `Tensor[(2, 3), float32]`. Raises RelayError.");
}

}  // namespace relay::python
