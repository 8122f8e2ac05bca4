#include <bindings/kernels.h>

#include <deque>
#include <mutex>

#include <bindings/arrays.h>
#include <bindings/bindings.h>

#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay::python {

namespace {

constexpr const char* kPythonKernel = "python";

/// The function that a launch calls. Kept as long as the process: compiled programs refer to it by
/// number.
struct Site {
  const Operator* op;
  Callback function;
  AttrsRef attrs;
  bool wants_out;
  std::vector<int> fields;  // of each input: how many tensors of a tuple; -1 for a tensor alone
  /// The results' dtypes, and of each extent whether the function counts it.
  std::vector<std::pair<DType, std::vector<bool>>> results;
};

struct Sites {
  ForkMutex mutex;
  std::deque<Site> all;
  static Sites& instance() {
    static auto* sites = new Sites;
    return *sites;
  }
};

// The number of a site, the same one for equal calls.
int64_t number_of(Site site) {
  Sites& sites = Sites::instance();
  std::lock_guard lock(sites.mutex);
  for (size_t i = 0; i < sites.all.size(); ++i) {
    const Site& other = sites.all[i];
    if (other.op == site.op && other.attrs == site.attrs && other.fields == site.fields &&
        other.results == site.results)
      return static_cast<int64_t>(i);
  }
  sites.all.push_back(std::move(site));
  return static_cast<int64_t>(sites.all.size() - 1);
}

const Site& site_of(int64_t number) {
  Sites& sites = Sites::instance();
  std::lock_guard lock(sites.mutex);
  if (number < 0 || number >= static_cast<int64_t>(sites.all.size()))
    throw RuntimeError("the program calls a Python function of another process");
  return sites.all[static_cast<size_t>(number)];
}

std::string type_text(ShapeView shape, DType dtype) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  return TensorType::make(dims, dtype)->str();
}

int count_tensors(const TypeRef& type) {
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) return 1;
  int count = 0;
  for (const TypeRef& field : tuple->fields()) count += count_tensors(field);
  return count;
}

// The function gets an array of its own, which it may keep: the memory of tensors between kernels
// is used again.
nb::object input_array(const NDArray& input) {
  if (!(input.device() == kCpu))
    throw RuntimeError("its kernel is a Python function, which takes tensors of the processor");
  NDArray own = input.is_uniform() ? input : input.copy();
  return numpy_of(own, false);
}

void make_counted(LibraryCall& call, size_t k, const std::vector<int64_t>& n) {
  switch (n.size()) {
    case 1:
      call.make(k, {n[0]});
      return;
    case 2:
      call.make(k, {n[0], n[1]});
      return;
    case 3:
      call.make(k, {n[0], n[1], n[2]});
      return;
    case 4:
      call.make(k, {n[0], n[1], n[2], n[3]});
      return;
    default:
      throw RuntimeError("its kernel counts " + std::to_string(n.size()) +
                         " extents of a result; four are the most");
  }
}

/// One result into its place.
void take_result(LibraryCall& call, const Site& site, size_t k, nb::handle given) {
  const auto& [dtype, counted] = site.results[k];
  std::string which = site.results.size() > 1 ? " as result " + std::to_string(k) : std::string();
  bool number = PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr());
  NDArray array;
  try {
    array = array_of(given, number ? std::optional(dtype) : std::nullopt);
  } catch (const nb::builtin_exception& error) {
    throw RuntimeError("its kernel gave " + class_name_of(given) + which + ": " + error.what());
  }
  auto mismatch = [&](const std::string& wanted) {
    throw RuntimeError("its kernel gave " + type_text(array.shape(), array.dtype()) + which +
                       ", not " + wanted);
  };
  NDArray& place = call.outputs[k];
  if (!place) {
    std::string wanted =
        "a tensor of " + std::string(dtype.name()) + " of rank " + std::to_string(counted.size());
    if (array.dtype() != dtype || array.rank() != counted.size()) mismatch(wanted);
    std::vector<int64_t> counts;
    for (size_t d = 0; d < counted.size(); ++d) {
      if (counted[d]) counts.push_back(array.extent(d));
    }
    make_counted(call, k, counts);
  }
  ShapeView shape = place.shape();
  bool fits = array.dtype() == place.dtype() && array.rank() == shape.size() &&
              std::equal(shape.begin(), shape.end(), array.shape().begin());
  if (!fits) mismatch(type_text(shape, place.dtype()));
  place.assign(array);
}

