"""What function passes make is typed; an ill-typed result is an error of the pass; what nothing changed is the same module."""
import pytest

import tvm
from tvm import relay


def module():
    x = relay.var("x", shape=(2, 3))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))


@relay.transform.function_pass(opt_level=1, required=["InferType"])
def exponential(func, mod, ctx):
    return relay.Function(func.params, relay.exp(func.body))


@relay.transform.function_pass(opt_level=1)
class Again:
    def transform_function(self, func, mod, ctx):
        return relay.Function(func.params, func.body, func.ret_type, func.type_params, func.attrs)


def test_results_are_typed():
    wanted = relay.TensorType((2, 3), "float32")
    for made in (exponential(module()), tvm.transform.Sequential([exponential])(module())):
        assert made["main"].body.checked_type == wanted and made["main"].checked_type.ret_type == wanted
    assert isinstance(exponential, relay.transform.FunctionPass) and not isinstance(exponential, tvm.transform.ModulePass)
    assert relay.transform.ToMixedPrecision("float16")(module())["main"].body.checked_type.dtype == "float16"


def test_what_nothing_changed_is_the_same():
    mod = module()
    assert Again()(mod) is mod
    marked = mod.copy()
    marked["main"] = mod["main"].with_attr("SkipOptimization", 1)
    marked = relay.transform.InferType()(marked)
    assert exponential(marked) is marked


def test_an_ill_typed_result_names_the_pass():
    @relay.transform.function_pass(opt_level=1)
    def wrong(func, mod, ctx):
        return relay.Function(func.params, relay.add(func.body, relay.const([1.0, 2.0, 3.0, 4.0, 5.0])))

    with pytest.raises(tvm.TVMError, match=r"do not broadcast(.|\n)*in pass wrong"):
        wrong(module())


def test_what_is_no_function():
    three = relay.transform.function_pass(lambda func, mod, ctx: 3, opt_level=1, name="three")
    with pytest.raises(TypeError, match="function pass three gave int, not a Function, on @main"):
        three(module())


if __name__ == "__main__":
    pytest.main([__file__])
