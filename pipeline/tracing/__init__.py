"""What a program computes, seen from inside: its calls, their cost and a shape-blind fingerprint.

All but `ask` and `bundle` runs inside the sandbox, next to crawled code, and imports the standard
library and torch only.

- `ask`: the caller's side, `trace(code)`
- `bundle`: a worker and the packages it imports, as one file for the sandbox
- `worker`: answers `ask`; `stages/validate/worker.py` is another that builds on this room

- `program`: load a program's text, construct its Model, draw its inputs
- `tape`: record the ATen calls of one forward; play them again with one value changed
- `ops`: what kind of thing each ATen operation is
- `record`: one forward on a tape, of real or fake tensors
- `facts`: what later stages want to know of a tape
- `cost`: FLOPs, bytes and live memory of a tape
- `graph`: the fingerprint
"""
