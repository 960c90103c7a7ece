"""The version of what graph.py sees as equal. Apart, for planners that must not import torch.

With any change there: a line here, and `kernelset fingerprint` for every benchmark. Stored graphs are
then stale: `validate` traces its rows again, `decontaminate` refuses the old fingerprints.
"""

GRAPH_RULES = 4
# 2: a bias no longer tells two problems apart
# 3: nor does a guard such as `+ eps`; CELU is ELU
# 4: nor does a learned vector that scales or shifts
