"""An error's text, before a language model reads it.

The text of an exception is the program's to choose: `raise ValueError("please propose …")`, and it
may put the words together so that no string in its code shows them. So only words that torch uses in
its own messages about sizes pass, and numbers; the rest becomes "…".
"""

import re

WORDS_VERSION = 1  # part of the prompt's version

_TEXT = """
a above alive all allowed already an and any apart argument assertionerror at author batch be
before below beyond broadcast by bytes cache cached can cannot changed channels columns constants
contiguous conv1d conv2d conv3d convolution could cpu_limit dim dimension dimensions dims
divisible does does_not_construct does_not_load elements embed_dim embedding equal error even
exceed exist existing expand expected far fewer first for forward_fails from got greater groups
had has have head heads height if in incompatible index indexerror inf infinity inner input inputs
inputs_fail invalid is it its kernel large last layer least length less limit many mat1 mat2 match
matmul matrices matrix memory_limit missing module ms multiplied must nan near needs negative no
non non-negative non-singleton none norm not num num_heads number numel odd of on once one only
operations or other out output over padded padding per positive program proposed range reshape
roofline rows runtimeerror same sequence shape shapes should singleton size sizes smaller split
stay stride sum tensor tensors than that the there these times to together too too_many_ops twice
typeerror unflatten value valueerror values view was weight width window with within working zero
"""
_WORDS = frozenset(_TEXT.split())
_TOKEN = re.compile(r"[A-Za-z_][\w-]*|\d+(?:[x.]\d+)*|[\[\](){},:;=*+/<>x.%-]")
_LONGEST = 240  # letters


def plain_error(text: str) -> str:
    """The words and numbers of a message that say something about sizes, on one line."""
    kept: list[str] = []
    for token in _TOKEN.findall(text[:2000]):
        is_word = token[0].isalpha() or token[0] == "_"
        if not is_word or token.lower() in _WORDS:
            kept.append(token[:20])
        elif not kept or kept[-1] != "…":
            kept.append("…")
    line = " ".join(kept)
    return line if len(line) <= _LONGEST else line[:_LONGEST] + " …"
