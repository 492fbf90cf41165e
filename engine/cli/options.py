"""Options of a command, declared once: in the signature and docstring of its function.

Parameters before ``*`` are arguments, those behind it options; ``corpus``, else ``name``, is any
name of a corpus. Types, ranges (pydantic's ``Field``)
and defaults are in the signature; the section "Options" of the docstring has a line for each::

    limit N: Read the first N documents only.
    own_runs --run FILE: Another name on the command line, and what a value is called.

Options that commands share are described in :data:`SHARED`. A parameter that is a dataclass is made
of the options in the docstring of that class (without words for those in SHARED);
``Annotated[dict[str, Any], Record]`` is a dictionary of those that were given. "{systems}" is
replaced by the names of systems without a model.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import click
from pydantic.fields import FieldInfo

from engine.cli.common import stored_name

REQUIRED: Any = inspect.Parameter.empty
_SECTION = re.compile(r"\n\nOptions:\n(?P<lines>(?:    .*\n?)+)")
_LINE = re.compile(
    r"^    (?P<name>\w+)(?P<flags>(?: --[\w/-]+)*)(?: (?P<metavar>[^ :]+))?:(?: |$)", re.M
)
SHARED = """By the names of parameters.

Options:
    corpus: The corpus with its documents. Default: the collection's own documents, indexed once.
    sample N: Ask only the queries of N seeds, always the same. Default: all.
    steer --steer --aspect-weight: Aspect weight. 0: whole document; 1: the aspect only.
    filters --filter FIELD=VALUE: year>=2010, venue=ACL|EMNLP, has.aspect=method,
        has.date>=2010-05, has.amount.USD>=100. Repeatable: all must hold.
    within FILE: Only the documents whose ids FILE lists, one on each line.
    project P: Default: the corpus's own, judged while exploring.
    include_audit: Also count grades that people gave to check a model.
    annotator WHO: Default: SEEDLENS_ANNOTATOR, or 'me'.
    author WHO: Default: SEEDLENS_ANNOTATOR, or 'me'.
    out FILE: Default: stdout.
    only_estimate --estimate: Print what it would take, and ask nothing.
    yes: Do not confirm before a model is asked.
    rerank MODE: Rerank with a language model: pairwise, pairwise-lite, pairwise-thorough,
        heapsort, allpair, sliding, pointwise, listwise or tournament.
    depth N: Documents of the first stage to rerank. Default: 100.
    budget_calls N: Most requests to the model. Default: SEEDLENS_LLM_MAX_CALLS, else no limit.
"""


class _Described(NamedTuple):
    """An option's help, its flags between blanks ("" for its own name), and its metavar."""

    help: str = ""
    flags: str = ""
    metavar: str | None = None


JSON = click.Option(
    ["--json"],
    is_flag=True,
    expose_value=False,
    help="Print one JSON document.",
    callback=lambda context, _, value: context.meta.update(json=value),
)
"""Read by :func:`engine.cli.terminal.show`."""


