"""How a bucket is reached, by the providers' own conventions.

obstore reads most variables itself: for S3 AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
AWS_ENDPOINT_URL, AWS_VIRTUAL_HOSTED_STYLE_REQUEST, web identities, containers and the role of an instance; for Google
GOOGLE_APPLICATION_CREDENTIALS and the role of an instance; for Azure AZURE_STORAGE_ACCOUNT_NAME and its likes. This
module adds what it does not: profiles, an own CA, servers without TLS.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from shoal.errors import UsageError
from shoal.object_store.aws_profile import profile_options
from shoal.object_store.object_url import AUTHORITIES, ObjectUrl

_RETRIES = {
    "max_retries": 5,
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=5), "base": 2},
    "retry_timeout": timedelta(seconds=60),
}
_CONNECT_TIMEOUT_S = 5
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("STORAGE_EMULATOR_HOST",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}


def make_client(url: ObjectUrl, timeout_s: float, env: Mapping[str, str] = os.environ) -> Any:
    """Raises UsageError for variables that cannot be used."""
    options: dict[str, Any] = {
        "client_options": _client_options(url.scheme, timeout_s, env),
        "retry_config": _RETRIES,
        "prefix": url.key or None,
    }
    try:
        if url.scheme == "s3":
            return S3Store(url.bucket, **options, **_s3_options(env, options["client_options"]))
        if url.scheme == "gs":
            return GCSStore(url.bucket, **options, **_google_options(env))
        return AzureStore(url.bucket, **options)
    except (BaseError, ValueError, OSError) as error:
        raise UsageError(f"{url} cannot be opened: {str(error).partition(chr(10))[0]}") from None


def _s3_options(env: Mapping[str, str], client: dict[str, Any]) -> dict[str, Any]:
    # S3 refuses bytes that do not fit the digest, so a damaged upload never becomes an object.
    config: dict[str, Any] = {} if "AWS_CHECKSUM_ALGORITHM" in env else {"checksum_algorithm": "SHA256"}
    profile = profile_options(env)
    config |= profile.config
    if str(config.get("endpoint", "")).startswith("http://"):
        client["allow_http"] = True
    options: dict[str, Any] = {"config": config}
    if profile.credentials is not None:
        options["credential_provider"] = profile.credentials
    return options


def _google_options(env: Mapping[str, str]) -> dict[str, Any]:
    host = env.get("STORAGE_EMULATOR_HOST")
    if not host:
        return {}
    # Not `skip_signature`: obstore then still asks for a token before it writes or deletes.
    return {
        "config": {"base_url": host if "://" in host else f"http://{host}"},
        "credential_provider": lambda: {"token": "anonymous", "expires_at": None},
    }


def _client_options(scheme: str, timeout_s: float, env: Mapping[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=_CONNECT_TIMEOUT_S),
        "timeout": timedelta(seconds=timeout_s),
    }
    endpoint = next((env[name] for name in _ENDPOINTS[scheme] if env.get(name)), "")
    if endpoint and not endpoint.startswith("https://"):
        options["allow_http"] = True
    bundle = next((env[name] for name in AUTHORITIES[scheme] if env.get(name)), None)
    if bundle is not None:
        try:
            options["root_certificate"] = Path(bundle).read_bytes()
        except OSError as error:
            raise UsageError(f"{bundle}, the file of certificates, cannot be read: {error.strerror}") from None
    return options
