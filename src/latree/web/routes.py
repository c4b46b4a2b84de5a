"""One table of what the API answers: from it come the routes, the checks of requests, and /openapi.json."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from latree import __version__
from latree.web import schemas
from latree.web.check import Schema
from latree.web.limits import Limits
from latree.web.service import Handler, Service
from latree.web.tasks import Json

JSON, PROMETHEUS = "application/json", "text/plain; version=0.0.4"
OPENAPI = "/openapi.json"


@dataclass(frozen=True)
class Endpoint:
    """A path of the API."""

    path: str
    summary: str
    handler: Handler
    answer: Schema
    request: Callable[[Limits], Schema] | None = None  # what is posted; None: nothing, it is got
    media: str = JSON

    @property
    def method(self) -> str:
        return "GET" if self.request is None else "POST"


ENDPOINTS = (
    Endpoint(
        "/parse",
        "The best tree of every sentence.",
        Service.parse,
        schemas.answered(schemas.PARSE),
        schemas.tree_request,
    ),
    Endpoint(
        "/tag", "The tags of every sentence.", Service.tag, schemas.answered(schemas.TAGGING), schemas.tree_request
    ),
    Endpoint(
        "/kbest",
        "The best trees of every sentence.",
        Service.kbest,
        schemas.answered(schemas.KBEST),
        schemas.kbest_request,
    ),
    Endpoint(
        "/posteriors",
        "Every phrase or tag that is likely enough, summed over all trees.",
        Service.posteriors,
        schemas.answered(schemas.POSTERIORS),
        schemas.posteriors_request,
    ),
    Endpoint(
        "/surprisal",
        "-log P(word | words before it), in nats.",
        Service.surprisal,
        schemas.answered(schemas.SURPRISAL),
        schemas.surprisal_request,
    ),
    Endpoint("/draw", "A tree as a picture.", Service.draw, schemas.DRAWING, lambda limits: schemas.DRAW_REQUEST),
    Endpoint(
        "/subtypes",
        "The likeliest subtype of every node of a tree, and what is typical of it.",
        Service.subtypes,
        schemas.SUBTYPES,
        lambda limits: schemas.SUBTYPES_REQUEST,
    ),
    Endpoint(
        "/save",
        "Keep a corrected tree, where the server was started with a folder for it.",
        Service.save,
        schemas.SAVED,
        lambda limits: schemas.TREE_REQUEST,
    ),
    Endpoint(
        "/next",
        "The next sentence to annotate, where the server was started with some: what the model would learn most from.",
        Service.next,
        schemas.NEXT,
        lambda limits: schemas.NEXT_REQUEST,
    ),
    Endpoint("/models", "The models that there are.", Service.models, schemas.MODELS),
    Endpoint("/health", "Whether the server is there.", Service.health, schemas.HEALTH),
    Endpoint("/metrics", "Counts, for Prometheus.", Service.metrics_text, schemas.STRING, media=PROMETHEUS),
)


def openapi(limits: Limits) -> Json:
    """Describe the API, as OpenAPI 3.1 does."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "latree", "version": __version__, "description": "Trees, tags and their probabilities."},
        "paths": {one.path: {one.method.lower(): _operation(one, limits)} for one in ENDPOINTS},
    }


def _operation(one: Endpoint, limits: Limits) -> Json:
    operation: Json = {
        "operationId": one.path.strip("/"),
        "summary": one.summary,
        "responses": {
            "200": {"description": "OK", "content": {one.media: {"schema": one.answer}}},
            "default": {"description": "An error.", "content": {JSON: {"schema": schemas.ERROR}}},
        },
    }
    if one.request is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": one.request(limits)}}}
    return operation
