"""Copies that a language model writes: what a scraped or synthetic set is most likely to hold."""

import ast
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, Field

from pipeline.llm import Answer, Question, ask
from pipeline.llm.question import Message
from pipeline.llm.settings import LlmSettings
from pipeline.stage import Workplace

PROMPT_VERSION = "p1"
_TASK = """You rewrite PyTorch programs. Write the program that you are given in another way: other \
names, other structure, other calls where PyTorch has several. It must compute exactly the same from \
the same inputs. Keep the class name Model and the functions get_inputs and get_init_inputs."""


class Rewritten(BaseModel):
    """The model's answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(description="the whole program, nothing else")


def paraphraser(settings: LlmSettings, place: Workplace) -> Callable[[str], str | None]:
    """A function that gives a program in a model's words, or None where no usable answer came.

    An answer counts only if it is Python with a class `Model`; whether it really computes the same
    nobody checks, so read the copies that are missed before blaming a tier.

    Raises (the function, not this one):
        EndpointError: no question can be answered until the user changes something.
    """

    def rewritten(code: str) -> str | None:
        question = Question(
            (Message("system", _TASK), Message("user", code)), Rewritten, PROMPT_VERSION
        )
        (answer,) = ask([question], settings, place)
        if not isinstance(answer, Answer):
            return None
        assert isinstance(answer.value, Rewritten)
        return answer.value.code if _has_model(answer.value.code) else None

    return rewritten


def _has_model(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == "Model" for node in tree.body)
