"""Keys are found by kind and line; what ordinary programs are full of is none."""

import pytest

from pipeline.source.secrets import Secret, secrets_in

# Each in two parts, so that this file itself holds no key.
SECRETS = {
    "AWS Access Key": "AKIA" + "QWERTYUIOPASDFGH",
    "GitHub Token": "ghp_" + "a1B2" * 9,
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "Basic Auth Credentials": "https://jane:" + "sesame@example.com/x",
    "Secret Keyword": "password = " + "'correct horse'",
    "Hugging Face Token": "hf_" + "AbCdEfGhIj" * 4,
    "Weights & Biases Key": "wandb.login(key='" + "0123456789abcdef" * 2 + "01234567')",
    "Google API Key": "AIza" + "Sy0123456789" * 2 + "abcdefghijk",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_found_by_kind_and_line(kind: str) -> None:
    code = f"import torch\n# {SECRETS[kind]}\nx = 1\n"
    assert Secret(kind, 2) in list(secrets_in(code))


@pytest.mark.parametrize(
    "line",
    [
        "self.key = nn.Linear(64, 64)",
        "token = '<|endoftext|>'",
        "secret_size = 64",
        "key_padding_mask = None",
        "digest = '9e107d9d372bb6826bd81d3542a419d6'",
        "magic = 0x9E3779B97F4A7C15",
        "address = '93.184.216.34'",
        "# see https://arxiv.org/abs/1706.03762",
        "@torch.jit.export",
    ],
)
def test_ordinary_code_holds_no_secret(line: str) -> None:
    assert list(secrets_in(line)) == []
