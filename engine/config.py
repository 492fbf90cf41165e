"""Settings: environment variables that start with ``SEEDLENS_``, and two that are common usage.

``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` are what other tools for the same endpoints read too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import Field, SecretStr, field_validator
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


class Settings(BaseSettings):
    """What a person may set: every field is an environment variable (``SEEDLENS_HOME`` ...)."""

    model_config = SettingsConfigDict(
        env_prefix="SEEDLENS_",
        env_ignore_empty=True,  # not set: an empty path would be the folder that we are in
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        # The app runs in another folder than the command that starts it.
        return _absolute_path(home)

    @field_validator("import_roots", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        """Folders as the system's search paths have them: ``/data:/srv/papers``."""
        return value.split(os.pathsep) if isinstance(value, str) and value else value or ()

    @field_validator("import_roots")
    @classmethod
    def _absolute_roots(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(map(_absolute_path, roots))

    @field_validator("service_addresses", mode="before")
    @classmethod
    def _addresses(cls, value: object) -> object:
        """Pairs between commas."""
        if not isinstance(value, str):
            return value
        pairs = (pair.partition("=") for pair in value.split(",") if pair.strip())
        return {key.strip(): address.strip().rstrip("/") for key, _, address in pairs}

    home: Path = Field(default_factory=lambda: user_data_path("seedlens", appauthor=False))
    max_document_chars: int = Field(default=1_000_000, gt=0)
    """Longer documents are refused at import, with the row that holds them."""
    resident_megabytes: int = Field(default=2048, ge=0)
    """Vectors up to this size are searched exactly in memory, those of all corpora together; a
    corpus above it is searched through an index."""
    shard_documents: int = Field(default=256, gt=0)
    """Documents encoded and committed together; what a kill can cost at most."""
    ledger_wait_seconds: float = Field(default=30.0, gt=0, le=MOST_SECONDS)
    ledger_url: SecretStr = SecretStr("")
    """``postgresql://USER:PASSWORD@HOST:PORT/DATABASE`` for a ledger that several machines share;
    without, it is a file of the home."""
    store: str = ""
    """``s3://BUCKET/PREFIX`` for corpora that several machines share; without, they are in the
    home alone. Credentials and endpoint are those of all programs for S3 (``AWS_...``)."""
    mirror_megabytes: int | None = Field(default=None, ge=0)
    """What copies of the store's corpora may take in the home; those used longest ago give way, and
    one that does not fit is read in the store. Unset: as much as the disk has."""
    threads: int = Field(default=0, ge=0, le=1024)
    """CPU threads for encoding; 0 means all cores."""
    ray: str = ""
    """Who encodes what is imported: ``ray://HOST:10001`` for a Ray cluster, ``local`` for a process
    on each core of this machine; without, the process that imports."""
    maps: bool = True
    """Imports end with laying out the documents in the plane; without, maps are made when they are
    asked for."""
    annotator: str = "me"
    """The name that grades are stored under when nobody gave one."""

    import_roots: Annotated[tuple[Path, ...], NoDecode] = ()
    """With login, leads import from these folders, besides what they upload."""

    # Services that documents are retrieved from; see engine/sources.
    contact_email: str = ""
    """Sent to the services, so that they can tell you of a problem before they lock you out."""
    openalex_key: SecretStr = SecretStr("")
    semantic_scholar_key: SecretStr = SecretStr("")
    zotero_key: SecretStr = SecretStr("")
    """With login, leads can import what it may read."""
    service_timeout_seconds: float = Field(default=60.0, gt=0, le=MOST_SECONDS)
    """The longest silence of a service; a whole answer may take five times as long."""
    service_addresses: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """Other addresses of services, for a server that stands in for one:
    ``openalex=http://127.0.0.1:8000,arxiv=http://127.0.0.1:8001``. Keys are sent there too."""
    service_pace: float = Field(default=1.0, ge=0, le=1)
    """Share of the time between requests that services ask for; it counts for the addresses of
    one's own above alone."""

    # The language model endpoint; see engine/llm/endpoints.py for where else it can be set.
    openai_base_url: str = Field(default="", validation_alias="OPENAI_BASE_URL")
    openai_api_key: SecretStr = Field(default=SecretStr(""), validation_alias="OPENAI_API_KEY")
    llm_model: str = ""
    llm_concurrency: int = Field(default=8, gt=0)
    """Requests to the endpoint that are under way at once."""
    llm_timeout_seconds: float = Field(default=60.0, gt=0, le=MOST_SECONDS)
    """The longest silence of the endpoint: from a request to the first piece of its answer, and
    from each piece to the next. How long the whole answer takes does not matter, nor how long a
    request is queued while others are answered. Only where an endpoint cannot stream, a whole
    answer is one piece."""
    llm_retries: int = Field(default=4, ge=0)
    """How often a request that failed is sent again: after the pause that the endpoint asks for,
    else after half a second, doubled each time."""
    llm_max_calls: int | None = Field(default=None, ge=0)
    """Requests per run at most; unset is no limit. So with the next two."""
    llm_max_tokens: int | None = Field(default=None, ge=0)
    llm_max_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    llm_daily_calls: int | None = Field(default=None, ge=0)
    """With login, requests per person and day at most; unset is no limit. So with the next two."""
    llm_daily_tokens: int | None = Field(default=None, ge=0)
    llm_daily_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    llm_input_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price per million input tokens, in any currency; needed for limits of cost."""
    llm_output_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
