"""A curator's side as a web application (zone: boundary)."""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Callable
from numbers import Integral
from typing import Any, NoReturn

from .._params import check_number
from ..exceptions import BudgetExceededError
from ._offers import MessageError
from ._protocol import CuratorSide

__all__ = ["create_app"]

_SPENT = 'the budget has no more outcomes; {"type": "best"} asks for the best of those before'
_TOO_MANY = "too many requests: wait for a minute"
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}}
_LOGGER = logging.getLogger(__name__)
_SHORTEST_TOKEN = 16
_NO_ANSWER = "the curator could not answer; why is in its own log, and is not sent"


def create_app(
    side: Any, token: str, *, requests_per_minute: int = 60, largest_request: int = 2**16
) -> Any:
    """Return an ASGI application that answers a modeler's messages.

    ``GET /terms`` and ``GET /table`` return what `CuratorSide.terms` and `CuratorSide.table` do;
    ``POST /messages`` takes a message and returns the answer (204 if there is none). Requests bear
    the token: ``Authorization: Bearer <token>``. Needs FastAPI and limits (``.[http]``).

    The application speaks plain HTTP. Let a reverse proxy or the ASGI server terminate TLS, or the
    token and the outcomes can be read on the way. Run it in *one* process, as budgets are kept in
    the objective, and behind nothing that repeats requests to others.

    Parameters
    ----------
    side : CuratorSide or FederatedSite
        What answers.
    token : str
        What requests must bear; 16 characters or more, such as ``secrets.token_urlsafe()``.
    requests_per_minute : int, default=60
        More are refused (429); those without the token are counted apart.
    largest_request : int, default=65536
        Largest body of a request, in bytes; larger ones are refused (413).

    Returns
    -------
    app : fastapi.FastAPI
        To be run by an ASGI server, such as uvicorn.

    Raises
    ------
    ImportError
        If FastAPI or limits is not installed.
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    Status 401 means a wrong token, 409 that the budget is spent, and 422 that a message was
    malformed. Of any other error, such as one of a fit, the modeler is told nothing but 500.
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
            # Counted apart: whoever has no token cannot keep out who has it.
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
        async with answering:  # one after another; who waits takes no thread
            return await run_in_threadpool(_answered, side.answer, message)

    return app


def _check(side: Any, token: Any, requests_per_minute: Any, largest_request: Any) -> None:
    """Raise ValueError for a parameter that makes no sense."""
    if not callable(getattr(side, "answer", None)):
        raise ValueError(f"side answers messages, as CuratorSide does; found {type(side).__name__}")
    if not isinstance(token, str) or not re.fullmatch(rf"[!-~]{{{_SHORTEST_TOKEN},}}", token):
        raise ValueError(
            f"token is a text of {_SHORTEST_TOKEN} characters or more, of ASCII and without "
            "spaces, such as secrets.token_urlsafe() returns"
        )
    for name, value in (
        ("requests_per_minute", requests_per_minute),
        ("largest_request", largest_request),
    ):
        check_number(name, value, "a whole number from 1 up", lambda n: n >= 1, Integral)


class _RefusedError(Exception):
    """A request that is refused, for a reason that may be told."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def _answered(answer: Callable[..., Any], *message: Any) -> Any:
    """Return an answer as a response, or refuse for a reason that may be told."""
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
    """Return the message in a request's body."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > largest:
            raise _RefusedError(413, f"a request has {largest:,} bytes at most")
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _RefusedError(422, "the body of a request is a message in JSON") from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _limiter(per_minute: int) -> Any:
    """Return a function that says whether one more request is allowed now."""
    from limits import RateLimitItemPerMinute
    from limits.storage import MemoryStorage
    from limits.strategies import MovingWindowRateLimiter

    limiter, limit = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerMinute(per_minute)
    return lambda: limiter.hit(limit)
