"""Leaves a module, a patch and files for the next program, some of them unremovable."""

import os
import sys
import types


def run():
    sys.modules["left_behind"] = types.ModuleType("left_behind")
    torch.left_behind = True
    os.makedirs("locked/inner")
    open("locked/inner/file", "w").close()
    os.symlink("/etc", "locked/link")
    os.chmod("locked/inner", 0)
    os.chmod("locked", 0)
    with open("torch.py", "w") as file:
        file.write("left_behind = True")
    return "contained"
