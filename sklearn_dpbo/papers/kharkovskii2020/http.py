"""A side that answers messages, as a web application (zone: boundary)."""

import asyncio
import hmac
import json
import logging
import re
from numbers import Integral
from typing import Any, NoReturn

from ..._privacy.checks import check_number
from ...exceptions import BudgetExceededError
from ...objective._messages import MessageError

__all__ = ["create_app"]

_SPENT = "the budget is spent; what was sent before can be asked for again"
_NO_ANSWER = "the curator could not answer; the reason is in its own log and is not sent"
_LOGGER = logging.getLogger(__name__)


def create_app(side: Any, token: str, *, largest_request: int = 2**16) -> Any:
    """Return an ASGI application that answers messages: ``POST /messages``.

    The body of a request is a message in JSON, and that of the response is the answer (204 if there
    is none). Requests need the token: ``Authorization: Bearer <token>``. The documentation, "Let
    another party optimise", lists the status codes. Install FastAPI with ``.[http]``.

    The application speaks plain HTTP, and does not limit how often it is asked. Let a reverse proxy
    do both; otherwise the token and the outcomes can be read on the way. Run it in *one* process,
    because the side keeps the budget, and behind nothing that repeats requests to other servers.

    Parameters
    ----------
    side : CuratorSide or FederatedSite
        The side that answers.
    token : str
        The token of requests: 16 characters or more, such as ``secrets.token_urlsafe()``.
    largest_request : int, default=65536
        Largest body of a request, in bytes; larger ones are refused (413).

    Returns
    -------
    app : fastapi.FastAPI
        Run it with an ASGI server such as uvicorn.
    """
    if not callable(getattr(side, "answer", None)):
        raise ValueError(f"side must answer messages, as CuratorSide does; found {side!r}")
    if not isinstance(token, str) or not re.fullmatch("[!-~]{16,}", token):
        raise ValueError(
            "token must be a str of at least 16 ASCII characters without spaces, such as "
            "secrets.token_urlsafe() returns"
        )
    whole = "a whole number from 1 up", lambda n: n >= 1, Integral
    check_number("largest_request", largest_request, *whole)

    from fastapi import FastAPI, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse, Response

    app = FastAPI(title="curator", openapi_url=None, redirect_slashes=False)
    answering = asyncio.Lock()

    @app.exception_handler(_RefusedError)
    async def refused(_: Request, error: _RefusedError) -> Response:
        headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
        return JSONResponse({"type": "refused", "reason": str(error)}, error.status, headers)

    @app.post("/messages")
    async def messages(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise _RefusedError(401, "Authorization: Bearer <token> is missing or wrong")
        message = await _message_of(request, largest_request)
        try:
            async with answering:  # one after another; waiting takes no thread
                answer = await run_in_threadpool(side.answer, message)
            return Response(status_code=204) if answer is None else JSONResponse(answer)
        except BudgetExceededError:
            raise _RefusedError(409, _SPENT) from None
        except MessageError as error:
            raise _RefusedError(422, str(error)) from None
        except Exception:
            _LOGGER.exception("a message could not be answered")
            raise _RefusedError(500, _NO_ANSWER) from None

    return app


class _RefusedError(Exception):
    """A request that is refused, for a reason that may be sent."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


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
