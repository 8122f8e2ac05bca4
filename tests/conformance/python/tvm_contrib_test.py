"""`tvm.contrib`: compilers, archives, kept results and names of files."""

import ctypes
import os
import shutil
import tarfile

import numpy as np
import pytest
from tvm.contrib import cc, pickle_memoize, tar, utils

CALLS = []
compiler = pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler")


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "seven.c"
    file.write_text("int seven() { return SEVEN; }\n")
    return str(file)


def test_names_of_files(tmp_path):
    file = tmp_path / "plain"
    file.write_text("")
    assert utils.is_source_path("kernel.cc") and utils.is_source_path(str(file))
    assert not utils.is_source_path("int a;\nint b.c") and not utils.is_source_path("int main() { return 1. }") and not utils.is_source_path("word")
    assert utils.which("sh") == shutil.which("sh") and utils.which("no-such-command") is None


@compiler
def test_shared_library(source, tmp_path):
    made = str(tmp_path / "seven.so")
    cc.create_shared(made, source, ["-DSEVEN=7"], cc="gcc" if shutil.which("gcc") else cc.get_cc())
    assert os.path.exists(made)
    assert cc.create_shared.output_format == "so" and isinstance(cc.create_shared.get_target_triple(), str)


@compiler
def test_compiler_of_c(tmp_path, monkeypatch):
    file = tmp_path / "answer.c"
    file.write_text('extern "C" int answer() { return ANSWER; }\nint main() { return ANSWER; }\n')
    monkeypatch.setenv("CXX", cc.get_cc())
    made = str(tmp_path / "answer.so")
    build = cc.cross_compiler(cc.get_cc(), ["-DANSWER=5", "-x", "c++"], add_files=[])
    assert build.output_format == "so" and build.get_target_triple() == cc.get_target_by_dump_machine(cc.get_cc())()
    with pytest.raises(RuntimeError, match=f"making {made} failed: .* ended with"):
        build(made, [str(tmp_path / "absent.c")])
    plain = tmp_path / "plain.cpp"
    plain.write_text(file.read_text())
    cc.cross_compiler(cc.create_shared, ["-DANSWER=5"])(made, [str(plain)])
    assert ctypes.CDLL(made).answer() == 5
    command = str(tmp_path / "answer")
    cc.create_executable(command, [str(plain)], ["-DANSWER=0"])
    assert os.access(command, os.X_OK)
    with pytest.raises(RuntimeError, match="no-such-compiler does not run"):
        cc.create_shared(made, [str(plain)], cc="no-such-compiler")
    assert cc.get_target_by_dump_machine("no-such-compiler")() is None


def test_no_compiler(tmp_path, monkeypatch):
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cc.get_cc() is None
    with pytest.raises(RuntimeError, match="there is no compiler to make out.so"):
        cc.create_shared("out.so", ["a.c"])


@compiler
@pytest.mark.skipif(shutil.which("ar") is None, reason="no command ar")
def test_archives_of_objects(tmp_path):
    file = tmp_path / "unit.c"
    file.write_text("int unit() { return 1; }\n")
    unit = str(tmp_path / "unit.o")
    cc.create_executable(unit, [str(file)], ["-c"])
    packed = str(tmp_path / "units.tar")
    tar.tar(packed, [unit])
    cc.create_staticlib(str(tmp_path / "libunit.a"), [packed, unit])
    assert (tmp_path / "libunit.a").read_bytes().startswith(b"!<arch>")


def test_tar(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.txt").write_text("b")
    packed = tmp_path / "x.tar"
    tar.tar(packed, [tmp_path / "a.txt", tmp_path / "inner"])
    tar.untar(packed, tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "a" and (tmp_path / "out" / "inner" / "a.txt").read_text() == "b"
    with utils.tempdir() as folder:
        files = tar.normalize_file_list_by_unpacking_tars(folder, ["plain.o", packed, packed])
        assert files[0] == "plain.o" and len(set(files)) == 5 and all(os.path.exists(file) for file in files[1:])
    assert tar.tar.output_format == "tar"
    with pytest.raises(ValueError, match="two of the files are called a.txt"):
        tar.tar(packed, [tmp_path / "a.txt", tmp_path / "inner" / "a.txt"])


@pytest.mark.parametrize("old_python", [False, True])
def test_tar_stays_inside(tmp_path, monkeypatch, old_python):
    if old_python:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    bad = tmp_path / "bad.tar"
    (tmp_path / "a.txt").write_text("a")
    with tarfile.open(bad, "w") as archive:
        archive.add(tmp_path / "a.txt", "../escaped.txt")
    with pytest.raises(tarfile.TarError):
        tar.untar(bad, tmp_path / "deep" / "out")
    assert not (tmp_path / "deep" / "escaped.txt").exists()


def test_kept_results(tmp_path, monkeypatch):
    monkeypatch.setenv("TVM_PICKLE_MEMOIZE_DIR", str(tmp_path / "kept"))
    CALLS.clear()
    factor = 3

    @pickle_memoize.memoize("contrib_test.kept", save_at_exit=False)
    def slow(size, scale=1):
        CALLS.append(size)
        return np.full(size, scale * factor)

    assert slow(2).tolist() == [3, 3] == slow(2).tolist() and slow(2, scale=2).tolist() == [6, 6]
    assert CALLS == [2, 2]
    cache = pickle_memoize.Cache.cache_by_key.pop("contrib_test.kept.slow.pkl")
    assert cache.dirty
    cache.save()
    assert not cache.dirty and pickle_memoize.Cache("contrib_test.kept.slow.pkl", False).cache.keys() == cache.cache.keys()
    (tmp_path / "kept" / "contrib_test.kept.slow.pkl").write_bytes(b"no pickle")
    assert pickle_memoize.Cache("contrib_test.kept.slow.pkl", False).cache == {}
