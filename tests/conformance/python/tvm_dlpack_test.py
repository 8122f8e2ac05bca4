"""Arrays of other packages through DLPack: whose memory is written, and whose is not."""

import numpy as np
import pytest
import relay as native
import tvm
from tvm import relay
from tvm.contrib.graph_executor import GraphModule


class Forwarding:
    """An array that asks another one for all, versions and flags too."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Older(Forwarding):
    """One that knows no versions."""

    def __dlpack__(self):
        return self.array.__dlpack__()


def test_memory_that_is_read_only_is_not_written():
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    for given in (fixed, Forwarding(fixed)):
        made = tvm.nd.from_dlpack(given)
        with pytest.raises(ValueError, match="cannot be written"):
            made.copyfrom(np.full(3, 9.0))
        # Nor by way of a second array, or of the other package.
        for again in (made, Forwarding(made)):
            with pytest.raises(ValueError, match="cannot be written"):
                tvm.nd.from_dlpack(again)[:] = np.full(3, 9.0)
        assert not np.from_dlpack(made).flags.writeable
        tvm.nd.from_dlpack(made.to_dlpack())[:] = np.full(3, 9.0)
    assert fixed.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cannot be written"):
        tvm.nd.numpyasarray(fixed).copyfrom(np.full(3, 9.0))


def test_memory_that_only_numpy_says_is_read_only_is_not_written():
    class Immutable(Older):
        """An array of a package whose DLPack has no word for read-only."""

        def __array__(self, dtype=None, copy=None):
            seen = self.array.view()
            seen.flags.writeable = False
            return seen

    class Unseen(Older):
        """One of elements that NumPy does not have."""

        def __array__(self, dtype=None, copy=None):
            raise TypeError("no such dtype")

    memory = np.arange(3.0)
    with pytest.raises(ValueError, match="cannot be written"):
        tvm.nd.from_dlpack(Immutable(memory)).copyfrom(np.full(3, 9.0))
    assert memory.tolist() == [0, 1, 2] and tvm.nd.from_dlpack(Immutable(memory)).numpy().tolist() == [0, 1, 2]
    tvm.nd.from_dlpack(Unseen(memory)).copyfrom(np.full(3, 9.0))
    assert memory.tolist() == [9, 9, 9]


def test_an_element_that_is_several_is_not_written():
    one = np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))
    for given in (one, Forwarding(one)):
        made = tvm.nd.from_dlpack(given)
        with pytest.raises(ValueError, match="cannot be written"):
            made[:] = np.zeros(3)
        assert made.numpy().tolist() == [1, 1, 1]


def test_constants_of_a_program_are_not_written():
    program = native.compile(native.parse("def @main(%x: Tensor[(3), float32]) { (%x, Constant([1,2,3],(3),float32)) }"))
    given = program(np.zeros(3, "float32"))[1]
    with pytest.raises(ValueError, match="cannot be written"):
        tvm.nd.from_dlpack(Forwarding(given)).copyfrom(np.full(3, 9, "float32"))
    assert np.asarray(program(np.zeros(3, "float32"))[1]).tolist() == [1, 2, 3]


def test_memory_that_may_be_written_is_shared():
    for wrap in (lambda a: a, Forwarding, Older, lambda a: a.__dlpack__(), lambda a: a.__dlpack__(max_version=(1, 0))):
        foreign = np.arange(12.0).reshape(3, 4)[:, ::2]
        made = tvm.nd.from_dlpack(wrap(foreign))
        made[:] = np.full((3, 2), 7.0)
        assert foreign.tolist() == [[7, 7]] * 3
        foreign[0, 0] = 5
        assert made.numpy()[0, 0] == 5 and np.asarray(made)[0, 0] == 5


def test_an_array_is_given_to_several():
    own = tvm.nd.array(np.zeros(3, "float32"))
    shared = [tvm.nd.from_dlpack(own.to_dlpack()), tvm.nd.from_dlpack(own.to_dlpack()), np.from_dlpack(own), tvm.nd.from_dlpack(Forwarding(own))]
    own[:] = np.arange(3, dtype="float32")
    for each in shared:
        assert np.array_equal(np.asarray(each), [0, 1, 2])
    assert type(own.to_dlpack()).__name__ == "PyCapsule"


def test_bfloat16_is_written():
    kind = pytest.importorskip("ml_dtypes").bfloat16
    foreign = tvm.nd.array(np.ones(3, kind))
    for made in (tvm.nd.from_dlpack(Forwarding(foreign)), tvm.nd.from_dlpack(foreign.to_dlpack())):
        made[:] = np.full(3, 4, kind)
        assert made.dtype == "bfloat16" and made.numpy().tolist() == foreign.numpy().tolist() == np.asarray(foreign).tolist() == [4, 4, 4]
        foreign[:] = np.ones(3, kind)


def test_what_is_not_shared():
    odd = np.zeros(33, "uint8")[1:].view("float32")
    big = np.zeros(8, ">f4")
    for given in (odd, big):
        for take in (tvm.nd.from_dlpack, tvm.nd.numpyasarray):
            with pytest.raises(TypeError, match="another order of bytes, or at odd addresses"):
                take(given)
    with pytest.raises(TypeError, match="not at multiples of their size"):
        tvm.nd.from_dlpack(Forwarding(odd))
    with pytest.raises(TypeError, match="its __dlpack__ raised BufferError"):
        tvm.nd.from_dlpack(Forwarding(big))
    with pytest.raises(TypeError, match="does not speak DLPack"):
        tvm.nd.from_dlpack([1, 2])
    taken = np.zeros(3).__dlpack__()
    tvm.nd.from_dlpack(taken)
    with pytest.raises(TypeError, match="taken already"):
        tvm.nd.from_dlpack(taken)

    class Wrong:
        """One that gives no capsule."""

        def __dlpack__(self, **options):
            return 3

    with pytest.raises(TypeError, match="gave 3, which is not a capsule"):
        tvm.nd.from_dlpack(Wrong())


def test_copies_of_other_orders_of_bytes_are_arrays_as_others():
    own = tvm.nd.array(np.zeros(8, ">f4"))
    own[:] = np.full(8, 5, "float32")
    x = relay.var("x", shape=(8,))
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0)))).evaluate()
    assert own.numpy().tolist() == [5] * 8 and run(own).numpy().tolist() == [6] * 8


@pytest.mark.parametrize("how", ["params", "const", "executor", "machine"])
def test_programs_keep_the_values_that_they_were_built_with(how):
    foreign = np.array([1, 2, 3], "float32")
    weight = tvm.nd.from_dlpack(foreign)
    x, w = relay.var("x", shape=(3,)), relay.var("w", shape=(3,))
    zeros = np.zeros(3, "float32")
    if how == "const":
        body = relay.Function([x], relay.Tuple([x + relay.const(weight), relay.exp(relay.const(weight)) + x]))
    else:
        body = relay.Function([x, w], relay.Tuple([x + w, relay.exp(w) + x]))
    mod = tvm.IRModule.from_expr(body)
    if how in ("params", "const"):
        module = GraphModule(relay.build(mod, "llvm", params={"w": weight} if how == "params" else None)["default"](tvm.cpu()))

        def run():
            module.run(x=zeros)
            return [module.get_output(at).numpy().tolist() for at in (0, 1)]

    elif how == "machine":
        machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm", params={"w": weight}), tvm.cpu())

        def run():
            return [each.numpy().tolist() for each in machine.invoke("main", zeros)]

    else:
        evaluate = relay.create_executor("graph", mod, params={"w": weight}).evaluate()

        def run():
            return [each.numpy().tolist() for each in evaluate(zeros)]

    before = run()
    weight[:] = np.zeros(3, "float32")
    foreign.fill(9)
    assert run() == before and before[0] == [1, 2, 3]