void run_python(LibraryCall& call) {
  const Site& site = site_of(call.integer("site"));
  size_t total = 0;
  for (int count : site.fields) total += static_cast<size_t>(count < 0 ? 1 : count);
  if (total != call.inputs.size() || site.results.size() != call.outputs.size())
    throw RuntimeError("the program calls a Python function of another process");
  if (!nb::is_alive()) throw RuntimeError("its kernel is a Python function, and Python has ended");
  {
    nb::gil_scoped_acquire gil;
    run_kernel_part("its kernel", [&] {
      nb::list positional;
      size_t next = 0;
      for (int count : site.fields) {
        if (count < 0) {
          positional.append(input_array(call.inputs[next++]));
          continue;
        }
        nb::list fields;
        for (int i = 0; i < count; ++i) fields.append(input_array(call.inputs[next++]));
        positional.append(nb::tuple(fields));
      }
      nb::dict keywords = keywords_of(site.attrs);
      std::vector<nb::object> outs;
      if (site.wants_out) {
        for (const NDArray& output : call.outputs)
          outs.push_back(output ? numpy_of(NDArray::zeros(output.shape(), output.dtype()), true)
                                : nb::none());
        nb::object out = outs[0];
        if (outs.size() > 1) {
          nb::list list;
          for (const nb::object& one : outs) list.append(one);
          out = nb::tuple(list);
        }
        keywords["out"] = out;
      }
      nb::tuple args(positional);
      nb::object result =
          nb::steal(PyObject_Call(site.function.get().ptr(), args.ptr(), keywords.ptr()));
      if (!result) throw nb::python_error();
      std::vector<nb::object> results;
      if (result.is_none() && site.wants_out) {
        results = outs;
      } else if (call.outputs.size() > 1) {
        if (!PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr()))
          throw RuntimeError("its kernel gave " + class_name_of(result) + ", not a tuple of " +
                             std::to_string(call.outputs.size()) + " arrays");
        for (nb::handle item : nb::iter(result)) results.push_back(nb::borrow(item));
      } else {
        results.push_back(result);
      }
      if (results.size() != call.outputs.size())
        throw RuntimeError("its kernel gave " + std::to_string(results.size()) + " results, not " +
                           std::to_string(call.outputs.size()));
      for (size_t k = 0; k < results.size(); ++k) {
        if (results[k].is_none())
          throw RuntimeError(
              site.wants_out
                  ? "its kernel gave None for a result that has no array in `out`: return it"
                  : "its kernel gave None: it must return its results, or take arrays for them "
                    "as `out`");
        take_result(call, site, k, results[k]);
      }
    });
  }
  call.parallel(0, [](int64_t) {});  // ends a run that has been interrupted
}

// The function's operands are compared with their site when it runs, and results with their places.
void python_rule(const LibraryOperands&) {}

RELAY_LIBRARY_RULE(kPythonKernel, python_rule);
RELAY_LIBRARY_KERNEL(kPythonKernel, run_python,
                     {LibrarySignature::kAny,
                      LibrarySignature::kAny,
                      {{"site", ParamKind::kInteger}}});

}  // namespace

void call_python_kernel(const Callback& function, bool wants_out, const OpCall& call,
                        te::Builder& b) {
  Site site{call.op(), function, call.attrs_ref(), wants_out, {}, {}};
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    const TypeRef& type = call.input(i);
    site.fields.push_back(type->is<TupleType>() ? count_tensors(type) : -1);
  }
  std::vector<te::TensorInfo> results;
  for (size_t k = 0; k < call.num_results(); ++k) {
    results.push_back(call.result(k));
    std::vector<bool> counted;
    for (Dim dim : results[k].dims) counted.push_back(dim.is_any());
    site.results.emplace_back(results[k].dtype, std::move(counted));
  }
  std::vector<te::Tensor> inputs;
  for (size_t i = 0; i < b.num_inputs(); ++i) inputs.push_back(b.input(i));
  KernelParams params{{"site", number_of(std::move(site))}};
  for (const te::Tensor& tensor : b.library(kPythonKernel, inputs, results, std::move(params)))
    b.output(tensor);
}

std::shared_ptr<const vm::Executable> with_operators(
    std::shared_ptr<const vm::Executable> executable) {
  std::vector<ExprRef> operators;
  for (const vm::Graph& graph : executable->graphs) {
    for (const vm::Launch& launch : graph.launches) {
      if (executable->kernels[launch.kernel].library != kPythonKernel) continue;
      for (const KernelParam& param : launch.params) {
        if (const auto* site = std::get_if<int64_t>(&param.value); site && param.name == "site")
          operators.push_back(make_op(site_of(*site).op));
      }
    }
  }
  if (operators.empty()) return executable;
  using Held = std::pair<std::shared_ptr<const vm::Executable>, std::vector<ExprRef>>;
  auto held = std::make_shared<Held>(std::move(executable), std::move(operators));
  return {held, held->first.get()};
}

void require_portable(const vm::Executable& executable) {
  for (const vm::Kernel& kernel : executable.kernels) {
    if (kernel.library != kPythonKernel) continue;
    throw Error("the program cannot be saved: operator " + kernel.name +
                " has a Python function as its kernel, which is in this process alone");
  }
}

void refuse_python_kernels(const vm::Executable& executable, const std::string& file) {
  for (const vm::Kernel& kernel : executable.kernels) {
    if (kernel.library != kPythonKernel) continue;
    throw Error(file + ": the program calls a Python function of another process (operator " +
                kernel.name + ")");
  }
}

}  // namespace relay::python
