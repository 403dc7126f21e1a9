"""Tasks that others wrote, run under injected faults by one planner through several systems, and judged by the final state."""