def command(
    group: click.Group | None = None, name: str | None = None, *, json: bool = True
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function, with the parameters that its signature and docstring declare
    and, unless it prints texts only, ``--json``."""

    def decorate(function: Callable[..., None]) -> click.Command:
        function.__doc__, known = _documented(inspect.getdoc(function) or "")
        parameters: list[click.Parameter] = []
        records: dict[str, tuple[Any, list[str]]] = {}
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function).parameters
        for field, declared in signature.items():
            kind, marks = _split(hints[field])
            record = next((one for one in (kind, *marks) if isinstance(one, type)), None)
            if record is not None and is_dataclass(record):
                own = _of_record(record, signature, changing=record is not kind)
                records[field] = (record if record is kind else dict, [str(o.name) for o in own])
                parameters += own
            elif declared.kind is declared.KEYWORD_ONLY:
                parameters.append(_option(field, hints[field], declared.default, known))
            else:
                parameters.append(_argument(field, hints[field], declared.default))

        @functools.wraps(function)
        def run(**values: Any) -> None:
            for field, (make, names) in records.items():
                given = {one: values.pop(one) for one in names}
                values[field] = make(**{k: v for k, v in given.items() if v not in (None, ())})
            corpus = "corpus" if "corpus" in values else "name"
            if values.get(corpus):
                values[corpus] = stored_name(values[corpus])
            function(**values)

        made = click.command(name, params=[*parameters, *([JSON] if json else [])])(run)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


def _documented(text: str) -> tuple[str, Mapping[str, _Described]]:
    """A docstring without its options, and these by name."""
    if "{systems}" in text:
        from engine.search.systems import SYSTEM_NAMES

        text = text.replace("{systems}", ", ".join(SYSTEM_NAMES))
    section = _SECTION.search(text)
    if section is None:
        return text, {}
    lines, options = section["lines"], {}
    starts = [*_LINE.finditer(lines)]
    for one, end in zip(starts, [*(s.start() for s in starts[1:]), len(lines)], strict=True):
        words = " ".join(lines[one.end() : end].split())
        options[one["name"]] = _Described(words, one["flags"], one["metavar"])
    return text[: section.start()], options


_SHARED = _documented(SHARED)[1]


def _of_record(record: type, others: Container[str], *, changing: bool) -> list[click.Parameter]:
    """An option for each documented field that is none of the others; for changes without the
    default, which its help has."""
    hints = get_type_hints(record, include_extras=True)
    _, known = _documented(inspect.getdoc(record) or "")
    parameters: list[click.Parameter] = []
    for field in fields(record):  # of a dataclass
        if field.name in known and field.name not in others:
            default = REQUIRED if field.default is MISSING else field.default
            one = _option(field.name, hints[field.name], None if changing else default, known)
            if changing and default not in ("", (), None, REQUIRED):
                one.show_default = str(default)
            parameters.append(one)
    return parameters


def _split(hint: Any) -> tuple[Any, Sequence[Any]]:
    """A type without None, and what it is annotated with."""
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is Annotated:
        inner, own = _split(kind)
        return inner, [*own, *marks]
    return kind, marks


def _argument(name: str, hint: Any, default: Any) -> click.Argument:
    kind, marks = _split(hint)
    metavar = next((mark for mark in marks if isinstance(mark, str)), None)
    required = default is REQUIRED
    more = {} if required else {"default": default}
    return click.Argument([name], type=_type(kind), metavar=metavar, required=required, **more)


def _option(name: str, hint: Any, default: Any, known: Mapping[str, _Described]) -> click.Option:
    described = known.get(name) or _Described()
    if not described.help:
        described = _SHARED.get(name, described)
    kind, marks = _split(hint)
    multiple = get_origin(kind) in (tuple, Sequence)
    kind = get_args(kind)[0] if multiple else kind
    more: dict[str, Any] = {"required": default is REQUIRED}
    if not more["required"] and not multiple:
        more["default"] = None if get_origin(kind) is Literal and not default else default
    return click.Option(
        [*(described.flags.split() or [f"--{name.replace('_', '-')}"]), name],
        type=_type(kind, marks),
        multiple=multiple,
        is_flag=True if kind is bool else None,
        show_default=more.get("default") not in (None, "", False),
        metavar=described.metavar,
        help=described.help,
        **more,
    )


def _type(kind: Any, marks: Sequence[Any] = ()) -> Any:
    """What click converts a value with."""
    kind, own = _split(kind)
    if kind is Path:
        return click.Path(path_type=Path)
    if get_origin(kind) is Literal:
        return click.Choice([one for one in get_args(kind) if one])
    bounds: dict[str, Any] = {}
    for mark in (*own, *marks):
        if isinstance(mark, click.ParamType):
            return mark
        for limit in mark.metadata if isinstance(mark, FieldInfo) else [mark]:
            bounds |= {n: getattr(limit, n) for n in ("ge", "gt", "le") if hasattr(limit, n)}
    if not bounds:
        return kind
    least, above = bounds.get("ge"), bounds.get("gt")
    if kind is int:
        return click.IntRange(least if above is None else above + 1, bounds.get("le"))
    low = least if above is None else above
    return click.FloatRange(low, bounds.get("le"), min_open=above is not None)
