"""The server as an ASGI application: from HTTP to `service` and back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from latree.errors import LatreeError
from latree.web import explore, pages
from latree.web.check import check
from latree.web.guard import Guard
from latree.web.refusal import RefusalError
from latree.web.routes import ENDPOINTS, JSON, OPENAPI, Endpoint, openapi
from latree.web.service import Service
from latree.web.tasks import Json

Answer = Callable[[Request], Awaitable[Response]]


def make_app(service: Service, hosts: frozenset[str] | None = None) -> Starlette:
    """The application; `hosts` are the names that it may be called by, None: any."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    described = JSONResponse(openapi(service.limits))
    routes = [_route(service, one.path, one.method, partial(_answer, service, one)) for one in ENDPOINTS]
    routes.append(_route(service, OPENAPI, "GET", partial(_give, described)))
    exploring = partial(_explore, service, explore.Explorer(), pages.waiting())
    routes.append(_route(service, explore.PATH, "GET", exploring))
    routes += [_route(service, path, "GET", partial(_give, page)) for path, page in pages.responses().items()]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_fault})
    app.add_middleware(Guard, hosts=hosts)
    return app


def _route(service: Service, path: str, method: str, answer: Answer) -> Route:
    async def counted(request: Request) -> Response:
        begun = time.perf_counter()
        response = await _answered_in_time(service, answer, request)
        service.metrics.count_request(path, response.status_code, time.perf_counter() - begun)
        return response

    return Route(path, counted, methods=[method])


async def _answered_in_time(service: Service, answer: Answer, request: Request) -> Response:
    """Answer, in one way or the other; whatever goes wrong concerns this request alone."""
    try:
        async with asyncio.timeout(service.limits.seconds):
            return await answer(request)
    except RefusalError as refusal:
        return _fault(refusal.status, str(refusal))
    except LatreeError as error:
        return _fault(422, str(error))
    except TimeoutError:
        return _fault(504, f"no answer within {service.limits.seconds:g} seconds; ask for less at a time")
    except ClientDisconnect:
        return _fault(400, "the request was cut short")
    except MemoryError:
        return _fault(500, "out of memory; ask for less at a time")
    except Exception as error:
        return _fault(500, f"a fault of the server: {type(error).__name__}")


async def _answer(service: Service, endpoint: Endpoint, request: Request) -> Response:
    body: Json = {}
    if endpoint.request is not None:
        body = _decoded(await _body(request, service.limits.body))
        check(body, endpoint.request(service.limits))
    told = await _unless_gone(request, asyncio.ensure_future(endpoint.handler(service, body)))
    return JSONResponse(told) if endpoint.media == JSON else Response(told, media_type=endpoint.media)


async def _unless_gone(request: Request, work: asyncio.Future[Any]) -> Any:
    """Wait for the work, as long as the client does: what nobody waits for is not done."""
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        work.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _give(response: Response, request: Request) -> Response:
    return response


async def _explore(service: Service, explorer: explore.Explorer, waiting: Response, request: Request) -> Response:
    """The page about a model; while it is made, one that says so."""
    shelf = service.library.shelves.get(request.path_params["name"])
    if shelf is None:
        raise RefusalError(404, "there is no such model")
    page = asyncio.wrap_future(explorer.page(shelf))
    done, _ = await asyncio.wait([page], timeout=explore.PATIENCE)
    return page.result() if done else waiting


async def _body(request: Request, most: int) -> bytes:
    """What was posted, unless it is too much or no JSON.

    Pages of other sites may post forms and plain text to this one, but JSON only where they are allowed to.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise RefusalError(415, f"send {JSON}, and say so in the header Content-Type")
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise RefusalError(413, f"the request has more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


def _decoded(body: bytes) -> Any:
    try:
        value = json.loads(body, parse_constant=_no_number)
        if rb"\u" in body:
            json.dumps(value, ensure_ascii=False).encode()  # halves of characters come in no other way
    except UnicodeError:
        raise RefusalError(400, "the request is not valid Unicode") from None
    except (ValueError, RecursionError) as error:
        raise RefusalError(400, f"the request is not valid JSON: {error}") from None
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _fault(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers or ({"Retry-After": "1"} if status == 503 else {}))


async def _http_fault(request: Request, error: Exception) -> Response:
    """Paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    messages = {404: "there is no such path", 405: f"{request.method} is not answered here"}
    return _fault(error.status_code, messages.get(error.status_code, error.detail), error.headers)
