import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentgym.trajectories import codec
from agentgym.trajectories.record import Trajectory
from agentgym.trajectories.redact import Redactor
from agentgym.types import Action, TokenTrace
from tests.trajectories import samples, strategies

SECRET = "h8+K/z9 \"q\\=ü%'x"
NAME = "SHOP_API_KEY"


def redactor(**variables: str) -> Redactor:
    return Redactor.from_environ(variables)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps({"k": SECRET}))[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
    ],
)
def test_a_variable_is_hidden_in_every_form(form: str) -> None:
    clean = redactor(**{NAME: SECRET.lower() if form.islower() else SECRET}).text(f"a {form} b")
    assert "[redacted:SHOP_API_KEY]" in clean
    assert form not in clean
    assert clean.startswith("a ")
    assert clean.endswith(" b")


@given(st.binary(max_size=8), st.binary(max_size=8), st.booleans())
def test_a_variable_is_hidden_inside_base64(before: bytes, after: bytes, url: bool) -> None:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    text = encode(before + SECRET.encode() + after).decode()
    assert "[redacted:SHOP_API_KEY]" in redactor(**{NAME: SECRET}).text(text)


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "GOOGLE_CREDENTIALS",
        "npm_config__authToken",
        "SECRET_KEY_BASE",
        "TOKENS",
        "API_KEY_2",
    ],
)
def test_names_that_look_like_keys_count(name: str) -> None:
    assert redactor(**{name: "gk29-xwpq"}).text("gk29-xwpq") == f"[redacted:{name}]"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "gk29-xwpq"),
        ("KEYBOARD_LAYOUT", "gk29-xwpq"),
        ("TOKENIZERS_PARALLELISM", "gk29-xwpq"),
        ("API_KEY", "short1"),
        ("API_KEY", "password"),
        ("PGPASSWORD", "postgres"),
        ("API_KEY", "xxxxxxxxxxxx"),
        ("MAX_TOKENS", "128000000"),
        ("SSH_KEY", "/home/someone/.ssh/id_ed25519"),
        ("SSH_KEY", "~/.ssh/id_ed25519"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/application_default_credentials.json"),
    ],
)
def test_common_words_paths_and_other_variables_stay(name: str, value: str) -> None:
    assert redactor(**{name: value}).text(f"a {value} b") == f"a {value} b"


def test_a_key_that_begins_like_a_path_is_hidden() -> None:
    key = "/wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    assert redactor(AWS_SECRET_ACCESS_KEY=key).text(key) == "[redacted:AWS_SECRET_ACCESS_KEY]"


def test_a_variable_that_names_another_hides_only_the_other() -> None:
    both = redactor(KEY_FROM_TOKEN="OPENAI_API_KEY", OPENAI_API_KEY="gk29-xwpq")
    assert both.text("OPENAI_API_KEY=gk29-xwpq") == "OPENAI_API_KEY=[redacted:OPENAI_API_KEY]"


def test_the_password_of_a_url_variable_is_hidden_by_itself() -> None:
    stored = redactor(AGENTGYM_STORE="postgresql://u:gk29%40xwpq@host/db")
    for password in ("gk29@xwpq", "gk29%40xwpq"):
        assert stored.text(f"it is {password}") == "it is [redacted:AGENTGYM_STORE]"


def test_the_longer_of_two_secrets_goes_whole() -> None:
    both = redactor(A_KEY="gk29-xwpq", B_KEY="gk29-xwpq-more")
    assert both.text("gk29-xwpq-more") == "[redacted:B_KEY]"


PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "Proc-Type: 4,ENCRYPTED\n\n" + "MIIEow/+BAAKCAQEA0Zk=\n" * 4 + "-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("secret", "clean"),
    [
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted:bearer]"),
        ('{"Authorization": "Bearer abc"}', '{"Authorization": "Bearer [redacted:bearer]"}'),
        (
            '{\\"authorization\\": \\"bearer abc\\"}',
            '{\\"authorization\\": \\"bearer [redacted:bearer]\\"}',
        ),
        ("Authorization: Basic dTpw", "Authorization: Basic [redacted:authorization]"),
        ("Bearer a1b2c3d4e5", "Bearer [redacted:bearer]"),
        ("sk-proj-" + "aB3_-" * 8, "[redacted:api-key]"),
        ("sk-" + "abcdefghij" * 3, "[redacted:api-key]"),
        ("ghp_" + "a1B2" * 9, "[redacted:github-token]"),
        ("github_pat_" + "a1B2_" * 6, "[redacted:github-token]"),
        ("hf_" + "aBcDe" * 7, "[redacted:huggingface-token]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key]"),
        ("xoxb-123456789012-abcdef", "[redacted:slack-token]"),
        ("AIza" + "SyA-b_1" * 5, "[redacted:google-key]"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM-_c", "[redacted:jwt]"),
        (PEM, "[redacted:private-key]"),
        (PEM.replace("\n", "\\n"), "[redacted:private-key]"),
        ("-----BEGIN PRIVATE KEY-----\n" + "MIIEow/+" * 8, "[redacted:private-key]"),  # cut off
        (
            "postgresql://u:p%40ss@host:5432/db",
            "postgresql://u:[redacted:url-password]@host:5432/db",
        ),
        (
            "https://ghp_" + "a1B2" * 9 + ":x-oauth-basic@github.com",
            "https://[redacted:github-token]:[redacted:url-password]@github.com",
        ),
        ("https://u:[x@h", "https://u:[redacted:url-password]@h"),
        ("redis://:p@ss@h", "redis://:[redacted:url-password]@h"),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("x=", " y"), ("a\n", "\nb"), ("\\n", "")])
