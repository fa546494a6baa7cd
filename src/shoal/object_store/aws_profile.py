"""Profiles of AWS: the keys, region and endpoint that ~/.aws/credentials and ~/.aws/config hold.

A profile without keys of its own (single sign-on, another role, a program) is left to boto3, if it is installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import UsageError

_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}
_OTHERS = {"region": "region", "endpoint_url": "endpoint"}
_VARIABLES = {"region": ("AWS_REGION", "AWS_DEFAULT_REGION"), "endpoint": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")}
_FROM_ELSEWHERE = ("sso_session", "sso_start_url", "role_arn", "credential_process", "source_profile")


class ProfileOptions(NamedTuple):
    config: dict[str, str]
    """Options of obstore."""
    credentials: Any = None
    """A provider of credentials, for obstore."""


def profile_options(env: Mapping[str, str]) -> ProfileOptions:
    """What the variables do not say. Raises UsageError for a profile that does not exist or that needs boto3."""
    name = env.get("AWS_PROFILE") or env.get("AWS_DEFAULT_PROFILE")
    # Keys in the environment win over the default profile, but not over a profile that was named.
    has_keys = "AWS_ACCESS_KEY_ID" in env or "AWS_WEB_IDENTITY_TOKEN_FILE" in env
    values = _read(name or "default", env)
    if values is None:
        if name is None:
            return ProfileOptions({})
        raise UsageError(f"AWS_PROFILE is {name}, and neither ~/.aws/credentials nor ~/.aws/config has this profile")
    config = {ours: values[theirs] for theirs, ours in _OTHERS.items() if theirs in values and not _given(ours, env)}
    if has_keys and name is None:
        return ProfileOptions(config)
    if "aws_access_key_id" in values:
        return ProfileOptions(config | {ours: values[theirs] for theirs, ours in _KEYS.items() if theirs in values})
    if any(key in values for key in _FROM_ELSEWHERE):
        return ProfileOptions(config, _boto3_credentials(name or "default"))
    return ProfileOptions(config)


def _given(option: str, env: Mapping[str, str]) -> bool:
    return any(env.get(variable) for variable in _VARIABLES[option])


def _read(name: str, env: Mapping[str, str]) -> dict[str, str] | None:
    """The values of both files; None if neither has the profile."""
    folder = Path(env["HOME"] if env.get("HOME") else Path.home()) / ".aws"
    credentials = env.get("AWS_SHARED_CREDENTIALS_FILE") or folder / "credentials"
    config = env.get("AWS_CONFIG_FILE") or folder / "config"
    section = "default" if name == "default" else f"profile {name}"
    found = [_section(Path(config), section), _section(Path(credentials), name)]
    if found == [None, None]:
        return None
    return {key: value for values in found if values for key, value in values.items()}


def _section(file: Path, section: str) -> dict[str, str] | None:
    parser = ConfigParser(interpolation=None, default_section="\0")
    try:
        parser.read(file, encoding="utf-8")
    except (OSError, Error, UnicodeDecodeError):
        # Not its text: it holds secrets.
        raise UsageError(f"{file} cannot be read as a file of AWS profiles: correct it") from None
    return dict(parser[section]) if section in parser else None


def _boto3_credentials(name: str) -> Any:
    if importlib.util.find_spec("boto3") is None:
        raise UsageError(f"the AWS profile {name} has no keys of its own: pip install boto3, which can obtain them")
    import boto3
    from obstore.auth.boto3 import Boto3CredentialProvider

    return Boto3CredentialProvider(boto3.session.Session(profile_name=name))
