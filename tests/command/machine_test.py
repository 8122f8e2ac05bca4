"""`relay machine`: the facts about the processor that plans of kernels are made by."""

import json
import os
import subprocess

import pytest

RELAY = os.environ["RELAY_BIN"]


def machine(*arguments, **environment):
    done = subprocess.run([RELAY, "machine", *arguments], env=dict(os.environ, **environment), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_facts_as_json():
    facts = json.loads(machine("--format", "json"))
    assert facts["target"] in ("baseline", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "avx512-amx", "aarch64")
    assert facts["vector_bytes"] in (16, 32, 64)
    assert facts["vector_registers"] == (32 if facts["vector_bytes"] == 64 or facts["target"] == "aarch64" else 16)
    assert 0 < facts["line_bytes"] <= facts["first_cache_bytes"] <= facts["second_cache_bytes"] <= facts["last_cache_bytes"]
    assert facts["processors"] >= 1


def test_instructions_that_are_taken_away():
    facts = json.loads(machine("--format", "json", RELAY_CPU_WITHOUT="avx512f,avxvnni"))
    assert facts["target"] in ("avx2", "baseline")
    facts = json.loads(machine("--format", "json", RELAY_CPU_WITHOUT="avx"))
    assert (facts["target"], facts["vector_bytes"]) == ("baseline", 16)


def test_text_has_a_line_for_each_fact():
    facts = json.loads(machine("--format", "json"))
    lines = machine().splitlines()
    assert len(lines) == len(facts)
    assert lines[0].split() == ["target", facts["target"]]


@pytest.mark.parametrize("key", ["float32_gflops", "bfloat16_gflops", "int8_gops", "memory_gb_per_s", "second_cache_gb_per_s", "vector_steps_per_ns",
                                 "vector_functions_per_ns", "launch_ns"])
def test_measured_figures(key, measured=[]):
    if not measured:
        measured.append(json.loads(machine("--measure", "--format", "json")))
    assert measured[0][key] > 0


def relay(*arguments, **environment):
    return subprocess.run([RELAY, *map(str, arguments)], env=dict(os.environ, **environment), capture_output=True, text=True)


PROGRAM = """def @main(%x: Tensor[(?, 96), float32], %w: Tensor[(96, 80), float32]) {
  nn.relu(nn.matmul(%x, %w))
}
"""


def test_a_file_that_describes_this_machine_is_a_target(tmp_path):
    program, described = tmp_path / "p.rly", tmp_path / "here.json"
    program.write_text(PROGRAM)
    described.write_text(machine("--format", "json"))
    here, there = tmp_path / "here.rlx", tmp_path / "there.rlx"
    assert relay("compile", program, "-o", here).returncode == 0
    assert relay("compile", program, "-o", there, "--target", described).returncode == 0
    assert here.read_bytes() == there.read_bytes()
    described.write_text('{"target": "avx2", "second_cache_byte": 1048576}')
    done = relay("compile", program, "-o", there, "--target", described)
    assert done.returncode == 1 and "there is no fact 'second_cache_byte'; did you mean second_cache_bytes?" in done.stderr
    done = relay("compile", program, "-o", there, "--target", tmp_path / "absent.json")
    assert done.returncode == 1 and "cannot read" in done.stderr
    done = relay("compile", program, "-o", there, "--target", "toaster")
    assert done.returncode == 2


def test_tuning_keeps_what_it_finds(tmp_path):
    program, model = tmp_path / "p.rly", tmp_path / "p.rlx"
    program.write_text(PROGRAM)
    here = {"RELAY_CACHE_DIR": str(tmp_path / "cache")}
    done = relay("tune", program, "-o", model, "--threads", 1, "--seconds", 20, "--arg", "x=random(256, 96)", **here)
    assert done.returncode == 0, done.stderr
    assert "made up small" not in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("made up: %w")
    assert lines[1].startswith("@main: ") and " of 1 measured kernels have other sizes" in lines[1]
    kept = (tmp_path / "cache" / "tuned").read_text().splitlines()
    assert kept[0].startswith("relay tuned kernels ")
    assert len(kept) - 1 == len(lines) - 2
    assert relay("bench", model, "--runs", 3).returncode == 0


def test_tuning_finds_out_first_what_cannot_be_written(tmp_path):
    program = tmp_path / "p.rly"
    program.write_text(PROGRAM)
    done = relay("tune", program, RELAY_CACHE_DIR="/proc/none")
    assert done.returncode == 1 and "/proc/none" in done.stderr and done.stdout == ""
    done = relay("tune", program, "-o", tmp_path / "absent" / "p.rlx", RELAY_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 1 and "absent" in done.stderr and done.stdout == ""
    done = relay("tune", program, "--seconds", 0.1, RELAY_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0 and "extents that the program leaves open are made up small" in done.stderr


def test_what_cannot_be_tuned(tmp_path):
    program, model = tmp_path / "p.rly", tmp_path / "p.rlx"
    program.write_text(PROGRAM)
    assert relay("compile", program, "-o", model).returncode == 0
    done = relay("tune", model)
    assert done.returncode == 2 and "is compiled already; give the program or the model that it was made of" in done.stderr
    done = relay("tune", program, "-o", program)
    assert done.returncode != 0 and program.read_text() == PROGRAM
    elsewhere = "aarch64" if json.loads(machine("--format", "json"))["target"] != "aarch64" else "avx2"
    done = relay("tune", program, "--target", elsewhere)
    assert done.returncode == 1 and f"this machine does not run code for the target '{elsewhere}', so nothing can be measured" in done.stderr


@pytest.mark.parametrize(
    "kept, wanted",
    [
        # Each once measured: as it should be; two threads that do much more than twice what one does; memory faster than the second cache.
        ("3 5 0.2 100 80 30  6 10 0.4 200 160 40  30 0  1", 2),
        ("3 5 0.2 100 80 30  6 2717 0.4 200 160 40  30 0  1", 1),
        ("3 5 0.2 10 80 300  6 10 0.4 20 160 600  30 0  1", 1),
    ],
)
def test_figures_that_do_not_go_together_are_measured_anew(tmp_path, kept, wanted):
    program = tmp_path / "p.rly"
    program.write_text("def @main(%x: Tensor[(64, 64), float32]) { nn.dense(%x, %x) }")
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "machine-2").write_text(kept)
    here = dict(os.environ, RELAY_CACHE_DIR=str(cache))
    done = subprocess.run([RELAY, "bench", program, "--runs", "3", "--threads", "2", "--profile"], env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = [float(word) for word in (cache / "machine-2").read_text().split()]
    # The last is how often it was measured: what does not go together does not count.
    assert len(figures) == 15 and figures[-1] == wanted
