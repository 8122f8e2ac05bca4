"""`from_pytorch`: traced, scripted and plain modules, with the shapes of their inputs."""

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor
from typing import Dict, List, Optional, Tuple

import relay
from relay.frontend import from_pytorch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


def script(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(module.eval())


def trace(module, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module.eval(), inputs)


def agree(found, expected):
    found, _ = torch.utils._pytree.tree_flatten(found)
    expected, _ = torch.utils._pytree.tree_flatten(expected)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(torch.as_tensor(theirs).detach()), rtol=1e-4, atol=1e-5)


def check(module, infos, *inputs):
    """The program of a scripted module agrees with the module."""
    mod, params = from_pytorch(script(module), infos)
    agree(relay.compile(mod, params=params)(*inputs), module(*(item.clone() if isinstance(item, Tensor) else item for item in inputs)))
    return mod, params


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2)
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).mean((2, 3)))


NAMES = ["conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var", "fc.weight", "fc.bias"]


def forms():
    net, x = Net().eval(), torch.randn(1, 3, 8, 8)
    return net, x, {"plain": net, "traced": trace(net, x), "scripted": script(net)}


@pytest.mark.parametrize("form", ["plain", "traced", "scripted"])
def test_weights_are_parameters_named_by_the_state_dict(form):
    net, x, modules = forms()
    mod, params = from_pytorch(modules[form], [("data", (1, 3, 8, 8))])
    assert sorted(params) == sorted(NAMES)
    names = [param.name_hint for param in mod["main"].params]
    assert names[0] == "data" and sorted(names[1:]) == sorted(NAMES)
    for name, value in params.items():
        np.testing.assert_array_equal(value.numpy(), net.state_dict()[name].numpy())
    agree(relay.compile(mod, params=params)(x), net(x))
    params["fc.bias"] = np.array([10, 20], "float32")
    agree(relay.compile(mod, params=params)(x), net(x) - net.fc.bias + torch.tensor([10.0, 20.0]))


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.lin, self.out = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 7, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        return self.out(self.lin(self.emb(x)))


@pytest.mark.parametrize("form", ["plain", "traced", "scripted"])
def test_a_weight_of_several_modules_goes_by_its_first_name(form):
    net, x = Tied().eval(), torch.tensor([[1, 5, 2]])
    module = {"plain": net, "traced": trace(net, x), "scripted": script(net)}[form]
    mod, params = from_pytorch(module, [("x", ((1, 3), "int64"))])
    assert list(params) == ["emb.weight", "lin.weight", "lin.bias"]
    agree(relay.compile(mod, params=params)(x), net(x))


def test_weights_are_copies_and_build_makes_them_constants(tmp_path):
    tvm = pytest.importorskip("tvm")
    net, x, modules = forms()
    expected = net(x).detach()
    mod, params = tvm.relay.frontend.from_pytorch(modules["traced"], [("data", x.shape)], use_parser_friendly_name=True)
    assert sorted(params) == sorted(name.replace(".", "_") for name in NAMES)
    with torch.no_grad():
        net.fc.weight.zero_()
    params = tvm.relay.load_param_dict(tvm.relay.save_param_dict(params))
    lib = tvm.relay.build(mod, "llvm", params=params)
    module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(data=x.numpy())
    agree(module.get_output(0).numpy(), expected)
    lib.export_library(tmp_path / "net.so")
    module = tvm.contrib.graph_executor.GraphModule(tvm.runtime.load_module(tmp_path / "net.so")["default"](tvm.cpu()))
    module.run(data=x.numpy())
    agree(module.get_output(0).numpy(), expected)


def test_inputs_have_dtypes_and_parts_and_open_extents():
    class Pick(torch.nn.Module):
        def forward(self, table, rows, states: Tuple[Tensor, Tensor]):
            return table[rows] * states[0] + states[1], states

    for dtype in ("int64", "long", "torch.int64", torch.int64):
        infos = [("table", (4, 2)), ("rows", ((3,), dtype)), ("states", ((3, 2), ((3, 2), "double")))]
        mod, _ = from_pytorch(script(Pick()), infos, default_dtype="float32")
        assert [str(param.type_annotation) for param in mod["main"].params] == [
            "Tensor[(4, 2), float32]", "Tensor[(3), int64]", "(Tensor[(3, 2), float32], Tensor[(3, 2), float64])"]  # fmt: skip
    inputs = (torch.rand(4, 2), torch.tensor([3, 0, 3]), (torch.rand(3, 2), torch.rand(3, 2).double()))
    agree(relay.compile(mod)(*inputs), Pick()(*inputs))
    for module in (Net().eval(), script(Net())):
        mod, params = from_pytorch(module, [("data", (relay.Any(), 3, 8, 8))])
        run = relay.compile(mod, params=params)
        assert [run(torch.rand(n, 3, 8, 8)).shape for n in (1, 4)] == [(1, 2), (4, 2)]


