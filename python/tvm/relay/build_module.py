"""Building: `build`, `create_executor`, `optimize`."""

from __future__ import annotations

import functools
import math
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import relay as _relay
from relay import Executable, Expr, Function, IRModule, NDArray
from relay import codegen as _codegen, transform as _passes

from .._errors import DuplicateNameError, UnknownInputError, WrongKindError
from .._ffi.runtime_ctypes import DataType
from ..ir.diagnostics import rendered
from ..ir.module import from_expr as module_of
from ..runtime import c_program
from ..runtime.module import Module
from ..runtime.threads import configured
from ..target import Target
from .backend.graph_json import Graph
from .backend.graph_nodes import Nodes
from .backend.storage import workspace_of
from .backend.interpreter import AotExecutor as AotExecutor, Compiled, Executor as _Executor, GraphExecutor as GraphExecutor, Interpreter
from .backend.options import Executor, Runtime
from .qnn.rounding import settled


__all__ = ["AotExecutor", "BuildModule", "GraphExecutor", "bind_params_by_name", "build", "build_config", "create_executor", "optimize"]


def _module(given: Any) -> IRModule:
    """A module of what builds take: a module, or a function or another expression. Raises WrongKindError."""
    if isinstance(given, IRModule):
        return given
    if not isinstance(given, (Expr, _relay.TupleWrapper)):
        raise WrongKindError(f"a build takes an IRModule or a function, not {type(given).__name__}")
    return module_of(given)


def kept(value: Any) -> Any:
    """A value of a parameter that nobody writes: a copy of an array that others may write, else what was given."""
    return value if type(value) is NDArray or not hasattr(value, "__dlpack__") else _relay.const(value).data


def compile_module(mod: IRModule, target: Any, params: Mapping[str, Any] | None, entry: str = "main") -> Executable:
    """The program of a module, compiled under the current context. Values for names that are no parameters are ignored: scripts pass the
    weights of a network once more after a pass has bound them."""
    return _compiled(_prepared(mod), target, params, entry)


def _prepared(mod: IRModule) -> IRModule:
    """The module as compilation begins with it."""
    _require_code_generators(mod)
    with rendered(mod):
        return settled(_on_integers(mod))


def _compiled(mod: IRModule, target: Any, params: Mapping[str, Any] | None, entry: str = "main") -> Executable:
    level = _passes.PassContext.current().opt_level
    names = {param.name_hint for param in mod[entry].params} if entry in mod else set(params or {})
    with rendered(mod):
        return _relay.compile(mod, {name: kept(value) for name, value in (params or {}).items() if name in names}, Target.machine_of(target), min(level, 4), entry,
                              threads=configured())  # fmt: skip


def _on_integers(mod: IRModule) -> IRModule:
    """The module with integers where a network that was quantised elsewhere computes on dequantised numbers, from level 2 on: it takes half
    the time. The context may disable the pass."""
    if _passes.PassContext.current().opt_level < 2 or not {"qnn.quantize", "qnn.dequantize"} <= _relay.analysis.list_op_freqs(mod).keys():
        return mod
    return _passes.Sequential([_passes.InferType(), _passes.create("FakeQuantizationToInteger")])(mod)


# Code generators that TVM has. A program that names one is compiled as any other where no script registers it.
_OF_TVM = {
    "arm_compute_lib", "bnns", "ccompiler", "clml", "cmsis-nn", "coremlcompiler", "cublas", "cudnn", "cutlass", "dnnl", "ethos-n", "ethos-u", "libtorch", "mrvl",
    "tensorrt", "vitis_ai",
}  # fmt: skip


