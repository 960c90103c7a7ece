"""The part of extraction that runs in the sandbox: the standard library and torch, nothing else."""
