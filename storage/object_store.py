"""A bucket of an S3-compatible store, or a prefix of it; the only importer of ``boto3``.

Credentials and endpoint are found as usual for S3: ``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_ENDPOINT_URL``, ``AWS_REGION``, profiles, roles of machines.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from storage.errors import StorageError
from storage.files import file_errors, temporary_sibling

SECONDS_TO_CONNECT, SECONDS_OF_SILENCE = 10, 60
ATTEMPTS = 5  # Of a request that fails on the way, or that the store does not answer (5xx)
CONNECTIONS = 10
_ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[^/?#\s]+)*)/?")
_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict", "412")
_KEYS = (
    "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they may list, read, write and "
    "delete the bucket's objects."
)
_REFUSED = (
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "403"),
    *("ExpiredToken", "InvalidToken"),
)
_FAILED = (
    "Check SEEDLENS_STORE, AWS_ENDPOINT_URL, the credentials and that the store runs; then try "
    "again. What was stored before is intact."
)


class StoreError(StorageError):
    """The object store could not be read or written."""


class MissingObjectError(StoreError):
    """There is no such object in the store."""


class TakenError(StoreError):
    """There is another object of that key, which was not replaced."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object."""

    key: str  # without the store's prefix
    age: timedelta  # since it was written


class ObjectStore:
    """The objects under ``s3://bucket/prefix``; thread-safe. Every method may raise StoreError."""

    def __init__(self, url: str) -> None:
        found = _ADDRESS.fullmatch(url)
        if found is None:
            raise StorageError(
                "SEEDLENS_STORE is not the address of a bucket.",
                "Write s3://BUCKET/PREFIX; set credentials and endpoint by AWS_ACCESS_KEY_ID, "
                "AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL.",
            )
        self._bucket, self._prefix = found[1], found[2].strip("/")
        self.name = f"s3://{self._bucket}/{self._prefix}".rstrip("/")
        try:  # only the extra ``cluster`` has the package
            import boto3
            import botocore.config
            import botocore.exceptions
            from boto3.exceptions import Boto3Error
        except ImportError as error:
            raise StorageError(
                f"A home on object storage needs a package that is missing ({error.name}).",
                "Install it: pip install 'seedlens[cluster]'",
            ) from error
        self._session = boto3.session.Session
        self._client_error = botocore.exceptions.ClientError
        self._errors = (Boto3Error, botocore.exceptions.BotoCoreError, self._client_error)
        self._config = botocore.config.Config(
            connect_timeout=SECONDS_TO_CONNECT,
            read_timeout=SECONDS_OF_SILENCE,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=CONNECTIONS,
            # Checksums that only Amazon knows are left out.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )

    @cached_property
    def _client(self) -> Any:
        session = self._session()
        region = os.environ.get("AWS_REGION") or session.region_name or "us-east-1"
        return session.client("s3", config=self._config, region_name=region)

    @property
    def place(self) -> str:
        """The address, and the endpoint where it is not Amazon's own."""
        with self._explained("looked for"):
            endpoint = str(self._client.meta.endpoint_url)
        return self.name if endpoint.endswith(".amazonaws.com") else f"{self.name} at {endpoint}"

    def lance(self, key: str) -> tuple[str, dict[str, str]]:
        """Address and options with which LanceDB opens the database under a key."""
        with self._explained("looked for"):
            meta = self._client.meta
        options = {"aws_endpoint": str(meta.endpoint_url), "aws_region": str(meta.region_name)}
        if options["aws_endpoint"].startswith("http://"):
            options["allow_http"] = "true"
        return f"s3://{self._bucket}/{self._key(key)}", options

    def get(self, key: str) -> bytes:
        """The content of an object; MissingObjectError."""
        with self._explained("read"):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._key(key))
            return bytes(answer["Body"].read())

    def fetch(self, key: str, path: Path, size: int) -> None:
        """Copy an object of ``size`` bytes to a file, which is whole or not there."""
        with file_errors(path, "Free some space, or set SEEDLENS_MIRROR_MEGABYTES."):
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary_sibling(path) as partial:
                with self._explained("read"):
                    self._client.download_file(self._bucket, self._key(key), str(partial))
                if partial.stat().st_size != size:
                    raise StoreError(
                        f"An object of {self.name} is not what was written: {key}.",
                        "Restore it from a copy of the store, or import the corpus again.",
                    )

    def put(self, key: str, content: bytes, **conditions: str) -> None:
        """Write an object, or replace it."""
        place = {"Bucket": self._bucket, "Key": self._key(key)}
        with self._explained("written to"):
            self._client.put_object(**place, Body=content, **conditions)

    def create(self, key: str, content: bytes) -> None:
        """Write an object; TakenError where there is one with another content, which stays."""
        try:
            self.put(key, content, IfNoneMatch="*")
        except TakenError:
            if self.get(key) != content:  # else it is ours: the answer to it was lost
                raise

    def send(self, path: Path, key: str) -> None:
        """Write an object from a file, in parts where it is large."""
        with self._explained("written to"):
            self._client.upload_file(str(path), self._bucket, self._key(key))

    def objects(self, prefix: str) -> Iterator[StoredObject]:
        """All objects whose keys begin so, by key."""
        for page in self._pages(prefix):
            for found in page.get("Contents", ()):
                age = datetime.now(UTC) - found["LastModified"]
                yield StoredObject(found["Key"].removeprefix(self._key("")), age)

    def folders(self, prefix: str) -> set[str]:
        """The next part of all keys that begin so."""
        pages = self._pages(prefix, Delimiter="/")
        places = (one["Prefix"] for page in pages for one in page.get("CommonPrefixes", ()))
        return {place.removeprefix(self._key(prefix)).rstrip("/") for place in places}

    def _pages(self, prefix: str, **options: str) -> Iterator[dict[str, Any]]:
        with self._explained("listed"):
            pages = self._client.get_paginator("list_objects_v2")
            yield from pages.paginate(Bucket=self._bucket, Prefix=self._key(prefix), **options)

    def remove(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are not there are no error."""
        for start in range(0, len(keys), 1000):
            some = [{"Key": self._key(key)} for key in keys[start : start + 1000]]
            with self._explained("written to"):
                answer = self._client.delete_objects(
                    Bucket=self._bucket, Delete={"Objects": some, "Quiet": True}
                )
            for failed in answer.get("Errors", ()):
                reason = f"it keeps {failed.get('Key')} ({failed.get('Code')})"
                raise StoreError(f"{self.name} cannot be written to: {reason}.", _KEYS)

    def check(self) -> None:
        """Write, read, list and delete a small object."""
        key, content = f"check-{secrets.token_hex(8)}", secrets.token_bytes(16)
        self.create(key, content)
        found = self.get(key), [one.key for one in self.objects(key)]
        self.remove([key])
        if found != (content, [key]):
            raise StoreError(f"{self.name} does not give back what was written.")

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            # Boto3's transfers wrap the error of the request.
            is_wrapped = isinstance(error.__context__, self._client_error)
            cause: Any = error.__context__ if is_wrapped else error
            answer = (getattr(cause, "response", None) or {}).get("Error", {})
            code = str(answer.get("Code", ""))
            if code in _TAKEN:
                raise TakenError(f"There is such an object in {self.name} already.") from error
            if code in ("NoSuchKey", "404"):
                raise MissingObjectError(
                    f"{self.name} lacks an object that should be there.",
                    "Check that SEEDLENS_STORE is the store that the ledger belongs to.",
                ) from error
            answered = f"it answers {code}: {answer.get('Message', '')}" if code else str(cause)
            reason = (answered.splitlines() or [type(cause).__name__])[0][:300].rstrip(".: ")
            raise StoreError(
                f"The store {self.name} cannot be {action}: {reason}.",
                _KEYS if code in _REFUSED else _FAILED,
            ) from error
