"""A curator's side as a web application (zone: boundary)."""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Callable
from numbers import Integral
from typing import Any, NoReturn

from ..._params import check_number
from ...exceptions import BudgetExceededError
from ...objective._messages import MessageError
from ._protocol import CuratorSide

__all__ = ["create_app"]

_SPENT = 'the budget is spent: ask for {"type": "best"} to get the best of the scored candidates'
_TOO_MANY = "too many requests: wait for a minute"
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}
_LOGGER = logging.getLogger(__name__)
_SHORTEST_TOKEN = 16
_NO_ANSWER = "the curator could not answer; the reason is in its own log and is not sent"


def create_app(
    side: Any, token: str, *, requests_per_minute: int = 60, largest_request: int = 2**16
) -> Any:
    """Return an ASGI application that answers a modeler's messages.

    ``GET /terms`` and ``GET /table`` return what `CuratorSide.terms` and `CuratorSide.table` do;
    ``POST /messages`` takes a message and returns the answer (204 if there is none). Requests need
    the token: ``Authorization: Bearer <token>``. The documentation, "Let another party optimise",
    lists the status codes. Install FastAPI and limits with ``.[http]``.

    The application speaks plain HTTP. Let a reverse proxy or the ASGI server terminate TLS;
    otherwise the token and the outcomes can be read on the way. Run it in *one* process, because
    the objective keeps the budget, and behind nothing that repeats requests to other servers.

    Parameters
    ----------
    side : CuratorSide or FederatedSite
        The side that answers.
    token : str
        The token of requests: 16 characters or more, such as ``secrets.token_urlsafe()``.
    requests_per_minute : int, default=60
        More are refused (429). Requests without the token are counted separately.
    largest_request : int, default=65536
        Largest body of a request, in bytes; larger ones are refused (413).

    Returns
    -------
    app : fastapi.FastAPI
        Run it with an ASGI server such as uvicorn.
    """
    _check(side, token, requests_per_minute, largest_request)

    from fastapi import Depends, FastAPI, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse

    app = FastAPI(title="curator", openapi_url=None, redirect_slashes=False)
    answering = asyncio.Lock()
    allowed, allowed_to_fail = _limiter(requests_per_minute), _limiter(requests_per_minute)

    async def admit(request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            # Counted separately: clients without the token cannot lock out those with it.
            if not allowed_to_fail():
                raise _RefusedError(429, _TOO_MANY)
            raise _RefusedError(401, "Authorization: Bearer <token> is missing or wrong")
        if not allowed():
            raise _RefusedError(429, _TOO_MANY)

    admitted = Depends(admit)

    @app.exception_handler(_RefusedError)
    async def refused(_: Request, error: _RefusedError) -> JSONResponse:
        body = {"type": "refused", "reason": error.reason}
        return JSONResponse(body, error.status, _HEADERS.get(error.status))

    if isinstance(side, CuratorSide):

        @app.get("/terms", dependencies=[admitted])
        async def terms() -> Any:
            return _answered(side.terms)

        @app.get("/table", dependencies=[admitted])
        async def table() -> Any:
            return _answered(side.table)

    @app.post("/messages", dependencies=[admitted])
    async def messages(request: Request) -> Any:
        message = await _message_of(request, largest_request)
        async with answering:  # one after another; waiting takes no thread
            return await run_in_threadpool(_answered, side.answer, message)

    return app


def _check(side: Any, token: Any, requests_per_minute: Any, largest_request: Any) -> None:
    if not callable(getattr(side, "answer", None)):
        raise ValueError(
            f"side must answer messages, as CuratorSide does; found {type(side).__name__}"
        )
    if not isinstance(token, str) or not re.fullmatch(rf"[!-~]{{{_SHORTEST_TOKEN},}}", token):
        raise ValueError(
            f"token must be a str of at least {_SHORTEST_TOKEN} ASCII characters without spaces, "
            "such as secrets.token_urlsafe() returns"
        )
    for name, value in (
        ("requests_per_minute", requests_per_minute),
        ("largest_request", largest_request),
    ):
        check_number(name, value, "a whole number from 1 up", lambda n: n >= 1, Integral)


class _RefusedError(Exception):
    """A request that is refused, for a reason that may be sent."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def _answered(answer: Callable[..., Any], *message: Any) -> Any:
    """Return an answer as a response, or refuse for a reason that may be sent."""
    from fastapi.responses import JSONResponse, Response

    try:
        found = answer(*message)
        return Response(status_code=204) if found is None else JSONResponse(found)
    except BudgetExceededError:
        raise _RefusedError(409, _SPENT) from None
    except MessageError as error:
        raise _RefusedError(422, str(error)) from None
    except Exception:
        _LOGGER.exception("a message could not be answered")
        raise _RefusedError(500, _NO_ANSWER) from None


async def _message_of(request: Any, largest: int) -> Any:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > largest:
            raise _RefusedError(413, f"a request may have at most {largest:,} bytes")
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _RefusedError(422, "the body of a request must be a message in JSON") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _limiter(per_minute: int) -> Any:
    """Return a function that says whether one more request is allowed now."""
    from limits import RateLimitItemPerMinute
    from limits.storage import MemoryStorage
    from limits.strategies import MovingWindowRateLimiter

    limiter, limit = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerMinute(per_minute)
    return lambda: limiter.hit(limit)
