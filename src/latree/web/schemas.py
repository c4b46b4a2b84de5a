"""What requests and answers look like, as JSON schemas: requests are checked by them, and /openapi.json tells them."""

from __future__ import annotations

from typing import Any

from latree.inference.results import OBJECTIVES, Status
from latree.text.draw import Format
from latree.web.check import Schema
from latree.web.limits import Limits

STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": ["number", "null"]}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these keys and no others."""
    properties = required | (optional or {})
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def many(items: Schema, **bounds: Any) -> Schema:
    return {"type": "array", "items": items, **bounds}


def described(schema: Schema, text: str) -> Schema:
    return schema | {"description": text}


def choice(values: Any) -> Schema:
    return {"type": "string", "enum": list(getattr(values, "__args__", values))}


# -- answers

PROBABILITY: Schema = {"type": ["number", "null"], "description": "null where the model gives the words none"}
CONSTITUENT = described(
    many({"type": ["string", "number"]}, minItems=4, maxItems=4), "label, first word from 0, word after its last, P"
)
WORDS = {
    "tokens": many(STRING),
    "status": choice(Status),
    "reason": described(STRING, "why the status is not ok"),
}
OFFSETS = {"offsets": described(many(many(COUNT)), "where tokens of running text begin and end, in characters")}
ANALYSIS = {
    **WORDS,
    "log_joint": described(NUMBER, "log P(tree, words)"),
    "log_marginal": described(NUMBER, "log P(words)"),
    "probability": described(PROBABILITY, "P(tree | words)"),
    "unknown": described(many(COUNT), "places of the words that training never saw"),
}
TREE = {"tree": described(STRING, "in Penn brackets"), "constituents": many(CONSTITUENT)}
PARSE = record(ANALYSIS | TREE, OFFSETS | {"rank": COUNT})
TAGGING = record(ANALYSIS | {"tags": many(STRING), "confidences": many(NUMBER)}, OFFSETS)
KBEST = record({"tokens": many(STRING), "parses": described(many(PARSE), "the best first")})
POSTERIORS = record(
    {"tokens": many(STRING)},
    {
        "constituents": described(many(CONSTITUENT), "of a parser"),
        "tags": described(many({"type": "object", "additionalProperties": NUMBER}), "of a tagger, for every word"),
    },
)
SURPRISAL = record(
    {
        **WORDS,
        **{name: many(NUMBER) for name in ("surprisal", "lexical", "syntactic", "entropy")},
        "unknown": many(COUNT),
        "end": described(NUMBER, "surprisal of the end of the sentence"),
    },
    OFFSETS,
)
MODEL = record(
    {
        "name": STRING,
        "kind": STRING,
        "summary": STRING,
        "parses": BOOLEAN,
        "surprisal": BOOLEAN,
        "subtypes": described(BOOLEAN, "whether /subtypes tells anything"),
        "phrases": described(many(STRING), "labels"),
        "tags": many(STRING),
    }
)
MODELS = record(
    {
        "models": many(MODEL),
        "default": STRING,
        "saves": described(BOOLEAN, "whether /save keeps trees"),
        "queue": described(BOOLEAN, "whether /next has sentences to annotate"),
        "limits": {"type": "object", "additionalProperties": {"type": "number"}},
    }
)
_SHARES = many(described(many({"type": ["string", "number"]}, minItems=2, maxItems=2), "what, and its share"))
SUBTYPE = record(
    {
        "name": STRING,
        "place": described(STRING, "the fragment of the model's page, /explore/MODEL, that tells all about it"),
        "probability": described(NUMBER, "given the words and the tree"),
        "subtypes": described(COUNT, "that its category has"),
        "words": described(_SHARES, "commonest ones, of a tag"),
        "rules": described(_SHARES, "right sides of the likeliest ones, of a phrase"),
    }
)
SUBTYPES = record(
    {
        "model": STRING,
        "nodes": described(
            many(SUBTYPE | {"type": ["object", "null"]}), "a parent before its children; null where there is nothing"
        ),
    }
)
HEALTH = record({"status": STRING, "version": STRING})
DRAWING = record({"drawing": STRING})
SAVED = record({"saved": described(COUNT, "trees in the file since the server began")})
NEXT = record(
    {
        "state": described(choice(("ranking", "ranked")), "while it is ranked, nothing is offered"),
        "ranked": described(COUNT, "sentences that the model has been asked about"),
        "sentences": COUNT,
        "left": described(COUNT, "sentences that are not saved yet"),
        "next": record({"rank": COUNT, "tokens": many(STRING)}) | {"type": ["object", "null"]},
    }
)
ERROR = record({"error": STRING})


def answered(sentence: Schema) -> Schema:
    """The answer that has something for every sentence."""
    return record({"model": STRING, "sentences": many(sentence)})


# -- requests

BRACKET = record(
    {"start": described(COUNT, "first word, from 0"), "end": described(COUNT, "the word after its last")},
    {"label": described({"type": ["string", "null"]}, "none: any"), "forbidden": BOOLEAN},
)
GIVEN_TREE = described(STRING, "in Penn brackets") | {
    "examples": ["(ROOT (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)))"]
}
TREE_REQUEST = record({"tree": GIVEN_TREE})
SUBTYPES_REQUEST = record({"tree": GIVEN_TREE}, {"model": STRING})
NEXT_REQUEST = record({}, {"after": described(COUNT, "the rank of a sentence that is passed over")})
DRAW_REQUEST = record({"tree": GIVEN_TREE}, {"format": choice(Format)})


def words_request(limits: Limits, most_words: int | None = None) -> Schema:
    """Text, or sentences that are split already."""
    words = many({"type": "string", "minLength": 1}, maxItems=most_words or limits.words)
    either = {"oneOf": [{"required": ["text"]}, {"required": ["sentences"]}]}
    return either | record(
        {},
        {
            "text": described(STRING, "split into sentences and words as the model's treebank does"),
            "wrapped": described(BOOLEAN, "sentences of the text go on from line to line"),
            "sentences": described(many(words, maxItems=limits.sentences), "in place of text: words of each"),
            "model": described(STRING, "one of /models; else the default"),
        },
    )


def surprisal_request(limits: Limits) -> Schema:
    return words_request(limits, limits.surprisal_words)


def tree_request(limits: Limits) -> Schema:
    """What may be asked of whatever has a tree."""
    known = many(many(BRACKET, maxItems=limits.brackets), maxItems=limits.sentences)
    return _with(
        words_request(limits),
        objective=choice(OBJECTIVES),
        constraints=described(known, "for every sentence, brackets that its tree has or has not"),
    )


def kbest_request(limits: Limits) -> Schema:
    return _with(tree_request(limits), k={"type": "integer", "minimum": 1, "maximum": limits.kbest})


def posteriors_request(limits: Limits) -> Schema:
    return _with(words_request(limits), least={"type": "number", "minimum": limits.least, "maximum": 1.0})


def _with(schema: Schema, **more: Schema) -> Schema:
    return schema | {"properties": schema["properties"] | more}
