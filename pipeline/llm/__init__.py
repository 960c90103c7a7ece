"""One room for every question to a language model, on any OpenAI-compatible endpoint.

`ask(questions, settings, place)` gives, for each question, an `Answer` (a reply that was checked
against its schema) or a `Miss` (why there is none). Valid replies are remembered in one SQLite
file, so that a rerun sends nothing; limits, retries and the budget are kept inside.

- `question`: what goes in and comes out
- `settings`: what a recipe may set
- `ask`: many questions at once; interruptible
- `exchange`: one question, until it is answered or given up
- `wire`: one HTTP request by the openai package
- `reply`: from a reply's text to a checked value
- `store`: the SQLite file: replies, spending, submitted batches
- `pace`, `budget`, `outage`, `retry`, `prices`: one rule each
- `batches`: the Batch API
"""

from pipeline.llm.ask import ask
from pipeline.llm.errors import EndpointError
from pipeline.llm.question import Answer, Message, Miss, Question
from pipeline.llm.settings import LlmSettings

__all__ = ["Answer", "EndpointError", "LlmSettings", "Message", "Miss", "Question", "ask"]
