"""What a program computes, seen from inside: its calls, their cost and a shape-blind fingerprint.

Everything here runs inside the sandbox, next to crawled code: it imports the standard library and
torch only. Two stages' workers use it (`stages/validate/worker.py`, `stages/shapes/worker.py`).

- `program`: load a program's text, construct its Model, draw its inputs
- `tape`: record the ATen calls of one forward; play them again with one value changed
- `ops`: what kind of thing each ATen operation is
- `cost`: FLOPs, bytes and live memory of a tape
- `graph`: the fingerprint
"""
