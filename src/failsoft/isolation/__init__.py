"""isolation owns where a body runs: a task, a thread or a killable process, and what is left when nobody waits for it.

Nothing here knows of retries, ledgers or time-outs; a caller stops waiting with `Job.abandon`.
"""
