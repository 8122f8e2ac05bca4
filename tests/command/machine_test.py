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