def test_changed_buffers_and_inputs_are_no_results_and_numbers_are():
    class Count(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x):
            self.n += 1
            x += self.n
            return x, 7

    for module in (Count(), script(Count())):
        mod, params = from_pytorch(module, [("x", (2,))])
        assert list(params) == ["n"]
        agree(relay.compile(mod, params=params)(torch.ones(2)), (torch.full((2,), 2.0), 7))


def test_a_loop_of_known_length_is_unrolled():
    class Loop(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.LSTMCell(4, 4)

        def forward(self, x, states: Tuple[Tensor, Tensor]):
            outputs = torch.jit.annotate(List[Tensor], [])
            for row in x.unbind(0):
                states = self.cell(row, states)
                outputs += [states[0]]
            total, i = 0, 0
            while i < x.size(0):
                total += i
                i += 2
            return torch.stack(outputs), states, total

    mod, params = check(Loop(), [("x", (3, 2, 4)), ("s", ((2, 4), (2, 4)))], torch.rand(3, 2, 4), (torch.rand(2, 4), torch.rand(2, 4)))
    assert sorted(params) == ["cell.bias_hh", "cell.bias_ih", "cell.weight_hh", "cell.weight_ih"]


class Search(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))

    def forward(self, x):
        n = 0
        while bool(x.abs().sum() < 100.0) and n < 50:
            if x.sum() > 10:
                x = x * 2 + self.w
            else:
                x += self.w
            n += 1
        return x, n


