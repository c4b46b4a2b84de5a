"""Connections that have so many seconds for the head of a request: who sends it byte by byte holds none for long."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """The protocol that uvicorn would use, with an end to its patience; it has none of its own for heads."""

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self._end: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, reason: Exception | None) -> None:
            super().connection_lost(reason)
            self._unwatch()

        def _watch(self) -> None:
            """Set an end while no request is under way, however little of one has come; that is not put off."""
            if _is_answering(self):
                self._unwatch()
            elif self._end is None:
                self._end = self.loop.call_later(seconds, self.transport.close)

        def _unwatch(self) -> None:
            if self._end is not None:
                self._end.cancel()
                self._end = None

    return Impatient


def _is_answering(protocol: Any) -> bool:
    return protocol.cycle is not None and not protocol.cycle.response_complete
