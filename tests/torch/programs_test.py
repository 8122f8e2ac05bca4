"""Exported programs of PyTorch: extents, buffers, ties, control flow, errors; and the backend of torch.compile."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relay  # noqa: E402
from relay.frontend.torch.backend import relay as backend  # noqa: E402


def agree(got, want, tolerance=1e-4):
    want = want.detach().numpy()
    got = np.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, atol=tolerance * max(float(np.ptp(want)) if want.size else 0, 1e-3), rtol=tolerance)


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def test_named_dimensions_keep_their_ranges():
    model = Mlp().eval()
    batch = torch.export.Dim("batch", min=3, max=64)
    mod, params = relay.from_torch(torch.export.export(model, (torch.randn(5, 8),), dynamic_shapes={"x": {0: batch}}))
    assert params == {} and len(mod["main"].type_params) == 1
    run = relay.compile(mod)
    for extent in (3, 7, 64):
        x = torch.randn(extent, 8)
        agree(run(x), model(x))
    for extent, words in ((2, "at least 3"), (65, "at most 64")):
        with pytest.raises(relay.ExecutionError, match=words):
            run(torch.randn(extent, 8))


def test_dimensions_of_two_inputs_are_equal_or_derived():
    class Join(torch.nn.Module):
        def forward(self, x, y):
            return x[:, None] * y[None, :], torch.cat([x, y]).reshape(3, -1)

    n = torch.export.Dim("n")
    exported = torch.export.export(Join(), (torch.randn(4), torch.randn(8)), dynamic_shapes={"x": {0: n}, "y": {0: 2 * n}})
    run = relay.compile(relay.from_torch(exported)[0])
    x, y = torch.randn(5), torch.randn(10)
    for got, want in zip(run(x, y), Join()(x, y)):
        agree(got, want)
    with pytest.raises(relay.RelayError):
        run(x, torch.randn(9))


def test_views_of_open_extents_keep_their_names():
    class Heads(torch.nn.Module):
        def forward(self, x):
            b, n, _ = x.shape
            rows = x.view(b, n, 4, 8).transpose(1, 2).expand(b, 4, n, 8).reshape(b * 4, n, 8)
            scores = torch.bmm(rows, rows.transpose(1, 2)).view(b, 4, n, n).softmax(-1)
            mixed = torch.bmm(scores.view(b * 4, n, n), rows).view(b, 4, n, 8)
            return mixed.permute(0, 2, 1, 3).reshape(b * n, 32), mixed.permute(0, 2, 1, 3).reshape(b, n, 1, 32)

    b, n = torch.export.Dim("b"), torch.export.Dim("n")
    mod, _ = relay.from_torch(torch.export.export(Heads(), (torch.randn(3, 5, 32),), dynamic_shapes={"x": {0: b, 1: n}}))
    assert "dyn." not in str(mod)
    type_ = mod["main"].checked_type.ret_type
    assert "?" not in str(type_)
    run = relay.compile(mod)
    for extents in ((3, 5), (2, 7)):
        x = torch.randn(*extents, 32)
        for got, want in zip(run(x), Heads()(x)):
            agree(got, want)


def test_parameters_stay_parameters_when_asked():
    model = Mlp().eval()
    mod, params = relay.from_torch(torch.export.export(model, (torch.randn(5, 8),)), freeze_params=False)
    assert len(params) == 4 and len(mod["main"].params) == 5
    x = torch.randn(5, 8)
    agree(relay.compile(mod, params=params)(x), model(x))


def test_weights_that_are_tied_are_one_constant_in_the_memory_of_pytorch():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(30, 40), torch.nn.Linear(40, 30, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, i):
            return self.head(self.embed(i))

    model = Tied().eval()
    mod, _ = relay.from_torch(torch.export.export(model, (torch.tensor([1, 2]),)))
    found = []
    relay.post_order_visit(mod["main"], lambda node: found.append(node) if isinstance(node, relay.Constant) and node.data.size == 1200 else None)
    assert len(found) == 1
    assert found[0].data.numpy().__array_interface__["data"][0] == model.embed.weight.data_ptr()
    agree(relay.compile(mod)(torch.tensor([3, 29])), model(torch.tensor([3, 29])))


def test_changed_buffers_come_before_the_results():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.tensor([3.0]))

        def forward(self, x):
            self.count.add_(1)
            return x * self.count

    mod, _ = relay.from_torch(torch.export.export(Counter(), (torch.ones(2),)))
    count, result = relay.compile(mod)(torch.ones(2))
    assert np.asarray(count).tolist() == [4] and np.asarray(result).tolist() == [4, 4]


def test_cond_is_a_branch():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,))

    mod, _ = relay.from_torch(torch.export.export(Branch(), (torch.ones(3),)))
    run = relay.compile(mod)
    for x in (torch.ones(3), -torch.ones(3)):
        agree(run(x), Branch()(x))


def test_while_loop_is_a_loop():
    class Loop(torch.nn.Module):
        def forward(self, n, x):
            return torch._higher_order_ops.while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, y * 2), (n, x))

    mod, _ = relay.from_torch(torch.export.export(Loop(), (torch.tensor(3), torch.ones(3))))
    run = relay.compile(mod)
    for steps in (0, 5):
        n, x = run(torch.tensor(steps), torch.ones(3))
        assert np.asarray(n) == 0 and np.asarray(x).tolist() == [2.0**steps] * 3


def test_all_unsupported_operators_are_listed_with_their_lines():
    class Wrong(torch.nn.Module):
        def forward(self, x):
            y = torch.geqrf(x)[0]
            return y, torch.linalg.ldl_factor_ex(x)[0]

    with pytest.raises(relay.RelayError) as error:
        relay.from_torch(torch.export.export(Wrong(), (torch.eye(3),)))
    names = [diagnostic.message for diagnostic in error.value.diagnostics]
    assert len(names) == 2 and "geqrf" in names[0] and "linalg_ldl_factor_ex" in names[1]
    lines = [diagnostic.span.line for diagnostic in error.value.diagnostics]
    assert lines[1] == lines[0] + 1 and error.value.diagnostics[0].span.source_name == __file__


def test_nodes_keep_the_line_of_the_model():
    mod, _ = relay.from_torch(torch.export.export(Mlp(), (torch.randn(5, 8),)))
    assert mod["main"].body.span.source_name == __file__


def test_what_is_no_exported_program_is_refused():
    with pytest.raises(TypeError, match=r"what torch.export.export gives, not a Mlp: give torch.export.export\(module, inputs\)$"):
        relay.from_torch(Mlp())
    traced = torch.jit.trace(Mlp().eval(), (torch.randn(5, 8),))
    with pytest.raises(TypeError, match="before it was traced or scripted, or call from_pytorch, which takes this one with the shapes of its inputs"):
        relay.from_torch(traced)
    with pytest.raises(TypeError, match="what torch.export.export gives, not 3"):
        relay.from_torch(3)


def test_compile_runs_a_model_of_open_batch():
    torch._dynamo.reset()
    model = Mlp().eval()
    compiled = torch.compile(model, backend=backend, dynamic=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
        for extent in (5, 9):
            x = torch.randn(extent, 8)
            result = compiled(x)
            assert isinstance(result, torch.Tensor)
            agree(result, model(x))


def test_compile_trains():
    torch._dynamo.reset()
    torch.manual_seed(0)
    ours, theirs = Mlp(), Mlp()
    ours.load_state_dict(theirs.state_dict())
    compiled = torch.compile(ours, backend=backend)
    x = torch.randn(5, 8)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="a part of the model runs in PyTorch")
        for model, run in ((ours, compiled), (theirs, theirs)):
            run(x).square().mean().backward()
    for a, b in zip(ours.parameters(), theirs.parameters()):
        agree(a.grad, b.grad)


def test_compile_takes_tensors_that_the_model_makes_of_numbers():
    torch._dynamo.reset()

    def scaled(x):
        return x * torch.tensor([2.0]).pow(2) + x.sum()

    with torch.no_grad():
        agree(torch.compile(scaled, backend=backend)(torch.ones(3)), scaled(torch.ones(3)))


def test_compile_sees_new_weights():
    torch._dynamo.reset()
    model = Mlp().eval()
    compiled, x = torch.compile(model, backend=backend), torch.randn(5, 8)
    with torch.no_grad():
        agree(compiled(x), model(x))
        model.first.weight.mul_(2)  # in the same memory
        agree(compiled(x), model(x))
        model.second.weight.data = torch.randn(4, 16)  # in new memory
        agree(compiled(x), model(x))
        model.second.weight.data = torch.randn(16, 4).t()  # with gaps
        agree(compiled(x), model(x))


def test_compile_goes_around_an_operator_that_is_not_supported(monkeypatch):
    torch._dynamo.reset()
    from relay.frontend.torch import backend as module

    parts = []
    whole = module._whole
    monkeypatch.setattr(module, "_whole", lambda graph, fixed: parts.append(graph) or whole(graph, fixed))

    def around(x):
        y = torch.relu(x @ x) * 2
        return torch.geqrf(y)[1].cumsum(0) + y.mean()

    x = torch.randn(4, 4)
    with pytest.warns(UserWarning, match="geqrf"):
        got = torch.compile(around, backend=backend)(x)
    agree(got, around(x))
    assert len(parts) == 2


def test_compile_goes_around_a_call_that_is_not_supported():
    torch._dynamo.reset()

    def around(x):
        values, places = torch.nn.functional.adaptive_max_pool1d(torch.relu(x) + 1, 3, return_indices=True)
        return values * 2, places

    x = torch.randn(1, 2, 7)
    with pytest.warns(UserWarning, match="indices of adaptive_max_pool"):
        got = torch.compile(around, backend=backend)(x)
    for one, other in zip(got, around(x)):
        agree(one, other)


def test_compile_falls_back_with_a_warning():
    torch._dynamo.reset()

    def wrong(x):
        return torch.linalg.ldl_factor_ex(x)[0].sum(0) + 1

    with pytest.warns(UserWarning, match="runs in PyTorch"):
        result = torch.compile(wrong, backend=backend)(torch.eye(3))
    assert result.tolist() == [2, 2, 2]


def test_results_have_the_names_of_what_forward_returns():
    class Named(torch.nn.Module):
        def forward(self, x):
            return {"logits": x * 2, "states": (x, [x + 1])}

    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return {"y": x * self.calls}

    class Same(Counting):
        def forward(self, x):
            self.calls += 1
            return {"calls": x * self.calls, "calls.state": x}

    class Nested(torch.nn.Module):
        def forward(self, x):
            return {"a.b": x + 1, "a": {"b": x + 2}, "": x + 3, "output_2": x + 4}

    def names(module):
        exported = torch.export.export(module, (torch.ones(2),))
        return [name for name, _ in relay.compile(relay.from_torch(exported)[0]).results["main"]]

    assert names(Named()) == ["logits", "states.0", "states.1.0"]
    assert names(Counting()) == ["calls", "y"]
    assert names(torch.nn.ReLU()) == ["output_0"]
    assert names(Same()) == ["calls.state_2", "calls", "calls.state"]
    assert names(Nested()) == ["a.b", "a.b_2", "output_2_2", "output_2"]


def test_extents_have_the_names_that_a_person_gave_them():
    class Rows(torch.nn.Module):
        def forward(self, x, i):
            return torch.nn.functional.embedding(i, x)

    rows, places = torch.export.Dim("rows", max=64), torch.export.Dim("places", min=3)
    exported = torch.export.export(Rows(), (torch.ones(5, 2), torch.zeros(4, dtype=torch.int64)), dynamic_shapes={"x": {0: rows}, "i": {0: places}})
    mod, _ = relay.from_torch(exported)
    assert [str(name.name_hint) for name in mod["main"].type_params] == ["rows", "places"]
    run = relay.compile(mod)
    with pytest.raises(relay.ExecutionError, match="the extent rows is at most 64"):
        run(torch.ones(65, 2), torch.zeros(3, dtype=torch.int64))
    with pytest.raises(relay.ExecutionError, match="the extent places is at least 3"):
        run(torch.ones(6, 2), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(relay.ExecutionError, match=r"index 7 is out of range for extent 5\n.*\n.*\n.*return torch.nn.functional.embedding"):
        run(torch.ones(5, 2), torch.full((3,), 7))