class Early(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        y = x - 1
        if y.max() > 0:
            return y
        return y + x.max().item()


class Range(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros(2)
        for i in range(int(x.sum())):
            y = y + i
        return y


class Carried(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(3, 3)

    def forward(self, x):
        state = (x * 0.5, (x, 1))
        while bool(state[0].sum() < 0.9) and state[1][1] < 12:
            h, c = self.cell(state[0], (state[0], state[1][0]))
            state = (h + 0.1, (c, state[1][1] + 2))
        if x.sum() > 2:
            pair = (state[0], state[1][0] * 2)
        else:
            pair = (state[1][0], state[0] - 1)
        return pair[0] + pair[1], state[1][1]


class CarriedAndWritten(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        state = (y, x)
        while bool(state[0].sum() < 10.0):
            a = state[0]
            a += 1
            state = (a, x)
        return y


class Uneven(torch.nn.Module):
    def forward(self, x):
        state: List[torch.Tensor] = [x]
        while bool(x.sum() < 10):
            x = x + 1
            state = state + [x]
        return state[0]


def test_tuples_are_carried_by_loops_and_given_by_branches():
    for x in (torch.full((1, 3), -0.2), torch.full((1, 3), 0.9), torch.full((1, 3), 0.1)):
        mod, _ = check(Carried(), [("x", (1, 3))], x)
    assert "%loop" in str(mod)


def test_loops_and_branches_on_values():
    for x in (torch.rand(3), -8 * torch.rand(3)):
        check(Search(), [("x", (3,))], x)
    for x in (torch.rand(3), -torch.rand(3), torch.tensor([2.0, -1, -3])):
        check(Early(), [("x", (3,))], x)
    mod, _ = check(Range(), [("x", (2,))], torch.tensor([2.0, 3.0]))
    assert "%loop" in str(mod)


def test_dictionaries_optional_arguments_and_texts():
    class Mixed(torch.nn.Module):
        def forward(self, x, y: Optional[Tensor] = None):
            found: Dict[str, Tensor] = {"a": x}
            found["b"] = x + 1
            shift = [1, 2].copy()
            shift.append(3)
            if y is not None:
                found["a"] = y
            if len(shift) != 3:
                raise ValueError("not {}".format(len(shift)))
            return found["a"] * found["b"] * max(shift)

    check(Mixed(), [("x", (3,))], torch.rand(3))
    check(Mixed(), [("x", (3,)), ("y", (3,))], torch.rand(3), torch.rand(3))


def test_converters_of_the_caller():
    import tvm

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.relu(torch.nn.functional.hardtanh(x, -2.0, 2.0), inplace=True) + 1

    seen = []

    def clip(inputs, types):
        seen.append((inputs[1:], types))
        return tvm.relay.clip(inputs[0], inputs[1] * 10, inputs[2] * 10)

    custom = {"aten::hardtanh": clip, "aten::relu_": lambda inputs, types: tvm.relay.negative(inputs[0])}
    x = torch.tensor([-30.0, -5.0, 8.0])
    for module in (trace(Model(), x), Model()):
        mod, params = tvm.relay.frontend.from_pytorch(module, [("x", (3,))], custom)
        agree(relay.compile(mod)(x), torch.tensor([21.0, 6.0, -7.0]))
    assert seen[0] == ([-2.0, 2.0], ["float32", "float", "float"])
    with pytest.raises(TypeError, match="custom_convert_map has functions by names such as 'aten::relu', not 'relu'"):
        from_pytorch(Model(), [("x", (3,))], {"relu": clip})
    with pytest.raises(TypeError, match="custom_convert_map is a dictionary of functions by names of operators, not 3"):
        from_pytorch(Model(), [("x", (3,))], 3)


def test_the_graph_is_written(tmp_path):
    import tvm

    tvm.relay.frontend.from_pytorch(script(Early()), [("x", (3,))], export_renamed_c_graph_path=str(tmp_path / "new"), keep_quantized_weight=True,
                                    preserve_pytorch_scopes=True)  # fmt: skip
    (path,) = (tmp_path / "new").iterdir()
    assert path.name.startswith("tvm_exported_c_graph_") and "aten.sum" in path.read_text()


class Growing(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 100.0):
            x = torch.cat([x, x])
        return x


class Endless(torch.nn.Module):
    def forward(self, x):
        i = 0
        while i < 1000000000:
            i += 1
        return x


class ReadTwice(torch.nn.Module):
    def forward(self, x):
        b = x * 1
        a = b
        while bool(a.sum() < 100.0):
            a += a
        return a + b


class View(torch.nn.Module):
    def forward(self, x):
        b = x * 1
        a = b[0]
        while bool(a < 100.0):
            a += a
        return b


class BranchWrites(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            y[0] += 1
        return y


class Raises(torch.nn.Module):
    def forward(self, x):
        if x.size(0) != 7:
            raise ValueError("size must be 7")
        return x


@pytest.mark.parametrize("model, message", [
    (Growing, "does not record this loop on the values of tensors: .* Its tensors must keep their shapes and dtypes"),
    (Endless, "a loop is unrolled, and more than 20000 operators ran: use torch's while_loop or scan, and from_torch"),
    (ReadTwice, "a loop on the values of tensors writes to tensors in place, and one of them may be read by another name"),
    (CarriedAndWritten, "a loop on the values of tensors writes to tensors in place, and one of them may be read by another name"),
    (Uneven, "a loop or branch on the values of tensors gives tuples of different lengths"),
    (View, "a loop on the values of tensors writes to tensors in place, and one of them may be read by another name"),
    (BranchWrites, "a branch on the values of tensors writes to a tensor that is read afterwards"),
    (Raises, "the model raises 'size must be 7' for inputs of these shapes"),
])  # fmt: skip
def test_what_cannot_be_recorded_is_an_error_at_the_line(model, message):
    with pytest.raises(relay.RelayError, match=message) as failed:
        from_pytorch(script(model()), [("x", (3,))])
    assert "modules_test.py:" in str(failed.value)


@pytest.mark.parametrize("infos, kind, message", [
    ("x", TypeError, r"input_infos is a list of \(name, shape\) or \(name, \(shape, dtype\)\), not 'x'"),
    ([("x",)], TypeError, r"\('x',\) is neither"),
    ([("x", 3)], TypeError, "the input 'x' has a shape"),
    ([("x", (3.5,))], TypeError, "the input 'x': an extent is a whole number of 0 or more, or relay.Any"),
    ([("x", ((3,), "quaternion"))], ValueError, "the input 'x' has the dtype 'quaternion', which PyTorch has not"),
    ([("x", (3,)), ("x", (3,))], ValueError, "input_infos has two inputs with the name 'x'"),
    ([("x", (3,)), ("y", (3,))], ValueError, r"the inputs of the module are x, and input_infos lists 2"),
    ([("w", (3,))], ValueError, "'w' is the name of a weight and of an input"),
])  # fmt: skip
def test_wrong_inputs_are_refused(infos, kind, message):
    with pytest.raises(kind, match=message):
        from_pytorch(script(Search()), infos)


def test_operators_that_are_not_supported_are_named_with_their_lines():
    import tvm

    class Noise(torch.nn.Module):
        def forward(self, x):
            return torch.randn(3) + torch.special.i1e(x) + torch.randn(3)

    for module in (script(Noise()), trace(Noise(), torch.rand(3))):
        with pytest.raises(NotImplementedError, match=r"are not implemented: \['aten::randn', 'aten::special_i1e'\]\n") as failed:
            tvm.relay.frontend.from_pytorch(module, [("x", (3,))])
        assert isinstance(failed.value, tvm.error.OpNotImplemented) and "modules_test.py:" in str(failed.value)
        assert len(failed.value.diagnostics) == 3
    with pytest.raises(relay.RelayError, match="the operator aten::randn of PyTorch is not supported"):
        from_pytorch(script(Noise()), [("x", (3,))])
    custom = {"aten::randn": lambda inputs, types: relay.const([1.0, 2.0, 3.0]), "aten::special_i1e": lambda inputs, types: inputs[0]}
    mod, _ = from_pytorch(script(Noise()), [("x", (3,))], custom)
    agree(relay.compile(mod)(np.zeros(3, "float32")), torch.tensor([2.0, 4.0, 6.0]))
    with pytest.raises(TypeError, match="script_module is a module of PyTorch, or a function that was traced or scripted, not 3"):
        from_pytorch(3, [])


def scaled(x, y, times: int = 2):
    z = x
    for _ in range(times):
        z = z + y * 0.5
    return z if z.size(0) > 2 else -z


def test_functions_that_were_traced_or_scripted():
    x, y = torch.rand(3, 2), torch.rand(3, 2)
    infos = [("x", (3, 2)), ("y", (3, 2))]
    table = torch.rand(3, 2)
    for function in (torch.jit.script(scaled), torch.jit.trace(lambda a, b: (a * table, torch.relu(a - b)), (x, y))):
        mod, params = from_pytorch(function, infos)
        assert [param.name_hint for param in mod["main"].params] == ["x", "y"] and not params
        agree(relay.compile(mod)(x, y), function(x, y))
    with pytest.raises(ValueError, match="the inputs of the module are x, y, times, and input_infos lists 1"):
        from_pytorch(torch.jit.script(scaled), infos[:1])


class Collecting(torch.nn.Module):
    def forward(self, x):
        out = [x]
        for _ in range(3):
            if bool(x.sum() < 10):
                x = x + 1
                out.append(x)
        return torch.stack(out)


class Filling(torch.nn.Module):
    def forward(self, x):
        found = {"a": x}
        while bool(found["a"].sum() < 10):
            found["a"] = found["a"] + 1
        return found["a"]


@pytest.mark.parametrize("module, text", [(Collecting(), "a branch on the values of tensors changes a list from outside of it"),
                                          (Filling(), "a loop on the values of tensors changes a dict from outside of it")])  # fmt: skip
def test_containers_do_not_change_in_what_a_run_decides(module, text):
    with pytest.raises(relay.RelayError, match=text):
        from_pytorch(script(module), [("x", (3,))])


class Counting(torch.nn.Module):
    def forward(self, x):
        t = 16777216.0
        while bool(x.sum() < 10):
            x = x + 1
            t += 1.0
        return x * 0 + (t - 16777216.0)


class Weighing(torch.nn.Module):
    def forward(self, x, k):
        return k * float(x.sum()) + torch.tensor([1, 2, 3])


def test_numbers_that_a_run_computes_are_doubles_and_integers_beside_them_become_float32():
    x = torch.tensor([1.0, 2.0, 1.0])
    check(Counting(), [("x", (3,))], x)
    k = torch.tensor([1, 2, 3], dtype=torch.int32)
    check(Weighing(), [("x", (3,)), ("k", ((3,), "int32"))], x, k)
    mod, _ = from_pytorch(script(Weighing()), [("x", (3,)), ("k", ((3,), "int32"))])
    assert mod["main"].ret_type == relay.parse_type("Tensor[(3), float32]")


class Viewing(torch.nn.Module):
    def forward(self, x):
        return x.view(x.size(0) + 1 - 1, -1)


class Repeating(torch.nn.Module):
    def forward(self, x):
        y = x
        for _ in range(x.size(0)):
            y = y + 1
        return y


def test_extents_that_are_computed_with_stay_open():
    for module in (script(Viewing()), trace(Viewing(), torch.ones(3, 2, 2))):
        mod, params = from_pytorch(module, [("x", (relay.Any(), 2, 2))])
        program = relay.compile(mod, params=params)
        for count in (1, 4):
            assert program(torch.ones(count, 2, 2)).shape == (count, 4)
    with pytest.raises(ValueError, match="the input 'x': its extent 0 is relay.Any\\(\\), but the model computes with the one of an example"):
        from_pytorch(script(Repeating()), [("x", (relay.Any(), 2))])


class Masking(torch.nn.Module):
    def forward(self, x, mask):
        return x * mask


@pytest.mark.parametrize("form", ["plain", "script", "trace"])
def test_open_batches_of_inputs_that_meet_are_the_same(form):
    module = Masking()
    module = script(module) if form == "script" else trace(module, torch.ones(2, 3), torch.ones(2, 3)) if form == "trace" else module
    mod, params = from_pytorch(module, [("x", (relay.Any(), 3)), ("mask", (relay.Any(), 3))])
    program = relay.compile(mod, params=params)
    for count in (1, 4):
        agree(program(torch.full((count, 3), 2.0), torch.full((count, 3), 3.0)), torch.full((count, 3), 6.0))
    with pytest.raises(RuntimeError, match="The size of tensor a|broadcast"):
        from_pytorch(Masking(), [("x", (relay.Any(), 3)), ("mask", (relay.Any(), 4))])
