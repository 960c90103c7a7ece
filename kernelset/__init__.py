"""kernelset as a library: a release as a sequence of typed problems.

    import kernelset

    problems = kernelset.load(level="L2-L5")
    problem = problems[0]
    reference = problem.model()(*problem.inputs(seed=1))
    problem.matches(output, reference)
    problem.reward(seconds=0.0031, correct=True, device="H200")

`load` reads no code and imports no torch. `Problem.model`, `.inputs` and `.init_inputs` **execute
the row's program in your process**: see `kernelset.problem`.
"""

from kernelset.baseline import Baseline
from kernelset.errors import MissingBaseline, ReleaseError, UnknownShape
from kernelset.problem import Problem
from kernelset.problems import Problems, load
from kernelset.shape import Shape

__all__ = [
    "Baseline",
    "MissingBaseline",
    "Problem",
    "Problems",
    "ReleaseError",
    "Shape",
    "UnknownShape",
    "load",
]
