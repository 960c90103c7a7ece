"""What the worker does to a program inside the sandbox. Standard library, torch, pipeline.tracing."""