def _require_code_generators(mod: IRModule) -> None:
    """Raises RelayError, which is a TVMError, for functions of a code generator that neither a script has registered nor TVM has."""
    named: dict[str, str] = {}

    def note(at: str, expr: Expr) -> None:
        if isinstance(expr, Function) and expr.attrs is not None and "Compiler" in expr.attrs.keys():
            named.setdefault(str(expr.attrs["Compiler"]), at)

    for var, function in mod.functions.items():
        _relay.analysis.post_order_visit(function, functools.partial(note, var.name_hint))
    for compiler, at in named.items():
        if compiler not in _codegen.names() and compiler not in _OF_TVM:
            raise _relay.RelayError(f"Failed to find the codegen tool for relay.ext.{compiler}: @{at} has a function of it, and register_func(\"relay.ext.{compiler}\") gives one")


# What ``lib[NAME]`` gives beside the program.
_RESERVED = ("get_graph_json", "get_graph_params", "debug_create", "cuda_graph_create")


def _require_name(name: Any) -> None:
    """Raises ValueError for a name under which a built library could not be asked for its program."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"mod_name is the name of what is built, a text that is not empty, not {name!r}")
    if name in _RESERVED:
        raise ValueError(f"mod_name is {name!r}, by which a library gives something else: {', '.join(_RESERVED)} are taken")


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """The function with values in place of the parameters of these names. Raises DuplicateNameError, a TVMError, where two have one name."""
    by_name: dict[str, Any] = {}
    for param in func.params:
        if param.name_hint in params and param.name_hint in by_name:
            raise DuplicateNameError(f"two parameters are called %{param.name_hint}")
        by_name[param.name_hint] = param
    binds = {by_name[name]: v if isinstance(v, Expr) else _relay.const(v) for name, v in params.items() if name in by_name}
    bound = _relay.bind(func, binds) if binds else func
    assert isinstance(bound, Function)
    return bound


def optimize(mod: Any, target: Any = None, params: Mapping[str, Any] | None = None) -> tuple[IRModule, dict[str, Any]]:
    """The module after the standard passes of the current context's level, its operators in kernels, and the parameters."""
    module = settled(_module(mod))
    if params:
        module = module.copy()
        module["main"] = bind_params_by_name(module["main"], params)
    context = _passes.PassContext.current()
    module = _relay._core.standard_pipeline(min(context.opt_level, 4), context.required_pass)(module)
    return _passes.Sequential([_passes.FuseOps(), _passes.InferType()])(module), dict(params or {})


class Weights:
    """Values of parameters that `build` made constants, and programs in which some of them are inputs again."""

    def __init__(self, mod: IRModule, target: Any, params: Mapping[Any, Any], name: str) -> None:
        self._name = name
        self._mod, self._target, self._context = mod, target if target is not None else Target.current(), _passes.PassContext.current()
        self._graph: Graph | None = None
        self.values = {key.name_hint if isinstance(key, _relay.Var) else str(key): _relay.const(value).data for key, value in params.items()}

    def built(self) -> tuple[_passes.PassContext, Any]:
        """The context and the target of the build."""
        return self._context, self._target

    def given(self) -> dict[str, Any]:
        """The values of parameters that main has."""
        named = {param.name_hint for param in self._mod["main"].params}
        return {name: value for name, value in self.values.items() if name in named}

    def program(self, opened: Collection[str]) -> Executable:
        """Compiled as `build` did, but for values that are now inputs, behind one another in the order of the parameters."""
        main = self._mod["main"]
        fresh = {var: self._input(var.name_hint) for var in main.params if var.name_hint in opened}
        params: Any = [fresh.get(var, var) for var in main.params]
        mod = self._mod.copy()
        mod["main"] = main.with_body(_relay.bind(main.body, fresh), params)
        with self._context:
            return compile_module(mod, self._target, {name: value for name, value in self.values.items() if name not in opened})

    def graph(self, opened: Collection[str] = ()) -> Graph:
        """The graph of the program as it was built, or of one in which some values are inputs."""
        if opened:
            with self._context:
                return Graph(optimize(self._mod, self._target, {name: value for name, value in self.values.items() if name not in opened})[0],
                             name=self._name)  # fmt: skip
        if self._graph is None:
            with self._context:
                self._graph = Graph(optimize(self._mod, self._target, self.values)[0], name=self._name)
        return self._graph

    def constants(self, opened: Collection[str] = ()) -> dict[str, Any]:
        """Constants of such a graph by their names in it."""
        graph = self.graph(opened)
        return {row["name"]: expr.data for row, expr in zip(graph.nodes, graph.exprs) if isinstance(expr, _relay.Constant)}

    def nodes(self, opened: Collection[str] = ()) -> Nodes:
        """The nodes of such a graph, to be run one by one."""

        def compiled(mod: IRModule, entry: str) -> Executable:
            with self._context:
                return compile_module(mod, self._target, None, entry)

        return Nodes(self.graph(opened), compiled)

    def _input(self, name: str) -> Expr:
        value = self.values[name]
        return _relay.var(name, shape=value.shape, dtype=value.dtype)


