"""Language models as Relay programs: `relay.llm.load` takes a GGUF file or a folder of Hugging Face.

    model = relay.llm.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(model.generate("The capital of France is", max_tokens=32))

Needs the packages of the extra `relay-lang[llm]`: gguf, tokenizers and, for conversations, jinja2.
"""

from .config import Config, UnsupportedModel
from .model import Conversation, Generation, LanguageModel, load

__all__ = ["Config", "Conversation", "Generation", "LanguageModel", "UnsupportedModel", "load"]
