"""tvm.contrib: utils, cc, tar, graph_executor helpers, pickle_memoize, download"""
import json
import os
import sys
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import utils, cc, tar, graph_executor, pickle_memoize
from tvm.contrib.download import download, download_testdata


calls = []


def main():
    with utils.TempDirectory() as td:
        p = td.relpath("a.txt")
        with open(p, "w") as f:
            f.write("hello")
        assert td.listdir() == ["a.txt"]
        assert os.path.isdir(td.path) or os.path.isdir(td.temp_dir)
        where = td.temp_dir
    assert not os.path.exists(where)
    d = utils.tempdir()
    with utils.FileLock(d.relpath("lock")) if hasattr(utils, "FileLock") else open(d.relpath("lock"), "w"):
        pass
    assert utils.is_source_path("a.cc") and not utils.is_source_path("int a;\nint b;")
    assert utils.which("sh")

    if cc.get_cc() is None:
        return
    src = d.relpath("m.cc")
    with open(src, "w") as f:
        f.write("extern \"C\" int seven() { return 7; }\n")
    obj, so = d.relpath("m.o"), d.relpath("m.so")
    cc.create_shared(so, [src], options=["-O1"])
    import ctypes

    assert ctypes.CDLL(so).seven() == 7
    assert cc.get_cc()
    assert cc.create_shared.output_format in ("so", "dylib", "dll")
    assert tar.tar.output_format == "tar"
    tar.tar(d.relpath("x.tar"), [src])
    tar.untar(d.relpath("x.tar"), d.relpath("un"))
    assert os.path.exists(os.path.join(d.relpath("un"), "m.cc"))

    # download of a file url that exists already
    q = d.relpath("have.txt")
    open(q, "w").write("x")
    download("http://no.such.host.invalid/have.txt", q, overwrite=False)

    @pickle_memoize.memoize("scripts13.memo", save_at_exit=False)
    def slow(a):
        calls.append(a)
        return np.ones(a)

    assert slow(3).shape == (3,) and slow(3).shape == (3,)
    assert len(calls) <= 1

    # graph executor on a hand-made module
    x = relay.var("x", shape=(2, 2))
    y = relay.var("y", shape=(2, 2))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([x + y, x * y, relay.split(x, 2, 0).astuple()])))
    lib = relay.build(mod, "llvm")
    m = graph_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cpu())
    a, b = np.ones((2, 2), "float32") * 3, np.ones((2, 2), "float32") * 4
    m.set_input(x=a)
    m.set_input("y", b)
    m.run()
    assert m.get_num_outputs() == 4 and m.get_num_inputs() == 2
    np.testing.assert_allclose(m.get_output(1).numpy(), a * b)
    assert m.get_output(2).shape == (1, 2)
    np.testing.assert_allclose(m.get_input("y").numpy(), b)
    assert m.get_input_index("y") == 1 and m.get_input_index("none") == -1
    shape, dtype = m.get_input_info()
    assert tuple(shape["x"]) == (2, 2) and dtype["x"] == "float32"
    out = tvm.nd.empty((2, 2))
    m.get_output(0, out)
    np.testing.assert_allclose(out.numpy(), a + b)
    # zero copy
    na = tvm.nd.array(np.full((2, 2), 10, "float32"))
    m.set_input_zero_copy("x", na)
    m.run()
    np.testing.assert_allclose(m.get_output(0).numpy(), 14)
    j = json.loads(lib.get_graph_json())
    assert set(j) >= {"nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"}
    assert j["attrs"]["dltype"][0] == "list_str" and j["attrs"]["storage_id"][0] == "list_int"
    assert [j["nodes"][i]["name"] for i in j["arg_nodes"]] == ["x", "y"]



if __name__ == "__main__":
    main()
    print("ok")
