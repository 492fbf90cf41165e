"""Settings: environment variables that start with ``SEEDLENS_``, and two that are common usage.

``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` are what other tools for the same endpoints read too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import AfterValidator, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

__version__ = "0.1.0"
ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"
DEMO = ASSETS / "demo"
DEMO_CORPUS = "demo"


MOST_SECONDS = 10**6
"""The longest wait that can be set, some 11 days: no clock or socket counts without end."""


def _absolute_path(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError("~ stands for a home folder, and there is none of that name") from error


Folder = Annotated[Path, AfterValidator(_absolute_path)]
"""Absolute: the app runs in another folder than the command that starts it."""


class Settings(BaseSettings):
    """What a person may set: every field is an environment variable (``SEEDLENS_HOME`` ...)."""

    model_config = SettingsConfigDict(
        env_prefix="SEEDLENS_",
        env_ignore_empty=True,  # not set: an empty path would be the folder that we are in
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @field_validator("import_roots", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        """Folders as the system's search paths have them: ``/data:/srv/papers``."""
        return value.split(os.pathsep) if isinstance(value, str) and value else value or ()

    @field_validator("service_addresses", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        """Pairs between commas."""
        if not isinstance(value, str):
            return value
        pairs = (pair.partition("=") for pair in value.split(",") if pair.strip())
        return {key.strip(): address.strip().rstrip("/") for key, _, address in pairs}

    home: Folder = Field(default_factory=lambda: user_data_path("seedlens", appauthor=False))
    """The folder where everything is kept."""
    max_document_chars: int = Field(default=1_000_000, gt=0)
    """Longer documents are refused at import, with the row that holds them."""
    resident_megabytes: int = Field(default=2048, ge=0)
    """Vectors of all corpora that are searched exactly in memory; a corpus that does not fit is
    searched through an index."""
    shard_documents: int = Field(default=256, gt=0)
    """Documents encoded and committed together; a killed import loses at most these."""
    ledger_wait_seconds: float = Field(default=30.0, gt=0, le=MOST_SECONDS)
    """How long the ledger is waited for while others write, or while its server is away."""
    ledger_url: SecretStr = SecretStr("")
    """``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``: a ledger that several servers share.
    Unset: a file of the home."""
    store: str = ""
    """``s3://BUCKET/PREFIX``: corpora that several servers share, with the usual ``AWS_`` settings.
    Unset: corpora are in the home."""
    mirror_megabytes: int | None = Field(default=None, ge=0)
    """Copies of the store's corpora in the home; those used longest ago give way, and one that does
    not fit is read in the store. Unset: as much as the disk has."""
    threads: int = Field(default=0, ge=0, le=1024)
    """CPU threads for encoding; 0 means all cores."""
    ray: str = ""
    """Who encodes imports: ``ray://HOST:10001`` for a Ray cluster, ``local`` for a process on each
    core. Unset: the process that imports."""
    maps: bool = True
    """Imports end with computing the map; with 0, Map and ``seedlens map`` compute it."""
    annotator: str = "me"
    """The name that grades are stored under when none is given."""

    import_roots: Annotated[tuple[Folder, ...], NoDecode] = ()
    """With login: folders from which leads may import, separated by ``:``."""

    # Services that documents are retrieved from; see engine/sources.
    contact_email: str = ""
    """Sent to services, so that they can report a problem before they block you."""
    openalex_key: SecretStr = SecretStr("")
    """Key for OpenAlex."""
    semantic_scholar_key: SecretStr = SecretStr("")
    """Key for Semantic Scholar."""
    zotero_key: SecretStr = SecretStr("")
    """Key for Zotero libraries that are not public. With login, leads can import what it reads."""
    service_timeout_seconds: float = Field(default=60.0, gt=0, le=MOST_SECONDS)
    """The longest silence of a service; a whole answer may take five times as long."""
    service_addresses: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """Servers that stand in for services, and get their keys:
    ``openalex=http://127.0.0.1:8000,arxiv=http://127.0.0.1:8001``."""
    service_pace: float = Field(default=1.0, ge=0, le=1)
    """Share of the usual time between requests, for such servers only."""

    # The language model endpoint; see engine/llm/endpoints.py for where else it can be set.
    openai_base_url: str = Field(default="", validation_alias="OPENAI_BASE_URL")
    """The OpenAI-compatible endpoint of the language model."""
    openai_api_key: SecretStr = Field(default=SecretStr(""), validation_alias="OPENAI_API_KEY")
    """Its key, if it needs one."""
    llm_model: str = ""
    """The name of the model at the endpoint."""
    llm_concurrency: int = Field(default=8, gt=0)
    """Requests to the endpoint at once."""
    llm_timeout_seconds: float = Field(default=60.0, gt=0, le=MOST_SECONDS)
    """The longest silence of the endpoint, before the first piece of an answer or between two; a
    whole answer may take as long as it likes, unless the endpoint cannot stream."""
    llm_retries: int = Field(default=4, ge=0)
    """How often a failed request is repeated: after the pause that the endpoint asks for, else
    after half a second, doubled each time."""
    llm_max_calls: int | None = Field(default=None, ge=0)
    """Limit of requests per run."""
    llm_max_tokens: int | None = Field(default=None, ge=0)
    """Limit of tokens per run."""
    llm_max_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Limit of cost per run; needs the prices."""
    llm_daily_calls: int | None = Field(default=None, ge=0)
    """With login: limit of requests per person and day."""
    llm_daily_tokens: int | None = Field(default=None, ge=0)
    """With login: limit of tokens per person and day."""
    llm_daily_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """With login: limit of cost per person and day; needs the prices."""
    llm_input_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price per million input tokens, in any currency."""
    llm_output_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price per million output tokens, in the same currency."""
