"""Answers that are errors."""

from __future__ import annotations


class RefusalError(Exception):
    """A request that is not answered as it asks: a status of HTTP, and what is told."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
