"""Which names hold secrets, and which runs of characters look like one."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

__all__ = ["is_secret_name", "looks_random"]

# Names are compared in lower case, without `_`, `-`, `.` and blanks.
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|userpass|mypwd|otp)s?$"
    r"|secrets?(?:value|string|text)?$"
    r"|(?:api|app|access|secret|private|account|encryption|decryption|signing|ssh|auth|subscription|shared|master"
    r"|service|storage|client|consumer|license|webhook|hmac|aes|rsa|deploy|function|host|admin)key(?:id|value|data|s)?$"
    r"|token(?:secret|value)?$|^auth$|authorization$|cookies?$|credentials?$|creds?$"
    r"|(?:session|sess)(?:id|token|key)$|(?:signature|^sig|xamzcredential)$|bearer$|^apitokens?$|jwt$"
    r"|saskey$|secretkeybase$|connectionstring$|密码$|口令$|密钥$|令牌$|contraseña$"
)
# Words that end like a secret's name and are none: paging, counting, parsing.
_ORDINARY = re.compile(
    r"(?:page|next|prev|previous|sync|continuation|cursor|unexpected|invalid|stop|special|pad|eos|bos|max|min"
    r"|num|per|each|by|this|unknown|end|start|first|last|expected|found|skip|scroll|sort|nextpage|pagination)token$"
    r"|(?:compass|bypass|surpass)$|^(?:the|a)secret$"
)


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Whether a field, header or parameter of this name holds a secret."""
    plain = name.lower().translate(_SEPARATORS)
    return bool(_SECRET_NAME.search(plain)) and not _ORDINARY.search(plain)


_SEPARATORS = str.maketrans("", "", "_-. '\"")


def looks_random(token: str) -> bool:
    """Whether a run of characters is more likely a key than a word: mixed characters and high entropy."""
    has_digit = any(char.isdigit() for char in token)
    has_upper = any(char.isupper() for char in token[1:])
    has_lower = any(char.islower() for char in token)
    if not has_digit and not (has_upper and has_lower):
        return False
    counts = Counter(token[:256])
    size = min(len(token), 256)
    entropy = -sum(n / size * math.log2(n / size) for n in counts.values())
    return entropy >= 2.8
