"""A module that misbehaves while it is imported, as the environment says."""

from __future__ import annotations

import os
import signal
import threading
import time

HOW = os.environ.get("ODD_IMPORT", "")
if HOW == "thread":
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
if os.environ.get("FAILSOFT_LOADING"):
    if HOW == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if HOW == "hang":
        time.sleep(60)


def body() -> str:
    return HOW
