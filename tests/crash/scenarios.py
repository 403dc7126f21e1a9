"""The matrix: what a victim was doing, where it died, and what must be found afterwards.

fresh    nothing was claimed: the same call runs, once
doubt    it may have happened: the same call is refused, and the doubt is listed
replay   it has happened: the same call gets the recorded result
same key  it is repeated under the idempotency key of the first time
any      whatever the record of effects allows
"""

from dataclasses import dataclass

__all__ = ["RANDOM", "TRIALS", "Trial"]

RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One cell of the matrix.

    Args:
        life: What the victim does: a function of `lives`.
        tool: The tool that is called, by the victim or before it.
        point: Where it dies; `random` for a kill from outside at any time.
        then: What its heir must find.
        first: Where another one died before it; empty where it is the first.
        happened: What a person says, where the victim resolves.
        orders: How many calls at once.
    """

    life: str
    tool: str
    point: str
    then: str
    first: str = ""
    happened: bool | None = None
    orders: int = 1

    @property
    def name(self) -> str:
        """For people."""
        said = "" if self.happened is None else ("-yes" if self.happened else "-no")
        return f"{self.life}{said} {self.tool} {self.point}"


def _rows(life: str, tool: str, cells: dict[str, str], **more: object) -> list[Trial]:
    return [
        Trial(life=life, tool=tool, point=point, then=then, **more)  # type: ignore[arg-type]
        for then, points in cells.items()
        for point in points.split()
    ]


_PLAIN = {
    "fresh": "admit:before admit:after look:asked look:answered begin:asked begin:entered begin:written",
    "doubt": "begin:committed begin:answered body:before body:after settle:asked settle:entered settle:written",
    "replay": "settle:committed settle:answered report:before report:after",
}
_FAILS = {
    "doubt": "body:after settle:asked settle:entered settle:written settle:committed settle:answered report:before"
}
_REFUSES = {
    "doubt": "begin:answered settle:asked settle:written",
    "refused": "settle:committed settle:answered report:before",
}
_ZOMBIE = {
    "doubt": "renew:asked renew:entered renew:written renew:committed renew:answered body:before body:after "
    "late:asked settle:entered settle:written",
    "replay": "settle:committed late:told",
}
_KEYED = {
    "fresh": "begin:written",
    "same_key": "begin:committed body:before attempt:1 attempt:2 settle:written",
    "replay": "settle:committed",
}
_RECOVER = {"doubt": "recover:asked recover:entered recover:written recover:committed recover:answered"}
_VERIFY = {
    "doubt": "verify:asked resolve:asked resolve:entered resolve:written",
    "replay": "resolve:committed resolve:answered",
}
_RESOLVE = {"doubt": "resolve:asked resolve:entered resolve:written"}

TRIALS: tuple[Trial, ...] = (
    *_rows("call_all", "charge", _PLAIN),
    *_rows("call_all", "charge_badly", _FAILS),
    *_rows("call_all", "refuse", _REFUSES),
    *_rows("call_all", "charge_slowly", _ZOMBIE),
    *_rows("call_all", "charge_with_key", _KEYED),
    *_rows("recover", "charge", _RECOVER, first="body:after"),
    *_rows("verify", "charge", _VERIFY, first="body:after"),
    *_rows("resolve", "charge", _RESOLVE, first="body:after", happened=True),
    *_rows("resolve", "charge", {"replay": "resolve:committed"}, first="body:after", happened=True),
    *_rows("resolve", "charge", _RESOLVE, first="begin:answered", happened=False),
    *_rows("resolve", "charge", {"fresh": "resolve:committed"}, first="begin:answered", happened=False),
    *_rows("call_all", "charge", {"any": RANDOM}, orders=12),
    *_rows("call_all", "charge_slowly", {"any": RANDOM}, orders=4),
)
