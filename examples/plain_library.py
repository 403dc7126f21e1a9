"""failsoft without any model: functions that are called as before, through retries, time-outs and the ledger.

python examples/plain_library.py
"""

from failsoft import AgentError, Harness, tool
from failsoft.errors import Unavailable

tries = 0


@tool(read_only=True)
def exchange_rate(currency: str) -> float:
    """Rate of a currency to the euro.

    Args:
        currency: Three letters, such as "USD".
    """
    global tries
    tries += 1
    if tries < 3:
        raise Unavailable("The rates are being updated.")
    return {"USD": 1.09, "JPY": 162.5}[currency]


@tool(read_only=False)
def transfer(to: str, cents: int) -> str:
    """Send money.

    Args:
        to: The account.
        cents: How much.
    """
    raise ConnectionResetError(104, "Connection reset by peer")


def main() -> None:
    """Call both, and see what each failure means."""
    harness = Harness([exchange_rate, transfer], store="memory")
    rate = harness.wrap(exchange_rate)
    print(f"rate: {rate('USD')} after {tries} tries")

    pay = harness.wrap(transfer)
    for _ in range(2):
        try:
            pay("acc-7", cents=500)
        except AgentError as error:
            print(f"{error.kind}: effect {error.effect}, {error.message}")
    harness.close_sync()


if __name__ == "__main__":
    main()