def _bytes_of(kind: Any) -> int:
    """The bytes of the tensors in a value of a type; 0 where a run finds them, as for data types."""
    work, total = [kind], 0
    while work:
        found = work.pop()
        if isinstance(found, _relay.TupleType):
            work += found.fields
        elif isinstance(found, _relay.TensorType) and all(isinstance(extent, int) for extent in found.shape):
            total += math.prod(found.shape) * -(-DataType(found.dtype).bits // 8)
    return total


# TVM's name of the function that runs a program.
_MAIN = "__tvm_main__"


class FunctionInfo:
    """Memory of a function of a compiled program, in bytes by target, as TVM's class of this name has it. One that a run finds counts as 0."""

    def __init__(self, function: Function, source: Function, weights: Mapping[str, Any], graph: Callable[[], Graph] | None) -> None:
        self._graph = graph
        host = Target("llvm")
        kind: Any = function.checked_type
        names = [param.name_hint for param in function.params]
        given = [arg for name, arg in zip(names, kind.arg_types) if name not in weights]
        self.io_sizes = {host: sum(map(_bytes_of, given)) + _bytes_of(kind.ret_type)}
        self.constant_sizes = {host: sum(weights[name].numpy().nbytes for name in names if name in weights)}
        self.relay_primfuncs = {host: source}
        self.tir_primfuncs: dict[Target, Any] = {}

    @property
    def workspace_sizes(self) -> dict[Target, int]:
        """The bytes of intermediate results as TVM's executor of graphs plans them; a run here plans all kernels in one arena, and may need
        less. Raises NotImplementedError for a function that is not the graph's."""
        if self._graph is None:
            raise NotImplementedError("FunctionInfo.workspace_sizes is that of the graph: this function is called from it")
        return {Target("llvm"): workspace_of(self._graph())}


class FactoryModule(Module):
    """The result of `build`: ``lib["default"](device)`` goes into a GraphModule; it also unpacks as (graph, lib, params)."""

    def __init__(
        self, program: Executable, mod: IRModule, target: Any, params: Mapping[str, Any], name: str, executor: Any = None, runtime: Any = None
    ) -> None:
        super().__init__(program)
        self.executor = executor if executor is not None else Executor("graph")
        self.runtime = runtime if runtime is not None else Runtime("cpp")
        self.ir_mod = mod
        self.target = target
        self.libmod_name = self.name = name
        # What its file has of the code that code generators made, where C source is among it.
        self.external: c_program.External | None = None
        # Settled as the program was: it is compiled again where a weight is set, and then no context is in force.
        self.weights = Weights(settled(mod), target, params, name)

    def __getitem__(self, name: str) -> Any:
        own = {"get_graph_json": self.get_graph_json, "get_graph_params": self.get_params, "remove_params": self.without_params}
        return own[name] if name in own else super().__getitem__(name)

    def get_lib(self) -> Module:
        """The compiled program."""
        lib = Module(self.program)
        lib.weights, lib.name = self.weights, self.name
        return lib

    def export_library(self, file_name: Any, *, fcompile: Any = None, addons: Any = None, workspace_dir: Any = None, **kwargs: Any) -> str:
        """Writes the program as a file that `load_module` takes; without C source, `relay.load` and the command `relay run` take it, too.
        Raises RelayError where code generators gave something that no file can have."""
        if self.external is None:
            return super().export_library(file_name, fcompile=fcompile, addons=addons, workspace_dir=workspace_dir, **kwargs)
        path: str = os.fspath(file_name)
        c_program.save(self, self.external, path)
        return path

    def _notes(self) -> dict[str, str]:
        """What files say of the program beside it: its name, its weights, and its graph where an executor of graphs runs it."""
        return {**super()._notes(), **({"graph": self.get_graph_json()} if self.executor.name == "graph" else {})}

    @property
    def lib(self) -> Module:
        """The compiled program."""
        return self.get_lib()

    @property
    def module(self) -> Module:
        """The compiled program."""
        return self

    @property
    def type_key(self) -> str:
        """The kind of the module: it makes programs to run."""
        return "AotExecutorFactory" if self.executor.name == "aot" else "GraphExecutorFactory"

    @property
    def function_metadata(self) -> dict[str, FunctionInfo]:
        """By function, `main` under TVM's name for it, those of the graph's nodes (`func_name`) among them: the bytes of its inputs and
        outputs, of the constants that `build` got, and of intermediate results as the graph has them."""
        assert self.weights is not None
        typed = _passes.InferType()(self.ir_mod)
        names = [name for name in self.program.entries if name in typed]
        found = {name: FunctionInfo(function, function, {}, None) for name, function in self.weights.graph().functions.items()}
        found.update({name: FunctionInfo(typed[name], self.ir_mod[name], {}, None) for name in names if name != "main"})
        if "main" in names:
            found[_MAIN] = FunctionInfo(typed["main"], self.ir_mod["main"], self.weights.values, self.weights.graph)
        return found

    def get_devices(self) -> list[str]:
        """The names of devices that a run is given beside the CPU: none."""
        return []

    def get_params(self) -> dict[str, Any]:
        """The values that `build` got for parameters of main, by name. They are constants of the program: to set them again changes nothing,
        in this process and for a program from its file."""
        assert self.weights is not None
        return self.weights.given()

    def without_params(self) -> FactoryModule:
        """What ``lib["remove_params"]()`` gives: the program compiled again with these values as inputs, which a run wants then."""
        assert self.weights is not None
        program = self.weights.program(self.get_params())
        made = type(self)(program, self.ir_mod, self.weights.built()[1], {}, self.name, self.executor, self.runtime)
        made.external = self.external
        return made

    @property
    def params(self) -> dict[str, Any]:
        """The same as `get_params`."""
        return self.get_params()

    def get_graph_json(self) -> str:
        """The graph in TVM's form: `nodes` with their inputs, `arg_nodes`, `heads`, and `attrs` with dtypes and shapes.

        It shows what the program computes; the program itself fuses more. A program with control flow is one node.
        """
        assert self.weights is not None
        return self.weights.graph().text()

    graph_json = property(get_graph_json)

    def get_executor_config(self) -> str:
        """What the executor of the build reads: the graph."""
        return self.get_graph_json()

    def __iter__(self) -> Iterator[Any]:
        warnings.warn("a build that unpacks as graph, library and parameters is deprecated: GraphModule(lib['default'](device)) takes it whole",
                      DeprecationWarning, 2)  # fmt: skip
        return iter((self.get_graph_json(), self.get_lib(), self.get_params()))


class GraphExecutorFactoryModule(FactoryModule):
    """The result of `build` for the executor graph."""


class AOTExecutorFactoryModule(FactoryModule):
    """The result of `build` for the executor aot."""


def build(
    ir_mod: Any,
    target: Any = None,
    target_host: Any = None,
    executor: Executor = Executor("graph"),
    runtime: Runtime = Runtime("cpp"),
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> FactoryModule:
    """Compiles a module or function. `params`: values of parameters of `main`, by name, that become constants.

    Raises NotImplementedError for targets other than CPUs, for memory pools and for the runtime of microcontrollers, RelayError for what is wrong with the program.
    """
    if workspace_memory_pools is not None or constant_memory_pools is not None:
        raise NotImplementedError("build with memory pools: the program plans its own memory")
    if runtime is not None and runtime.name != "cpp":
        raise NotImplementedError(f"build with the runtime {runtime.name}: programs run in Python and C++, not on microcontrollers")
    if isinstance(ir_mod, Function):
        warnings.warn("build of a function is deprecated: give it a module, which IRModule.from_expr makes", DeprecationWarning, 2)
    _require_name(mod_name)
    mod = _module(ir_mod)
    made = AOTExecutorFactoryModule if executor is not None and executor.name == "aot" else GraphExecutorFactoryModule
    with _codegen._outcomes() as outcomes:
        ready = _prepared(mod)
        built = made(_compiled(ready, target, params), mod, target, params or {}, mod_name, executor, runtime)
    built.external = c_program.external(ready, outcomes)
    return built


class BuildModule:
    """Builds in the steps that scripts know."""

    def __init__(self) -> None:
        self._made: FactoryModule | None = None

    def build(self, mod: Any, target: Any = None, target_host: Any = None, executor: Any = None, runtime: Any = None,
              workspace_memory_pools: Any = None, constant_memory_pools: Any = None, params: Any = None, mod_name: Any = None) -> Any:  # fmt: skip
        """The graph, the program and the parameters."""
        chosen = {name: value for name, value in {"executor": executor, "runtime": runtime}.items() if value is not None}
        self._made = build(mod, target, target_host, workspace_memory_pools=workspace_memory_pools, constant_memory_pools=constant_memory_pools,
                           params=params, mod_name=mod_name or "default", **chosen)  # fmt: skip
        return self._made.get_graph_json(), self._made.get_lib(), self._made.get_params()

    def optimize(self, mod: Any, target: Any = None, target_host: Any = None, params: Any = None) -> Any:
        """The module after the passes, and the parameters."""
        return optimize(mod, target, params)

    def get_graph_json(self) -> str:
        """The graph of what was built, as text. Raises RuntimeError before."""
        return self._required().get_graph_json()

    get_json = get_graph_json

    def get_irmodule(self) -> IRModule:
        """The module that the program was built of. Raises RuntimeError before."""
        return self._required().ir_mod

    def get_function_metadata(self) -> dict[str, FunctionInfo]:
        """The memory of functions. Raises RuntimeError before."""
        return self._required().function_metadata

    def get_devices(self) -> list[str]:
        """The names of devices of what was built: none. Raises RuntimeError before."""
        return self._required().get_devices()

    def get_module(self) -> Module:
        """The module that was built. Raises RuntimeError before."""
        return self._required().get_lib()

    def get_params(self) -> dict[str, Any]:
        """The parameters of what was built. Raises RuntimeError before."""
        return self._required().get_params()

    def _required(self) -> FactoryModule:
        if self._made is None:
            raise RuntimeError("nothing was built yet")
        return self._made


def create_executor(
    kind: str = "debug", mod: IRModule | None = None, device: Any = None, target: Any = "llvm", params: Mapping[str, Any] | None = None
) -> _Executor:
    """Something that runs programs: "debug" is the reference evaluator; "graph", "vm" and "aot" the compiled program.

    Raises ValueError for other kinds, NotImplementedError for devices other than the CPU.
    """
    Target.machine_of(target)
    classes = {"debug": Interpreter, "graph": GraphExecutor, "vm": Compiled, "aot": AotExecutor}
    if kind not in classes:
        raise UnknownInputError(f"unknown execution strategy: {kind}; there are debug, graph, vm and aot")
    if isinstance(mod, Expr):
        raise TypeError("the executor wants a module: IRModule.from_expr makes one")
    return classes[kind](mod, device, target, params)


def build_config(opt_level: int = 2, required_pass: Any = None, disabled_pass: Any = None, trace: Any = None) -> Any:
    """A context for passes; `tvm.transform.PassContext` is the newer name."""
    from ..ir.transform import PassContext

    return PassContext(opt_level, required_pass, disabled_pass, trace=trace)
