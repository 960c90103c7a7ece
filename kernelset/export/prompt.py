"""Prompts from a template file. Its variables are the facts of kernelset/export/facts.py."""

from pathlib import Path
from typing import Any

import jinja2

from pipeline.errors import UsageError

DEFAULT = Path(__file__).with_name("prompt.md.j2")


class Prompt:
    """A template, read once.

    Raises:
        UsageError: the file is missing, or not a jinja2 template.
    """

    def __init__(self, path: Path = DEFAULT) -> None:
        self.path = path
        environment = jinja2.Environment(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # text for a model, not HTML
        )
        try:
            self.text = path.read_text(encoding="utf-8")
            self._template = environment.from_string(self.text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: no template can be read there ({error})") from error
        except jinja2.TemplateSyntaxError as error:
            raise UsageError(f"{path}, line {error.lineno}: {error.message}") from error

    def of(self, facts: dict[str, Any]) -> str:
        """The prompt for a problem.

        Raises:
            UsageError: the template asks for something that the facts don't have.
        """
        try:
            return self._template.render(facts).strip() + "\n"
        except jinja2.TemplateError as error:
            known = ", ".join(facts)
            raise UsageError(f"{self.path}: {error.message}; there are: {known}") from error