def test_known_shapes_are_hidden(secret: str, clean: str, before: str, after: str) -> None:
    assert redactor().text(before + secret + after) == before + clean + after


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of this letter may enter; bearer instruments are banned.",
        "Set the Authorization header to Bearer followed by the token.",
        "a risk-averse-investment-strategy-2024 and task-0123456789abcdef01234",
        "sk-learn-contrib-packages-and-more",
        "https://example.org:8080/a@b and mail me@example.org",
        "-----BEGIN PRIVATE KEY----- begins such a file",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "SELECT * FROM tokens WHERE api_key = 'AKIA'",
        "deadbeef" * 8,
        "[redacted] and [redacted:NAME]",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redactor(**{NAME: SECRET}).text(text) == text


@given(st.text())
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assume("://" not in text)
    assert redactor(**{NAME: SECRET}).text(text) == text


@given(strategies.trajectories)
def test_a_trajectory_without_secrets_is_the_same(trajectory: Trajectory) -> None:
    fields = codec.to_fields(trajectory)
    assert redactor(**{NAME: SECRET}).trajectory(fields) is fields


PIECES = [SECRET, "Bearer ", "a1b2c3d4e5", "://u:", "@h", " ", "\n", "[redacted:X]", "sk-", "-",
          "AKIAIOSFODNN7EXAMPLE", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
          "MIIEowIBAAKCAQEA", quote(SECRET), "x", "'", "/"]  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redactor(**{NAME: SECRET}).text(text)
    assert SECRET not in once
    assert redactor(**{NAME: SECRET}).text(once) == once


MEGABYTE = 1 << 20
ADVERSARIAL = [
    "a", " ", "-", "[", "\\", "\n", "sk-", "\\nsk-", "%20sk-", "sk-a-", "Bearer ", "bearer a",
    "Authorization: ", "authorization=bearer ", "://", "://a", "://:", "://a:b", "://a:b,",
    "eyJ", "--eyJ", "eyJa.", "eyJaaaaaaaa.eyJ", "--eyJaaaaaaaa.eyJ", "\\neyJaaaaaaaa.eyJ",
    "AKIA", "AIza", "xoxb-", "ghp_",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\\n", "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAA\n", "[redacted:", "[redacted:x", SECRET[:-1],
]  # fmt: skip


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_a_megabyte_of_beginnings_is_gone_through_in_linear_time(unit: str) -> None:
    # A pattern that backtracks over the rest of the text would need hours for one of these.
    hostile = unit * (MEGABYTE // len(unit))
    for text in (hostile, "://a:" + hostile, "bearer " + hostile, "sk-" + hostile):
        clean = redactor(**{NAME: SECRET}).text(text)
        assert SECRET not in clean


def test_a_trajectory_is_hidden_everywhere_but_its_identity() -> None:
    known = redactor(**{NAME: "gk29-xwpq", "RUN_KEY": "run-1-abc"})
    told = samples.speaking("key: gk29-xwpq", run_id="run-1-abc")

    fields = known.trajectory(codec.to_fields(told))

    back = codec.from_fields(fields)
    assert back.turns[0].action.text == "key: [redacted:SHOP_API_KEY]"
    assert back.run_id == "run-1-abc"


def test_secrets_in_tool_arguments_and_their_names_are_hidden() -> None:
    clean = redactor(**{NAME: "gk29-xwpq"}).json({"a": [{"gk29-xwpq": ("gk29-xwpq", 1, None)}]})
    hidden = "[redacted:SHOP_API_KEY]"
    assert clean == {"a": [{hidden: (hidden, 1, None)}]}


def test_token_traces_end_where_a_secret_was_told() -> None:
    plain = samples.episode()
    trace = TokenTrace(prompt_ids=(1,), output_ids=(2,))
    turns = [turn.model_copy(update={"tokens": trace}) for turn in plain.turns]
    turns[2] = turns[2].model_copy(update={"action": Action(text="gk29-xwpq")})
    told = plain.model_copy(update={"turns": tuple(turns)})

    fields = redactor(**{NAME: "gk29-xwpq"}).trajectory(codec.to_fields(told))

    kept = [turn.tokens is not None for turn in codec.from_fields(fields).turns]
    assert kept == [True, True, False, False, False]


def test_settings_hide_what_their_names_tell() -> None:
    settings = {
        "url": "postgresql://u:pw@h/db",
        "headers": [{"api_key": "short", "Authorization": "x"}],
        "password": "pw",
        "max_tokens": 512,
        "pad_token": "<pad>",
        "token": None,
        "model": "gpt-x",
    }
    clean = redactor().settings(settings)
    assert clean == {
        "url": "postgresql://u:[redacted:url-password]@h/db",
        "headers": [{"api_key": "[redacted:api_key]", "Authorization": "[redacted:Authorization]"}],
        "password": "[redacted:password]",
        "max_tokens": 512,
        "pad_token": "<pad>",
        "token": None,
        "model": "gpt-x",
    }
    assert redactor().settings(clean) == clean
