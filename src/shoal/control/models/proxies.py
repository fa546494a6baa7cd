"""Models for pools of proxies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.control.models.strict_models import RequestBody
from shoal.errors import UsageError
from shoal.model.proxy_list import POOL_NAME, check_no_password, read_proxies


class ProxyListGiven(RequestBody):
    """One proxy on a line. Passwords are references to secrets of the workers, `{secret:NAME}`."""

    text: Annotated[str, Field(min_length=1, max_length=5_000_000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]

    def check(self, pool: str) -> None:
        """Raises UsageError."""
        if not POOL_NAME.fullmatch(pool):
            raise UsageError(f"{pool[:80]!r} cannot be the name of a pool: use letters, digits, _ . and -, at most 64")
        check_no_password(read_proxies(self.text))
