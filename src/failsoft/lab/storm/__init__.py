"""storm owns the simulation of many clients whose retries keep a service down, with the runtime's own policies."""

from failsoft.lab.storm.experiment import STRATEGIES, Storm, StormRun, Strategy, run_storm

__all__ = ["STRATEGIES", "Storm", "StormRun", "Strategy", "run_storm"]
