"""The server as a program that listens."""

from __future__ import annotations

import uvicorn

from latree.web.app import make_app
from latree.web.patience import impatient
from latree.web.service import Service


def make_server(service: Service, hosts: frozenset[str] | None = None) -> uvicorn.Server:
    """What listens and answers; asked to end, it first finishes what is under way."""
    config = uvicorn.Config(
        make_app(service, hosts),
        http=impatient(service.limits.head_seconds),
        ws="none",
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=round(service.limits.seconds) + 1,
    )
    return uvicorn.Server(config)
